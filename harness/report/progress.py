"""How far a run of many cases is, for a person who waits at a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness.judge.verdict import Case, Verdict
from harness.report.text import one_line


class CaseProgress:
    """A bar that goes away at the end; nothing at all where ``console`` is no terminal, or ``quiet``."""

    def __init__(self, console: Console, total: int, *, quiet: bool = False) -> None:
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
        )
        self._progress = Progress(
            *columns, console=console, transient=True, disable=quiet or total < 2 or not console.is_terminal
        )
        self._task = self._progress.add_task("", total=total)
        self._bad = 0

    def advance(self, case: Case) -> None:
        """One more is done."""
        self._bad += case.verdict is not Verdict.PASS
        bad = f"{self._bad} did not pass  " if self._bad else ""
        self._progress.update(self._task, advance=1, description=bad + one_line(case.name, 60))

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, frames: TracebackType | None
    ) -> None:
        self._progress.stop()
