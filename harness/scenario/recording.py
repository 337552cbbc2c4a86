"""Recording the cassettes of scenarios from live models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from harness.cassette import own
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.cassette.scrubbing import Scrubber
from harness.errors import InputError
from harness.pipeline.loop import LoopStatus
from harness.scenario.format import Scenario, load_scenario
from harness.scenario.matrix import expand
from harness.scenario.outcome import ScenarioRun
from harness.scenario.runner import record_scenario
from harness.scenario.served import HOME_ALIAS
from harness.scenario.workspace import ALIAS


def record_cassettes(
    paths: Iterable[Path],
    endpoints: Mapping[str, str],
    api_key: str,
    on_done: Callable[[ScenarioRun, Path], None] = lambda *_: None,
    secrets: Sequence[str] = (),
) -> list[Path]:
    """Run each scenario against the endpoint of its model and write its cassette; returns the cassettes.

    ``on_done`` is told of each with its run. ``secrets`` are regular expressions of what must not reach the file,
    beyond what is known to be secret by its looks. Of a matrix, the variants are recorded whose model has an endpoint.
    A name that ends in ``.cassette.jsonl`` is written in the harness's own format, any other as vcrpy YAML.

    Only the endpoints given are contacted. A cassette is replaced when its recording is whole; until then the
    exchanges stand in ``NAME.partial`` beside it. Raises InputError for a scenario without a cassette, a model without
    an endpoint, or a model that did not answer.
    """
    written: list[Path] = []
    for path in paths:
        for scenario in _recordable(load_scenario(path), endpoints):
            outcome, cassette = _record(scenario, endpoints, api_key, Scrubber(secrets))
            on_done(outcome, cassette)
            written.append(cassette)
    return written


def _recordable(scenario: Scenario, endpoints: Mapping[str, str]) -> list[Scenario]:
    """The scenario, or those of its variants whose model has an endpoint; the first where none has, to say so.

    Raises InputError where two variants would write the same cassette: the second one would undo the first.
    """
    variants = expand(scenario)
    if len(variants) > 1:
        variants = [variant for variant in variants if variant.agent.model in endpoints] or variants[:1]
    names: dict[Path, str] = {}
    for variant in variants:
        cassette = variant.cassette
        if cassette is not None and cassette in names:
            raise InputError(
                f"{names[cassette]} and {variant.name} have the same cassette, {cassette.name}",
                where=f"{scenario.path}: matrix",
                hint="name one for each",
            )
        if cassette is not None:
            names[cassette] = variant.name
    return variants


def _record(
    scenario: Scenario, endpoints: Mapping[str, str], api_key: str, scrubber: Scrubber
) -> tuple[ScenarioRun, Path]:
    where = str(scenario.path)
    cassette = scenario.cassette
    if cassette is None:
        raise InputError("player: only a scenario with a cassette can be recorded", where=where)
    model = scenario.agent.model
    if model not in endpoints:
        known = ", ".join(sorted(endpoints)) or "none"
        raise InputError(
            f"agent.model: no endpoint for {model!r} (given: {known})", where=where, hint="--endpoint MODEL=URL"
        )
    partial = cassette.with_name(cassette.name + ".partial")
    partial.unlink(missing_ok=True)
    if cassette.name.endswith(own.SUFFIX):
        # The pipeline knows its folder by the alias alone; any other agent knows its real ones, which are recorded so.
        folders = () if scenario.agent.is_pipeline else (ALIAS, HOME_ALIAS)
        with own.CassetteWriter(partial, *folders) as writer:
            outcome = record_scenario(scenario, endpoints[model], api_key, writer.add, scrubber)
    else:
        outcome = record_scenario(scenario, endpoints[model], api_key, VcrpyWriter(partial).add, scrubber)
    problem = _problem(outcome)
    if problem or not partial.exists():
        raise InputError(f"{model} at {endpoints[model]} gave no usable answer: {problem}", where=where)
    partial.replace(cassette)
    return outcome, cassette


def _problem(outcome: ScenarioRun) -> str:
    """Why the recording is not whole, empty where it is."""
    served = outcome.served
    if served is not None and (served.unavailable or served.failure):
        return served.unavailable or served.failure
    if served is not None and served.end is not None and served.end.timed_out:
        return f"the agent took longer than agent.timeout_s, {served.timeout_s:g} s"
    if not outcome.run.lanes:
        return "the agent sent no request"
    expect, main = outcome.scenario.expect, outcome.run.lanes[0]
    expected = expect.outcomes if expect is not None else (LoopStatus.ANSWERED,)
    wanted = main.outcome == LoopStatus.ERROR and LoopStatus.ERROR in expected
    return main.reason if main.outcome in ("error", "miss") and not wanted else ""
