"""Which calls of a step ran together, and which one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.checks.values import equal
from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import BatchExpectation
from harness.trace.run import Step


def batches(expected: Sequence[Sequence[BatchExpectation]], steps: Sequence[Step]) -> list[Check]:
    """A check for each step with calls; INCONCLUSIVE where the agent does not say how it ran them."""
    with_calls = [step for step in steps if step.calls]
    wanted = ["; ".join(map(_text, step)) for step in expected]
    if any(call.executed is None for step in with_calls for call in step.calls):
        because = "batches are expected, which a run of this agent does not tell: only the built-in pipeline has them"
        return [Check("batches", Verdict.INCONCLUSIVE, because, "\n".join(wanted), "(not known)")]
    found = [_of(step) for step in with_calls]
    if len(wanted) != len(found):
        message = f"{len(found)} steps with calls, expected {len(wanted)}"
        return [equal("batches", "\n".join(wanted), "\n".join(found), message)]
    return [
        equal("batches", due, got, f"the batches are {got}, expected {due}", f"step {step.index + 1}")
        for due, got, step in zip(wanted, found, with_calls, strict=True)
    ]


def _text(batch: BatchExpectation) -> str:
    if batch.concurrent is not None:
        return f"concurrent({', '.join(batch.concurrent)})"
    return f"serial({', '.join(batch.serial or [])})"


def _of(step: Step) -> str:
    kinds: dict[int, tuple[bool, list[str]]] = {}
    for call in step.calls:
        if call.batch is not None:
            kinds.setdefault(call.batch, (bool(call.concurrency_safe), []))[1].append(call.name)
    return "; ".join(
        f"{'concurrent' if safe else 'serial'}({', '.join(names)})" for _, (safe, names) in sorted(kinds.items())
    )
