"""Which tools a step's request offers."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.verdict import Check, Verdict
from harness.scenario.expectations import ShownExpectation
from harness.trace.run import Step


def offered(expected: ShownExpectation, steps: Sequence[Step]) -> Check:
    """PASS where the request of the step offers all that are shown, and none that is hidden."""
    name, where = "tools", f"step {expected.step}"
    if expected.step > len(steps):
        return Check(name, Verdict.FAIL, f"there is no step {expected.step}", actual=f"{len(steps)} steps", where=where)
    tools = steps[expected.step - 1].tools
    missing = [tool for tool in expected.shown if tool not in tools]
    surplus = [tool for tool in expected.hidden if tool in tools]
    problems = [*(f"{tool} is not offered" for tool in missing), *(f"{tool} is offered" for tool in surplus)]
    wanted = "; ".join(filter(None, ["shown " + ", ".join(expected.shown) if expected.shown else "",
                                     "hidden " + ", ".join(expected.hidden) if expected.hidden else ""]))  # fmt: skip
    verdict = Verdict.FAIL if problems else Verdict.PASS
    return Check(name, verdict, "; ".join(problems), wanted, ", ".join(tools), where)
