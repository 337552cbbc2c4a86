"""Many test cases: found under the paths given, run or replayed, judged, their runs saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.judge.collecting import Item, Kind, collect
from harness.judge.fingerprint import fingerprint
from harness.judge.one_case import Judged
from harness.judge.parallel import Work, judge_each
from harness.judge.partial import PartialResults
from harness.judge.variants import expanded, scenario_of
from harness.judge.verdict import Case
from harness.scenario.policy import ReplayPolicy

__all__ = ["Item", "Judged", "Kind", "Outcome", "collect", "judge_all", "judge_suite"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judged cases, in the order of their items whatever the number of workers.

    ``collected`` is how many there were to be, ``interrupted`` whether the user stopped before the end, ``resumed`` how
    many come from an earlier run.
    """

    judged: list[Judged]
    collected: int
    interrupted: bool = False
    resumed: int = 0

    @property
    def cases(self) -> list[Case]:
        """The cases alone."""
        return [judged.case for judged in self.judged]


def judge_all(
    items: Sequence[Item],
    out: Path | None,
    policy: ReplayPolicy | None = None,
    on_case: Callable[[Case], None] = lambda _: None,
) -> list[Judged]:
    """Run or replay each item and judge it, in this process; runs are saved under ``out/runs`` where a folder is given.

    A scenario with a matrix gives a case for each variant. Errors as `harness.judge.one_case.judge_item`.
    """
    found: list[Judged] = []
    for _, judged in judge_each(_works(expanded(items), out), policy, workers=1):
        found.append(judged)
        on_case(judged.case)
    return found


def judge_suite(
    items: Sequence[Item],
    out: Path,
    policy: ReplayPolicy | None = None,
    *,
    workers: int = 1,
    resume: bool = False,
    on_case: Callable[[Case], None] = lambda _: None,
) -> Outcome:
    """`judge_all` with several processes, each case written to ``out`` as soon as it is judged.

    With ``resume`` the cases of an interrupted run in ``out`` are taken over where their files and options are the
    same. A KeyboardInterrupt ends it early, and is told by the outcome.
    """
    works = _works(expanded(items), out)
    found: dict[int, Judged] = {}
    interrupted = False
    with PartialResults(out, len(works), resume=resume) as results:
        if resume:
            found = _taken(works, results, policy or ReplayPolicy())
        resumed = len(found)
        for judged in found.values():
            on_case(judged.case)
        judging = judge_each([work for work in works if work.number not in found], policy, workers)
        try:
            for work, judged in judging:
                results.add(work.item, judged)
                found[work.number] = judged
                on_case(judged.case)
        except KeyboardInterrupt:
            interrupted = True
            judging.close()
    return Outcome([found[number] for number in sorted(found)], len(works), interrupted, resumed)


def _taken(works: Sequence[Work], results: PartialResults, policy: ReplayPolicy) -> dict[int, Judged]:
    found = {}
    for work in works:
        # Most are not there, and reading a scenario is most of the work.
        if not results.knows(work.item):
            continue
        scenario = scenario_of(work.item) if work.item.kind == "scenario" else None
        judged = results.taken(work.item, fingerprint(work.item, policy, scenario))
        if judged is not None:
            found[work.number] = judged
    return found


def _works(items: Sequence[Item], out: Path | None) -> list[Work]:
    """The items with a folder each, no two alike."""
    used: set[str] = set()
    works = []
    for number, item in enumerate(items):
        slug = name = item.slug
        more = 1
        while name in used:
            more += 1
            name = f"{slug}--{more}"
        used.add(name)
        works.append(Work(number, item, None if out is None else out / "runs" / name))
    return works
