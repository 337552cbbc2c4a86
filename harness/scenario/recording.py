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
from harness.scenario.runner import ScenarioRun, record_scenario


def record_cassettes(
    paths: Iterable[Path],
    endpoints: Mapping[str, str],
    api_key: str,
    on_done: Callable[[ScenarioRun, Path], None] = lambda *_: None,
    secrets: Sequence[str] = (),
) -> list[Path]:
    """Run each scenario against the endpoint of its model and write its cassette; returns the cassettes.

    ``on_done`` is told of each with its run. ``secrets`` are regular expressions of what must not reach the file,
    beyond what is known to be secret by its looks. A name that ends in ``.cassette.jsonl`` is written in the harness's
    own format, any other as vcrpy YAML.

    Only the endpoints given are contacted. A cassette is replaced when its recording is whole; until then the
    exchanges stand in ``NAME.partial`` beside it. Raises InputError for a scenario without a cassette, a model without
    an endpoint, or a model that did not answer.
    """
    written: list[Path] = []
    for path in paths:
        scenario = load_scenario(path)
        outcome, cassette = _record(scenario, endpoints, api_key, Scrubber(secrets))
        on_done(outcome, cassette)
        written.append(cassette)
    return written


def _record(
    scenario: Scenario, endpoints: Mapping[str, str], api_key: str, scrubber: Scrubber
) -> tuple[ScenarioRun, Path]:
    where = str(scenario.path)
    if scenario.player.cassette is None:
        raise InputError("player: only a scenario with a cassette can be recorded", where=where)
    model = scenario.agent.model
    if model not in endpoints:
        known = ", ".join(sorted(endpoints)) or "none"
        raise InputError(
            f"agent.model: no endpoint for {model!r} (given: {known})", where=where, hint="--endpoint MODEL=URL"
        )
    cassette = scenario.beside(scenario.player.cassette)
    partial = cassette.with_name(cassette.name + ".partial")
    partial.unlink(missing_ok=True)
    if cassette.name.endswith(own.SUFFIX):
        with own.CassetteWriter(partial) as writer:
            outcome = record_scenario(scenario, endpoints[model], api_key, writer.add, scrubber)
    else:
        outcome = record_scenario(scenario, endpoints[model], api_key, VcrpyWriter(partial).add, scrubber)
    result = outcome.result
    expected = scenario.expect.outcomes if scenario.expect is not None else (LoopStatus.ANSWERED,)
    failed = result is None or (result.status is LoopStatus.ERROR and LoopStatus.ERROR not in expected)
    if failed or not partial.exists():
        reason = result.reason if result is not None else outcome.miss
        raise InputError(f"{model} at {endpoints[model]} gave no usable answer: {reason}", where=where)
    partial.replace(cassette)
    return outcome, cassette
