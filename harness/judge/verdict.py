"""Checks and verdicts: what was expected, what there was, and what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """INCONCLUSIVE: not enough evidence. ERROR: nothing was judged, the infrastructure failed."""

    PASS = "PASS"  # noqa: S105  not a password
    FAIL = "FAIL"
    INCONCLUSIVE = "INCONCLUSIVE"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation, judged.

    ``expected`` and ``actual`` are texts for a person, ``where`` the step or file, ``details`` lines that explain.
    """

    name: str
    verdict: Verdict
    message: str = ""
    expected: str = ""
    actual: str = ""
    where: str = ""
    details: str = ""


class Attribution(StrEnum):
    """Whose doing it is that a case did not pass.

    AGENT: what is tested, the pipeline or a user's agent. MODEL: what the model answered. PROVIDER: what stands between
    the two, such as a dead endpoint. SCENARIO: the test case itself, its file or its recording. HARNESS: this program.
    """

    AGENT = "agent"
    MODEL = "model"
    PROVIDER = "provider"
    SCENARIO = "scenario"
    HARNESS = "harness"


@dataclass(frozen=True)
class Case:
    """A test case and its verdict: a scenario or a replayed cassette.

    ``path`` is the file as the user named it, ``first_line`` the one line that says why it did not pass, ``facts``
    counts for the report (steps, calls, tokens), ``run_folder`` where its run is saved. ``attribution`` says whose
    doing it is that it did not pass, ``evidence`` from what that follows. ``line`` (from 1, 0 where it is unknown) is
    the line of the file that states what was not met.
    """

    name: str
    kind: str
    path: str
    checks: tuple[Check, ...]
    verdict: Verdict
    first_line: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    facts: dict[str, object] = field(default_factory=dict)
    run_folder: str = ""
    attribution: Attribution | None = None
    evidence: str = ""
    line: int = 0

    def document(self) -> dict[str, object]:
        """The case as ``harness run --json`` prints it; of its checks those that did not pass."""
        return {
            "name": self.name,
            "kind": self.kind,
            "path": self.path,
            "verdict": self.verdict,
            "first_line": self.first_line,
            "line": self.line,
            "attribution": self.attribution,
            "evidence": self.evidence,
            "tags": list(self.tags),
            "checks": len(self.checks),
            "not_passed": [asdict(check) for check in self.checks if check.verdict is not Verdict.PASS],
            "facts": self.facts,
            "run_folder": self.run_folder,
        }


def judged(checks: Sequence[Check]) -> tuple[Verdict, str]:
    """The verdict of a case from its checks, and its first line: any FAIL, else any ERROR, else any INCONCLUSIVE.

    Nothing to judge is INCONCLUSIVE: what was not checked has not passed.
    """
    if not checks:
        return Verdict.INCONCLUSIVE, "nothing was checked: the scenario has no expectations"
    for verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE):
        first = next((check for check in checks if check.verdict is verdict), None)
        if first is not None:
            return verdict, f"{first.where + ': ' if first.where else ''}{first.message or first.name}"
    return Verdict.PASS, ""


def overall(cases: Iterable[Case]) -> Verdict:
    """The verdict of a whole call: any FAIL; else any ERROR; else any INCONCLUSIVE, or nothing collected; else PASS."""
    found = {case.verdict for case in cases}
    for verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE):
        if verdict in found:
            return verdict
    return Verdict.PASS if found else Verdict.INCONCLUSIVE


def exit_code(verdict: Verdict) -> int:
    """The process's exit code for an overall verdict: 1 for FAIL, 125 where nothing can be said, 0 for PASS.

    These are what ``git bisect run`` takes for bad, skip and good.
    """
    if verdict is Verdict.FAIL:
        return 1
    return 0 if verdict is Verdict.PASS else 125
