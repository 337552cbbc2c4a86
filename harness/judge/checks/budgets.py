"""How many bytes the results of a step take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import BudgetExpectation
from harness.trace.run import Step


def budgets(expected: BudgetExpectation, steps: Sequence[Step]) -> Iterator[Check]:
    """A check for each bound and step, in bytes of UTF-8."""
    for step in steps:
        sizes = [len(call.observation.encode("utf-8", "surrogatepass")) for call in step.calls]
        where = f"step {step.index + 1}"
        for name, limit, size in (
            ("per_result_bytes", expected.per_result_bytes, max(sizes, default=0)),
            ("total_bytes", expected.total_bytes, sum(sizes)),
        ):
            if limit is not None:
                verdict = Verdict.PASS if size <= limit else Verdict.FAIL
                message = "" if size <= limit else f"{size} bytes, the budget is {limit}"
                yield Check(name, verdict, message, f"at most {limit}", str(size), where)
