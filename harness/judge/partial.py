"""Results written case by case: a run that does not come to its end loses none, and can be taken up again.

While a run goes on, ``results.jsonl`` begins with a case that says so, whose verdict is INCONCLUSIVE; at the end the
file is replaced by the whole. So a report made from half a run never says PASS.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness.errors import InputError
from harness.files import write_atomically
from harness.judge.behaviour import Behaviour
from harness.judge.collecting import Item
from harness.judge.one_case import Judged
from harness.judge.results import RESULTS, case_line, read_case
from harness.judge.verdict import Case, Verdict

UNFINISHED = "unfinished"
"""The kind of the case that says that a run has not come to its end."""


def unfinished_case(collected: int) -> Case:
    """The case that stands for what was not judged."""
    line = f"the run did not come to its end: {collected} {'case was' if collected == 1 else 'cases were'} to be judged"
    return Case("the whole run", UNFINISHED, "", (), Verdict.INCONCLUSIVE, line, evidence="")


class PartialResults:
    """Writes each judged case at once to ``folder/results.jsonl``, of ``collected`` that there are to be.

    With ``resume`` what an interrupted run has written there stays, and `taken` gives it. Use it as a context manager.
    Raises OSError where the folder cannot be written, and InputError for results that cannot be read.
    """

    def __init__(self, folder: Path, collected: int, *, resume: bool = False) -> None:
        self._folder = folder
        path = folder / RESULTS
        self._known = _read(path, folder) if resume else {}
        lines = [case_line(unfinished_case(collected), folder)]
        lines += [_line(judged, item, folder) for item, judged in self._known.items()]
        write_atomically(path, b"".join(lines))
        self._file = path.open("ab")

    def knows(self, item: Item) -> bool:
        """Whether an interrupted run came to this item."""
        return _key(item) in self._known

    def taken(self, item: Item, fingerprint: str) -> Judged | None:
        """What an interrupted run found of an item made from the same; what it could not judge is tried again."""
        judged = self._known.get(_key(item))
        if judged is None or judged.fingerprint != fingerprint or judged.case.verdict is Verdict.ERROR:
            return None
        return judged

    def add(self, item: Item, judged: Judged) -> None:
        """Write a case so that it outlives this process."""
        self._file.write(_line(judged, _key(item), self._folder))
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        self._file.close()


def _key(item: Item) -> str:
    return os.path.normpath(item.path) + ("" if item.variant is None else f"#{item.variant}")


def _line(judged: Judged, key: str, folder: Path) -> bytes:
    more: Mapping[str, object] = {
        "item": key,
        "fingerprint": judged.fingerprint,
        "behaviour": asdict(judged.behaviour),
        "document": judged.document,
    }
    return case_line(judged.case, folder, more)


def _read(path: Path, folder: Path) -> dict[str, Judged]:
    """What an interrupted run wrote, the last of each item; a torn last line is what was being written."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    found: dict[str, Judged] = {}
    for number, line in enumerate(content.rpartition(b"\n")[0].splitlines(), 1):
        case = read_case(line, folder, f"{path}:{number}")
        document: dict[str, Any] = json.loads(line)
        if "item" in document:
            found[document["item"]] = Judged(
                case, document["document"], Behaviour(**document["behaviour"]), document["fingerprint"]
            )
    return found
