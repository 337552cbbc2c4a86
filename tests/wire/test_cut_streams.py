"""A connection may break at any byte: never a crash, the right status, and nothing of an incomplete step is run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.cassette.dialects import load_cassette
from harness.pipeline.loop import LoopStatus
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import ToolKind
from harness.wire.chat import Status
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Response
from tests.pipeline.playing import SSE, Answers, held, saying
from tests.wire.recordings import Recording, completing_byte, corpus_files, scripted, shipped, streamed

_BOUNDARIES = 12


def with_calls(recordings: Iterable[Recording]) -> list[Recording]:
    return [recording for recording in recordings if parse_stream(recording.body).tool_calls]


HERE = with_calls([*shipped(), *scripted()])


def demand_right_status_at_every_byte(recording: Recording) -> None:
    whole = parse_stream(recording.body)
    complete_at = completing_byte(recording.body)
    statuses: list[Status] = [parse_stream(recording.body[:cut]).status for cut in range(len(recording.body) + 1)]
    wrong = [
        cut for cut, status in enumerate(statuses) if status != ("incomplete" if cut < complete_at else whole.status)
    ]
    assert wrong == [], recording.name


def demand_no_run_before_completeness(recording: Recording) -> int:
    """Plays cuts around the events to the real pipeline; returns how many were complete and ran."""
    turn = parse_stream(recording.body)
    complete_at = completing_byte(recording.body)
    edges = [at for at in range(1, len(recording.body)) if recording.body.startswith(b"data:", at)]
    cuts = {cut for at in edges[:: len(edges) // _BOUNDARIES + 1] for cut in (at - 1, at)}
    completed = 0
    for cut in sorted({*cuts, complete_at - 1, complete_at, len(recording.body)}):
        runs: list[str] = []
        tools = _spies({call.name or "" for call in turn.tool_calls}, runs)
        answers = Answers(Response(200, SSE, recording.body[:cut]), saying())
        result, bodies = held(answers, registry=tools, stream=True)
        if cut < complete_at:
            assert (runs, result.status, len(bodies)) == ([], LoopStatus.ERROR, 1), (recording.name, cut)
        else:
            assert (sorted(runs), len(bodies)) == (sorted(call.name or "" for call in turn.tool_calls), 2)
            completed += 1
    return completed


def _spies(names: Iterable[str], runs: list[str]) -> ToolRegistry:
    """Tools that take anything and say that they ran."""
    registry = ToolRegistry()
    for name in names:

        def run(_: Mapping[str, Any], name: str = name) -> ToolResult:
            runs.append(name)
            return ToolResult.success("seen")

        definition = {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
        registry.register_definition(definition, run, ToolKind.READ)
    return registry


@pytest.mark.parametrize("recording", HERE, ids=lambda recording: recording.name)
def test_the_status_is_right_at_every_byte(recording: Recording) -> None:
    demand_right_status_at_every_byte(recording)


@pytest.mark.parametrize("recording", HERE, ids=lambda recording: recording.name)
def test_nothing_of_an_incomplete_step_is_run(recording: Recording) -> None:
    assert demand_no_run_before_completeness(recording) >= 1


def test_a_cut_is_complete_with_the_line_and_not_with_arguments_that_parse() -> None:
    body = next(recording.body for recording in HERE if recording.name == "one call at once")
    before = body.index(b'"finish_reason":"tool_calls"')
    cut = parse_stream(body[:before])
    assert cut.status == "incomplete"
    assert cut.tool_calls == parse_stream(body).tool_calls


def _of_the_corpus(corpus: Path) -> list[Recording]:
    """Recorded calls of all folders and providers; those that are short, because each byte costs a reading."""
    found: list[Recording] = []
    for path in corpus_files(corpus):
        short = (entry for entry, _ in streamed(load_cassette(path), corpus) if len(entry.body) < 6000)
        found += with_calls(short)[:1]
    return found[::4]


@pytest.mark.corpus
def test_recordings_of_the_corpus_cut_at_every_byte(corpus_dir: Path) -> None:
    recordings = _of_the_corpus(corpus_dir)
    assert len({recording.name.split("/")[0] for recording in recordings}) == 5
    assert len(recordings) >= 20
    for recording in recordings:
        demand_right_status_at_every_byte(recording)
        assert demand_no_run_before_completeness(recording) >= 1
