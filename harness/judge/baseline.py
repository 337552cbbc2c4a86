"""A baseline: an accepted earlier result, kept as a small file that people review, and what has changed since."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files import write_text_atomically
from harness.judge.one_case import Judged
from harness.judge.verdict import Verdict

FORMAT = "harness-baseline"
VERSION = 1
_TOKENS = ("prompt_tokens", "counted_prompt_tokens")
_ACCEPTABLE = (Verdict.PASS, Verdict.FAIL)


class Change(StrEnum):
    """What has become of a case since the baseline; a case may have several."""

    NEWLY_FAILING = "newly failing"
    NOT_JUDGED = "not judged"
    TOKENS_UP = "tokens up"
    GONE = "gone"
    NEW = "new"
    DRIFTED = "drifted"
    STILL_FAILING = "still failing"
    FIXED = "fixed"
    TOKENS_DOWN = "tokens down"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a baseline keeps of a case: ``verdict`` is PASS or FAIL, ``numbers`` its steps, calls and prompt tokens.

    ``calls`` and ``digest`` are its behaviour, ``marks`` what marked it, such as allowed drift.
    """

    verdict: Verdict
    first_line: str = ""
    numbers: Mapping[str, int] = field(default_factory=dict)
    calls: str = ""
    digest: str = ""
    marks: str = ""

    @property
    def tokens(self) -> int | None:
        """Prompt tokens, as the provider reported them, else as counted; None where neither is there."""
        return next((self.numbers[name] for name in _TOKENS if name in self.numbers), None)


@dataclass(frozen=True, slots=True)
class Changed:
    """A change of a case, with what was and what is now, for a person. ``decides`` is what follows for the verdict."""

    case: str
    change: Change
    was: str = ""
    now: str = ""
    decides: Verdict = Verdict.PASS


@dataclass(frozen=True, slots=True)
class Compared:
    """A run against a baseline, the gravest changes first.

    ``cases`` is how many there were, ``accepted`` the files of those that fail as the baseline accepts.
    """

    path: Path
    changes: tuple[Changed, ...]
    cases: int
    accepted: frozenset[str] = frozenset()

    @property
    def verdict(self) -> Verdict:
        """FAIL for what is worse than accepted; ERROR or INCONCLUSIVE where that cannot be said; else PASS."""
        found = {changed.decides for changed in self.changes}
        for verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE):
            if verdict in found:
                return verdict
        return Verdict.PASS if self.cases else Verdict.INCONCLUSIVE

    def document(self) -> dict[str, object]:
        """What ``--json`` says of it."""
        return {
            "file": str(self.path),
            "verdict": self.verdict,
            "changes": [
                {"case": changed.case, "change": changed.change, "was": changed.was, "now": changed.now}
                for changed in self.changes
            ],
        }


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run could have judged: what lies under ``paths``, and of it only some where ``selected``."""

    paths: Sequence[Path]
    selected: bool = False

    def covers(self, file: Path) -> bool:
        """Whether a file is one that this run would have judged if it were there."""
        return not self.selected and any(file.resolve().is_relative_to(path.resolve()) for path in self.paths)


class Baseline:
    """The accepted cases by key, in the file ``path``, or one that is yet to be written there."""

    def __init__(self, path: Path, entries: Mapping[str, Entry] | None = None) -> None:
        self.path = path
        self.entries = dict(entries or {})

    @classmethod
    def load(cls, path: Path, *, new: bool = False) -> Baseline:
        """Read a baseline, or begin one where ``new`` allows it; raises InputError for what is none."""
        try:
            document = json.loads(path.read_bytes())
            if document["format"] != FORMAT:
                raise InputError(f"the format is {document['format']!r}, not {FORMAT!r}", where=str(path))
            if document["version"] > VERSION:
                what = f"the baseline has version {document['version']}, this harness reads {VERSION}"
                raise InputError(what, where=str(path))
            return cls(path, {key: _entry(entry) for key, entry in document["cases"].items()})
        except FileNotFoundError as error:
            if new:
                return cls(path)
            hint = "--update-baseline writes it from this run"
            raise InputError("no such baseline", where=str(path), hint=hint) from error
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise InputError(f"not a baseline: {type(error).__name__}: {error}", where=str(path)) from error

    def compare(self, judged: Iterable[Judged], scope: Scope, token_tolerance: float | None = None) -> Compared:
        """What has changed; more tokens than before by over ``token_tolerance`` percent are a FAIL, None allows any."""
        now = {self._key(each): each for each in judged}
        changes: list[Changed] = []
        for key, each in now.items():
            changes += _changes(key, self.entries.get(key), each, token_tolerance)
        changes += [
            Changed(key, Change.GONE, self.entries[key].verdict, "not there", Verdict.INCONCLUSIVE)
            for key in self._gone(now, scope)
        ]
        order = list(Change)
        ordered = sorted(changes, key=lambda changed: (order.index(changed.change), changed.case))
        accepted = {changed.case for changed in changes if changed.change is Change.STILL_FAILING}
        files = frozenset(now[key].case.path for key in accepted)
        return Compared(self.path, tuple(ordered), len(now), files)

    def updated(self, judged: Iterable[Judged], scope: Scope) -> Baseline:
        """The baseline that accepts these cases.

        What was not judged (ERROR, INCONCLUSIVE) cannot be accepted: its earlier entry stays, if there is one. What the
        run did not cover stays too; what is gone goes.
        """
        now = {self._key(each): each for each in judged}
        gone = set(self._gone(now, scope))
        entries = {key: entry for key, entry in self.entries.items() if key not in gone}
        accepted = {key: each for key, each in now.items() if each.case.verdict in _ACCEPTABLE}
        return Baseline(self.path, entries | {key: _entry_of(each) for key, each in accepted.items()})

    def save(self) -> None:
        """Write it, a line a case, sorted, nothing in it of a time or a machine. Raises OSError."""
        lines = [
            f"    {json.dumps(key, ensure_ascii=False)}: {json.dumps(_document(entry), ensure_ascii=False)}"
            for key, entry in sorted(self.entries.items())
        ]
        cases = "{\n" + ",\n".join(lines) + "\n  }" if lines else "{}"
        text = f'{{\n  "format": "{FORMAT}",\n  "version": {VERSION},\n  "cases": {cases}\n}}\n'
        write_text_atomically(self.path, text.encode("utf-8", "backslashreplace").decode("utf-8"))

    def _key(self, judged: Judged) -> str:
        """A case's file as seen from the baseline's folder, and its name where the file does not give it."""
        case = judged.case
        path = Path(os.path.relpath(case.path, self.path.parent)).as_posix()
        return path if case.name == Path(case.path).name.split(".")[0] else f"{path}::{case.name}"

    def _gone(self, now: Mapping[str, Judged], scope: Scope) -> list[str]:
        folder = self.path.parent
        return [key for key in self.entries if key not in now and scope.covers(folder / key.partition("::")[0])]


def _changes(key: str, was: Entry | None, judged: Judged, tolerance: float | None) -> list[Changed]:
    case, now = judged.case, _entry_of(judged)
    said = f"{now.verdict}: {now.first_line}" if now.first_line else str(now.verdict)
    if was is None:
        decides = case.verdict if case.verdict is not Verdict.PASS else Verdict.PASS
        return [Changed(key, Change.NEW, "", said, decides)]
    if case.verdict not in _ACCEPTABLE:
        return [Changed(key, Change.NOT_JUDGED, was.verdict, said, case.verdict)]
    found: list[Changed] = []
    if was.verdict is Verdict.PASS and case.verdict is Verdict.FAIL:
        found.append(Changed(key, Change.NEWLY_FAILING, was.verdict, said, Verdict.FAIL))
    elif was.verdict is Verdict.FAIL and case.verdict is Verdict.PASS:
        found.append(Changed(key, Change.FIXED, f"FAIL: {was.first_line}", said))
    elif case.verdict is Verdict.FAIL:
        found.append(Changed(key, Change.STILL_FAILING, f"FAIL: {was.first_line}", said))
    if was.verdict is case.verdict and (was.digest, was.marks) != (now.digest, now.marks):
        found.append(Changed(key, Change.DRIFTED, *_told_apart(was, now)))
    return found + _token_changes(key, was.tokens, now.tokens, tolerance)


def _told_apart(was: Entry, now: Entry) -> tuple[str, str]:
    """Two behaviours in the first way in which they differ for a person."""
    if was.marks != now.marks:
        return was.marks or "no marks", now.marks or "no marks"
    if was.calls != now.calls:
        return was.calls or "no call", now.calls or "no call"
    return "the same calls", "with other arguments, results or texts"


def _token_changes(key: str, was: int | None, now: int | None, tolerance: float | None) -> list[Changed]:
    if was is None or now is None or was == now:
        return []
    percent = f" ({(now - was) / was:+.1%})" if was else ""
    texts = f"{was:,} prompt tokens", f"{now:,}{percent}"
    if now < was:
        return [Changed(key, Change.TOKENS_DOWN, *texts)]
    beyond = tolerance is not None and now > was * (1 + tolerance / 100)
    return [Changed(key, Change.TOKENS_UP, *texts, Verdict.FAIL if beyond else Verdict.PASS)]


def _entry_of(judged: Judged) -> Entry:
    case = judged.case
    numbers = {
        name: value
        for name in ("steps", "tool_calls", *_TOKENS)
        if isinstance(value := case.facts.get(name), int) and not isinstance(value, bool)
    }
    marks = str(case.facts.get("marks") or "")
    return Entry(case.verdict, case.first_line, numbers, judged.behaviour.calls, judged.behaviour.digest, marks)


def _document(entry: Entry) -> dict[str, object]:
    texts = {name: getattr(entry, name) for name in ("first_line", "calls", "digest", "marks")}
    return {"verdict": entry.verdict, **entry.numbers, **{name: text for name, text in texts.items() if text}}


def _entry(document: Mapping[str, Any]) -> Entry:
    known = {"verdict", "first_line", "calls", "digest", "marks"}
    verdict = Verdict(document["verdict"])
    if verdict not in _ACCEPTABLE:
        raise ValueError(f"a baseline accepts PASS and FAIL, not {verdict}")
    numbers = {name: int(value) for name, value in document.items() if name not in known}
    texts = {name: str(document.get(name, "")) for name in known - {"verdict"}}
    return Entry(verdict, numbers=numbers, **texts)
