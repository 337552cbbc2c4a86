"""JUnit XML, as GitHub actions, GitLab and Jenkins read it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

from harness.judge.verdict import Case, Check, Verdict
from harness.report.checks import not_passed
from harness.report.counts import verdict_counts
from harness.report.names import folder, labels
from harness.report.text import contrast, one_line, shortened, value_text, visible

_VALUE_CHARACTERS = 10_000
_MESSAGE_CHARACTERS = 1_000
_COLUMN_CHARACTERS = 60
_INDENT = "    "


def junit_xml(cases: Sequence[Case], suite_name: str = "harness") -> bytes:
    """A document with one ``testsuite``, a ``testcase`` for each case, as UTF-8 with a declaration.

    FAIL and INCONCLUSIVE are a ``failure`` whose ``type`` is the verdict, ERROR an ``error``; nothing is ever
    ``skipped``, since CI shows skipped tests as fine. Facts are ``properties``. The same cases give the same bytes:
    no time, no host. Characters that XML forbids or that cannot be seen are written as escapes.
    """
    counts = verdict_counts(cases)
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        name=one_line(suite_name),
        tests=str(len(cases)),
        failures=str(counts[Verdict.FAIL] + counts[Verdict.INCONCLUSIVE]),
        errors=str(counts[Verdict.ERROR]),
        skipped="0",
        time="0",
    )
    classes = [_class_name(case) for case in cases]
    for case, class_name, name in zip(cases, classes, labels(cases, classes), strict=True):
        _add_case(suite, case, class_name, name)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_case(suite: ET.Element, case: Case, class_name: str, name: str) -> None:
    file = one_line(case.path, _MESSAGE_CHARACTERS)
    element = ET.SubElement(suite, "testcase", classname=class_name, name=name, file=file, time="0")
    if case.line:
        element.set("line", str(case.line))
    facts = case.facts if case.attribution is None else {**case.facts, "attribution": case.attribution}
    if facts:
        properties = ET.SubElement(element, "properties")
        for key, value in facts.items():
            text = visible(shortened(value_text(value), _VALUE_CHARACTERS))
            ET.SubElement(properties, "property", name=one_line(key), value=text)
    if case.verdict is Verdict.PASS:
        return
    kind = "error" if case.verdict is Verdict.ERROR else "failure"
    outcome = ET.SubElement(
        element, kind, message=one_line(case.first_line, _MESSAGE_CHARACTERS) or case.verdict, type=case.verdict
    )
    outcome.text = _explanation(case)


def _class_name(case: Case) -> str:
    """The kind and the folder as dotted names: Jenkins takes what is before the last dot for a package."""
    parts = [part for part in PurePosixPath(folder(case.path)).parts if part.strip("/.")]
    return ".".join(one_line(part).replace(".", "_") for part in (case.kind or "case", *parts))


def _explanation(case: Case) -> str:
    lines = [visible(case.first_line)] if case.first_line else []
    if case.attribution is not None:
        lines.append(f"attributed to: {case.attribution} ({one_line(case.evidence, _MESSAGE_CHARACTERS)})")
    for check in not_passed(case):
        lines += ["", *_explained(check)]
    if case.description:
        lines += ["", f"about: {visible(case.description)}"]
    if case.run_folder:
        lines += ["", f"run: {visible(case.run_folder)}"]
    return "\n".join(lines).strip("\n")


def _explained(check: Check) -> list[str]:
    lines = [f"{check.verdict} {visible(check.name)}"]
    if check.where:
        lines.append(f"{_INDENT}where: {one_line(check.where, _MESSAGE_CHARACTERS)}")
    if check.message:
        lines.append(_INDENT + visible(shortened(check.message, _VALUE_CHARACTERS)).replace("\n", "\n" + _INDENT))
    lines += [_INDENT + visible(line) for line in check.details.splitlines()]
    if check.expected or check.actual:
        lines += [(_INDENT + line).rstrip() for line in _side_by_side(check)]
    return lines


def _side_by_side(check: Check) -> list[str]:
    expected, actual = contrast(check.expected, check.actual, _VALUE_CHARACTERS)
    left, right = expected.split("\n"), actual.split("\n")
    if len(left) == len(right) == 1:
        return [f"expected: {expected or '(nothing)'}", f"actual:   {actual or '(nothing)'}"]
    width = max(map(len, ["expected", *left]))
    if max(width, *map(len, right)) > _COLUMN_CHARACTERS:
        return ["expected:", *(_INDENT + line for line in left), "actual:", *(_INDENT + line for line in right)]
    rows = [
        f"{one or '':<{width}} {' ' if one == other else '≠'} {other or ''}" for one, other in zip_longest(left, right)
    ]
    return [f"{'expected':<{width}}   actual", *rows]
