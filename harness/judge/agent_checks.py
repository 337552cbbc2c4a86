"""What an agent that is a program of its own did beside its calls: that it ran, asked, and came to a good end.

Many agents exit 0 whatever happened, and some end badly after good work; so both the exit code and the requests count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from harness.judge.verdict import Check, Verdict
from harness.scenario.agents.agent import AgentEnd
from harness.scenario.expectations import Expectations
from harness.scenario.outcome import ScenarioRun, Served

_RAISED = 1
"""The exit code of a Python program that ends by an exception."""


def agent_checks(outcome: ScenarioRun) -> list[Check]:
    """The checks of an agent that asked over the server; none for the built-in pipeline.

    ERROR where nothing can be said of the agent: it could not be started, asked nothing, or the player failed. An agent
    that took too long, asked too often, raised, or exited with a code that is not expected, FAILs.
    """
    served = outcome.served
    if served is None:
        return []
    if served.unavailable:
        return [Check("the agent", Verdict.ERROR, served.unavailable)]
    end = served.end or AgentEnd()
    checks = list(_judgeable(served, end))
    if not checks:
        checks = list(_ended(served, end, outcome.scenario.expect or Expectations()))
    return checks


def with_output(checks: Sequence[Check], outcome: ScenarioRun) -> list[Check]:
    """The checks, what the agent said shown with the first that did not pass: it often says why."""
    said = "" if outcome.served is None or outcome.served.end is None else outcome.served.end.output
    first = next((number for number, check in enumerate(checks) if check.verdict is not Verdict.PASS), None)
    if first is None or not said or any(said in check.details for check in checks):
        return list(checks)
    details = "\n".join(filter(None, (checks[first].details.rstrip(), "what the agent said:", said)))
    return [replace(check, details=details) if number == first else check for number, check in enumerate(checks)]


def _judgeable(served: Served, end: AgentEnd) -> Iterator[Check]:
    if served.failure:
        yield Check("the player", Verdict.ERROR, served.failure, details=end.output)
    elif not served.asked:
        because = f"the agent sent no request: nothing was judged ({_how(served, end)})"
        yield Check("an agent asked", Verdict.ERROR, because, details=end.output)


def _ended(served: Served, end: AgentEnd, expect: Expectations) -> Iterator[Check]:
    if served.refused:
        most, asked = served.max_requests, served.max_requests + served.refused
        message = f"the agent asked {asked} times, agent.max_requests is {most}: it may run in a circle"
        yield Check("max_requests", Verdict.FAIL, message, f"at most {most}", str(asked))
    for what in served.unreadable:
        yield Check("protocol: not_an_object", Verdict.FAIL, what)
    if end.timed_out or (end.raised is not None and not expect.allows_exit(_RAISED)):
        name = "timeout_s" if end.timed_out else "the agent's end"
        yield Check(name, Verdict.FAIL, f"the agent {_how(served, end)}", "an end of its own", details=end.output)
    elif end.exit_code is not None:
        wanted = expect.exit_text
        if expect.allows_exit(end.exit_code):
            yield Check("exit_code", Verdict.PASS, "", wanted, str(end.exit_code))
        else:
            because = f"the agent {_how(served, end)}, expected {wanted}"
            yield Check("exit_code", Verdict.FAIL, because, wanted, str(end.exit_code), details=end.output)


def _how(served: Served, end: AgentEnd) -> str:
    """How it ended, in words."""
    if end.timed_out:
        return f"took longer than agent.timeout_s, {served.timeout_s:g} s, and was ended"
    if end.raised is not None:
        return f"raised {end.raised}"
    return "returned" if end.exit_code is None else f"exited with {end.exit_code}"
