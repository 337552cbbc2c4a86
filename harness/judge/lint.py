"""Cassettes checked as files: what is wrong with each, and what is wrong with the collection."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.cassette.dialects import load_cassette
from harness.cassette.linting import Finding, Severity, is_error, lint_cassette
from harness.errors import InputError
from harness.judge.reachable import Unseen, unseen
from harness.judge.suite import Item, collect
from harness.judge.verdict import Verdict
from harness.scenario.format import Scenario, load_scenario
from harness.scenario.matrix import expand

_PARTIAL = ".partial"


@dataclass(slots=True)
class Checked:
    """What was looked at and what was found, by file and exchange."""

    findings: list[Finding] = field(default_factory=list)
    cassettes: int = 0
    scenarios: int = 0
    exchanges: int = 0

    @property
    def verdict(self) -> Verdict:
        """FAIL for an error; warnings alone pass; where there was nothing to look at, nothing can be said."""
        if is_error(self.findings):
            return Verdict.FAIL
        return Verdict.PASS if self.cassettes or self.scenarios or self.findings else Verdict.INCONCLUSIVE

    def count(self, severity: Severity) -> int:
        """The number of findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def document(self) -> dict[str, object]:
        """What ``harness check --json`` prints."""
        codes = Counter(finding.code for finding in self.findings)
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "totals": {
                "cassettes": self.cassettes,
                "scenarios": self.scenarios,
                "exchanges": self.exchanges,
                "errors": self.count(Severity.ERROR),
                "warnings": self.count(Severity.WARNING),
                "codes": dict(sorted(codes.items())),
            },
            "verdict": self.verdict,
        }


def check_paths(paths: Sequence[Path], patterns: Sequence[str] = ()) -> Checked:
    """Check cassettes, scenarios and folders of both; ``patterns`` are further regular expressions of secrets.

    A named file that cannot be read raises InputError; one found in a folder is a finding. Whether a cassette is used
    by a scenario is asked where there are scenarios among the paths.
    """
    checked = Checked()
    used: set[Path] = set()
    cassettes: dict[Path, Item] = {}
    for item in _once(collect(paths)):
        if item.kind == "scenario":
            checked.scenarios += 1
            checked.findings += _scenario(item, used)
        else:
            cassettes[item.path.resolve()] = item
    for partial in _partials(paths):
        if partial.resolve() not in cassettes:
            checked.findings.append(_unfinished(partial))
    for resolved, item in cassettes.items():
        checked.cassettes += 1
        checked.findings += _cassette(item, checked, patterns)
        if item.path.name.endswith(_PARTIAL):
            checked.findings.append(_unfinished(item.path))
        elif checked.scenarios and resolved not in used:
            what = "no scenario among the paths uses it"
            todo = "remove it, or name it in a scenario (a replay of the cassette alone needs none)"
            checked.findings.append(_about(item.path, "cassette_unused", Severity.WARNING, what, todo))
    return checked


def _once(items: Sequence[Item]) -> Iterator[Item]:
    seen: set[Path] = set()
    for item in items:
        if item.path.resolve() not in seen:
            seen.add(item.path.resolve())
            yield item


def _scenario(item: Item, used: set[Path]) -> Iterator[Finding]:
    try:
        scenario = load_scenario(item.path)
    except InputError as error:
        if item.named:
            raise
        yield _unreadable(item.path, error)
        return
    for cassette in scenario.cassettes:
        used.add(cassette)
        if not cassette.is_file():
            what = f"its cassette {os.path.relpath(cassette, item.path.parent)} does not exist"
            yield _about(item.path, "cassette_missing", Severity.ERROR, what, "record it (harness record)")
    yield from _never_seen(item.path, scenario)


def _never_seen(path: Path, scenario: Scenario) -> Iterator[Finding]:
    told: set[Unseen] = set()
    for case in expand(scenario):
        try:
            found = list(unseen(case))
        except (
            InputError,
            ValueError,
        ):  # a cassette or a tool that is wrong: a finding of its own, or an error of the run
            continue
        for one in found:
            if one not in told:
                told.add(one)
                yield Finding(str(path), None, one.key, one.code, Severity.ERROR, one.what, one.todo)


def _cassette(item: Item, checked: Checked, patterns: Sequence[str]) -> list[Finding]:
    try:
        cassette = load_cassette(item.path)
    except InputError as error:
        if item.named:
            raise
        return [_unreadable(item.path, error)]
    checked.exchanges += len(cassette.exchanges)
    return lint_cassette(cassette, patterns)


def _partials(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(file for file in path.rglob(f"*{_PARTIAL}") if file.is_file())


def _unfinished(path: Path) -> Finding:
    what = "what is left of a recording that did not come to its end"
    return _about(path, "recording_unfinished", Severity.WARNING, what, "record the session again, then remove it")


def _unreadable(path: Path, error: InputError) -> Finding:
    what = f"{error.where.removeprefix(str(path)).lstrip(': ,')} {error.what}".strip()
    todo = error.hint or "mend the file, or record it again"
    return _about(path, "unreadable", Severity.ERROR, what, todo)


def _about(path: Path, code: str, severity: Severity, what: str, todo: str) -> Finding:
    return Finding(str(path), None, "", code, severity, what, todo)
