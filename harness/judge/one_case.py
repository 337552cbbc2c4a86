"""One item run or replayed, judged, its run saved."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cassette.dialects import load_cassette
from harness.errors import HarnessError, InputError
from harness.judge.attribution import attribute_error, attribute_replay, attribute_scenario
from harness.judge.behaviour import Behaviour, behaviour_of
from harness.judge.checks import judge_scenario
from harness.judge.collecting import Item
from harness.judge.fingerprint import fingerprint
from harness.judge.location import line_of
from harness.judge.replay import judge_replay, replay_document
from harness.judge.variants import scenario_of
from harness.judge.verdict import Case, Check, Verdict
from harness.scenario.policy import ReplayPolicy
from harness.scenario.portable import portable
from harness.scenario.replay import replay_cassette
from harness.scenario.runner import run_scenario
from harness.trace.folder import save_run


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, for a replayed cassette what ``--json`` says of it, and what the agent did.

    ``fingerprint`` is of what the case was made from, see `harness.judge.fingerprint`.
    """

    case: Case
    document: dict[str, object]
    behaviour: Behaviour = field(default_factory=Behaviour)
    fingerprint: str = ""


def judge_item(item: Item, folder: Path | None, policy: ReplayPolicy | None) -> Judged:
    """Run or replay an item and judge it; its run is saved in ``folder`` where one is given.

    A named file that cannot be used raises InputError; one found in a folder becomes a case with verdict ERROR, and so
    does whatever else keeps a case from being judged, a bug of this program included: one case never ends the others.
    """
    try:
        judged = _judge(item, folder, policy or ReplayPolicy())
    except InputError as error:
        if item.named:
            raise
        judged = error_case(item, error)
    except Exception as error:  # noqa: BLE001  whatever it is, the other cases are judged
        judged = error_case(item, error)
    return replace(judged, case=replace(judged.case, line=line_of(judged.case)))


def error_case(item: Item, error: Exception) -> Judged:
    """The case of an item that could not be judged."""
    attribution, evidence = attribute_error(error)
    checks: tuple[Check, ...] = ()
    if not isinstance(error, HarnessError):
        told = "".join(traceback.format_exception(error))
        checks = (Check("judged", Verdict.ERROR, f"an error inside harness: {evidence}", details=told),)
    first_line = str(error) if isinstance(error, HarnessError) else f"an error inside harness: {evidence}"
    case = Case(
        item.path.stem,
        item.kind,
        str(item.path),
        checks=checks,
        verdict=Verdict.ERROR,
        first_line=first_line,
        attribution=attribution,
        evidence=evidence,
    )
    return Judged(case, {"path": case.path, "verdict": case.verdict, "error": first_line})


def _judge(item: Item, folder: Path | None, policy: ReplayPolicy) -> Judged:
    name = str(item.path)
    if item.kind == "replay":
        replayed = replay_cassette(load_cassette(item.path), item.path.name.split(".")[0])
        case = attribute_replay(judge_replay(replayed, name), replayed)
        run, rewrite, scrubber = replayed.run, None, None
        document = replay_document(replayed, case)
        of = fingerprint(item, policy)
    else:
        scenario = scenario_of(item)
        outcome = run_scenario(scenario, policy)
        run, rewrite, scrubber = outcome.run, portable(outcome.root, outcome.aliases), outcome.scrubber
        case = _portable(attribute_scenario(judge_scenario(outcome, name), outcome), rewrite)
        document = {}
        of = fingerprint(item, policy, scenario)
    if folder is not None:
        case = replace(case, run_folder=str(save_run(run, folder, rewrite, scrubber)))
    return Judged(case, document, behaviour_of(run), of)


def _portable(case: Case, rewrite: Callable[[bytes], bytes]) -> Case:
    """The case without what differs from machine to machine, so that the same run gives the same report."""

    def told(text: str) -> str:
        return rewrite(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass") if text else text

    checks = [
        replace(
            check,
            message=told(check.message),
            expected=told(check.expected),
            actual=told(check.actual),
            where=told(check.where),
            details=told(check.details),
        )
        for check in case.checks
    ]
    return replace(case, checks=tuple(checks), first_line=told(case.first_line), evidence=told(case.evidence))
