"""Whose doing it is that a case did not pass, with the evidence for it.

A dead endpoint, a wrong answer and a broken test case must not look alike in a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from harness.errors import HarnessError, InputError
from harness.judge.verdict import Attribution, Case, Check, Verdict
from harness.play.player import CannotAnswerError
from harness.scenario.agents.agent import AgentUnavailableError
from harness.scenario.outcome import ScenarioRun
from harness.scenario.replay import ReplayedCassette
from harness.wire.exchange import Exchange

_ENDED_BY_ANSWERS = ("error", "cut", "incomplete")


def attribute_scenario(case: Case, outcome: ScenarioRun) -> Case:
    """The case of a scenario with its attribution; a case that passed has none.

    Where not one request was answered with success nothing was judged, so that FAIL becomes ERROR, unless the requests
    were such that no strict server takes them.
    """
    if case.verdict is Verdict.PASS:
        return case
    deciding = [check for check in case.checks if check.verdict is not Verdict.PASS]
    served = outcome.served
    if served is not None and (served.unavailable or not served.asked):
        return _with(case, Attribution.AGENT, served.unavailable or "it sent no request")
    if served is not None and served.failure:
        whose = Attribution.PROVIDER if outcome.scenario.player.live else Attribution.SCENARIO
        return _with(case, whose, served.failure)
    broken = next((check for check in deciding if check.verdict is Verdict.ERROR), None)
    if case.verdict is Verdict.ERROR and broken is not None:
        return _with(case, Attribution.SCENARIO, f"a check of its own could not judge: {broken.message}")
    breach = next((check for check in deciding if check.name.startswith("protocol: ")), None)
    if breach is not None:
        return _with(case, Attribution.AGENT, f"{breach.where}: {breach.message}")
    if outcome.miss is not None and not outcome.diverged:
        return _with(case, Attribution.AGENT, _first(outcome.miss))
    if _ended_by_itself(outcome):
        return _with(case, Attribution.AGENT, outcome.run.lanes[0].reason)
    if _ended_by_answers(outcome, deciding):
        dead = bool(outcome.run.exchanges) and all(_refused(exchange) for exchange in outcome.run.exchanges)
        verdict = Verdict.ERROR if dead and case.verdict is Verdict.FAIL else case.verdict
        return _with(replace(case, verdict=verdict), Attribution.PROVIDER, _answers(outcome))
    if outcome.scenario.expect is None or not case.checks:
        return _with(case, Attribution.SCENARIO, "it expects nothing")
    if outcome.idle_faults and case.verdict is Verdict.INCONCLUSIVE and not outcome.diverged:
        return _with(case, Attribution.SCENARIO, f"its fault {outcome.idle_faults[0]} fits no answer")
    if outcome.scenario.player.live or "live" in outcome.diverged:
        return _with(case, Attribution.MODEL, f"a live model answered: {case.first_line}")
    return _with(case, Attribution.AGENT, f"the model's answers are fixed, what differs is what was made of them: "
                 f"{case.first_line}")  # fmt: skip


def attribute_replay(case: Case, replayed: ReplayedCassette) -> Case:
    """The case of a replayed cassette with its attribution."""
    if case.verdict is Verdict.PASS:
        return case
    if replayed.faults:
        fault = replayed.faults[0]
        return _with(case, Attribution.SCENARIO, f"the recording itself, {fault.where}: {fault.why}")
    if replayed.drift:
        found = replayed.drift[0]
        return _with(case, Attribution.AGENT, f"exchange {found.exchange} {found.drift.path}: {found.drift.why}")
    if replayed.cassette.notes:
        return _with(case, Attribution.SCENARIO, f"the recording itself: {replayed.cassette.notes[0]}")
    return _with(case, Attribution.HARNESS, f"the recording was not played as it is: {case.first_line}")


def attribute_error(error: Exception) -> tuple[Attribution, str]:
    """Whose doing an error is that ended a case before anything was judged."""
    line = next(iter(str(error).splitlines()), "") or type(error).__name__
    if isinstance(error, AgentUnavailableError):
        return Attribution.AGENT, line
    if isinstance(error, InputError | CannotAnswerError):
        return Attribution.SCENARIO, line
    if isinstance(error, HarnessError):
        return Attribution.PROVIDER, line
    return Attribution.HARNESS, f"{type(error).__name__}: {line}"


def _with(case: Case, attribution: Attribution, evidence: str) -> Case:
    return replace(case, attribution=attribution, evidence=evidence)


def _ended_by_itself(outcome: ScenarioRun) -> bool:
    """Whether a pipeline under test raised, hung or ended its process, so that its loop has no result."""
    watched = outcome.pipeline_facts is not None and outcome.result is None and outcome.miss is None
    return watched and bool(outcome.run.lanes) and not any(_refused(exchange) for exchange in outcome.run.exchanges)


def _ended_by_answers(outcome: ScenarioRun, deciding: Sequence[Check]) -> bool:
    """Whether the run ended where an answer did not come, or not whole, and was not expected to."""
    lanes = outcome.run.lanes
    unexpected = any(check.name == "outcome" for check in deciding)
    return bool(lanes) and lanes[0].outcome in _ENDED_BY_ANSWERS and unexpected


def _answers(outcome: ScenarioRun) -> str:
    exchanges = outcome.run.exchanges
    statuses = Counter(exchange.response.status for exchange in exchanges if _refused(exchange))
    if not statuses:
        return outcome.run.lanes[0].reason or "an answer did not come whole"
    parts = [f"{count} with HTTP {status}" for status, count in sorted(statuses.items())]
    return f"of {len(exchanges)} requests were answered {', '.join(parts)}"


def _refused(exchange: Exchange) -> bool:
    return exchange.response.status >= 400


def _first(text: str) -> str:
    return text.partition("\n")[0]
