"""What has become of the workspace's files."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence

from harness.judge.checks.values import text
from harness.judge.verdict import Check, Verdict
from harness.pipeline.builtin.glob import GlobPattern
from harness.scenario.expectations import Expectations, FileExpectation
from harness.scenario.expected_diff import leads, unified

Files = Mapping[str, bytes]
"""The bytes of each file by its path in the workspace."""


def files(expect: Expectations, before: Files, after: Files) -> Iterator[Check]:
    """A check for each file that is named, and for the changed and the untouched ones together."""
    for name, wanted in expect.files.items():
        yield _file(name, wanted, before.get(name), after.get(name))
    if expect.changed is not None:
        yield _changed(expect.changed, before, after)
    if expect.untouched:
        yield _untouched(expect.untouched, before, after)


def _file(name: str, wanted: str | FileExpectation, before: bytes | None, after: bytes | None) -> Check:
    where = f"file {name}"
    if isinstance(wanted, str):
        return _bytes(where, wanted.encode(), after)
    if wanted.absent:
        verdict = Verdict.PASS if after is None else Verdict.FAIL
        message = "" if after is None else "the file exists"
        return Check("files", verdict, message, "no file", _shown(after), where)
    if wanted.unchanged:
        return _bytes(where, before, after)
    if wanted.base64 is not None:
        return _bytes(where, base64.b64decode(wanted.base64), after)
    if wanted.diff is not None:
        return _diff(where, wanted.diff, before, after)
    if after is None:
        return Check("files", Verdict.FAIL, "there is no such file", "a file", "no file", where)
    return text("files", wanted, after.decode("utf-8", "replace"), where)


def _bytes(where: str, wanted: bytes | None, content: bytes | None) -> Check:
    verdict = Verdict.PASS if wanted == content else Verdict.FAIL
    message = "" if wanted == content else "the content differs" if content is not None else "there is no such file"
    details = ""
    if message and wanted is not None and content is not None and _is_text(wanted) and _is_text(content):
        details = "from the expected content to the actual one:\n" + unified(wanted, content)
    return Check("files", verdict, message, _shown(wanted), _shown(content), where, details)


def _diff(where: str, diff: str, before: bytes | None, after: bytes | None) -> Check:
    if before == after:
        message = "the file is as it was" if after is not None else "there is no such file"
        return Check("files", Verdict.FAIL, message, diff, "no change", where)
    change = unified(before or b"", after or b"")
    if leads(diff, before or b"", after or b""):
        return Check("files", Verdict.PASS, "", diff, change, where)
    return Check("files", Verdict.FAIL, "the file was changed in another way", diff, change, where)


def _changed(wanted: Sequence[str], before: Files, after: Files) -> Check:
    found = changed_files(before, after)
    surplus = [name for name in found if not any(_covers(pattern, name) for pattern in wanted)]
    missing = [pattern for pattern in wanted if not any(_covers(pattern, name) for name in found)]
    problems = [
        *(f"{name} was {found[name]}, which is not expected" for name in surplus),
        *(f"{name} was not changed" for name in missing),
    ]
    shown = "\n".join(f"{name} ({how})" for name, how in found.items()) or "no file"
    verdict = Verdict.FAIL if problems else Verdict.PASS
    return Check("changed", verdict, "; ".join(problems), "\n".join(wanted) or "no file", shown)


def _untouched(wanted: Sequence[str], before: Files, after: Files) -> Check:
    found = changed_files(before, after)
    touched = [name for name in found if any(_covers(pattern, name) for pattern in wanted)]
    if not touched:
        return Check("untouched", Verdict.PASS, "", "\n".join(wanted), "no such file has changed")
    message = "; ".join(f"{name} was {found[name]}" for name in touched)
    change = unified(before.get(touched[0], b""), after.get(touched[0], b""))
    return Check("untouched", Verdict.FAIL, message, "\n".join(wanted), "\n".join(touched), details=change)


def changed_files(before: Files, after: Files) -> dict[str, str]:
    """What has happened to each file that is not as it was: created, changed or deleted; by name."""
    return {
        name: "deleted" if name not in after else "created" if name not in before else "changed"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def _covers(pattern: str, name: str) -> bool:
    """Whether a path is the one that is named, or one that the pattern covers; a name may have brackets in it."""
    return pattern == name or GlobPattern(pattern).matches(name)


def _is_text(content: bytes) -> bool:
    return b"\0" not in content


def _shown(content: bytes | None) -> str:
    return "no file" if content is None else content.decode("utf-8", "backslashreplace")
