"""No fault breaks the pairing of a completed call: real streams, random faults, the real loop, tools that watch."""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.pipeline.loop import LoopResult, LoopStatus
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolResult
from harness.play.faulty_player import FaultyPlayer
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.wire.exchange import Exchange, Request, Response
from harness.wire.faults import generate
from harness.wire.rules import TOOL_NAME
from tests.pipeline.playing import Session
from tests.wire.streams import streamed, streams

CASSETTES = Path(__file__).resolve().parents[2] / "cassettes"
OVER = re.compile(rb'data: ?\[DONE\]|"finish_reason"\s*:\s*"[a-z_]+"')
SEEDS_EACH = 6
SAMPLE = 40
"""Recordings of the corpus that are played, spread over all of them."""


class Watched:
    """A tool that keeps what it is run with."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, dict[str, Any]]] = []
        self._lock = threading.Lock()

    def of(self, name: str) -> Any:
        def run(parameters: Mapping[str, Any]) -> ToolResult:
            with self._lock:
                self.runs.append((name, dict(parameters)))
            return ToolResult.success("done")

        return run


class OnceThenDone:
    """Answers with one recorded response, then in words for as long as it is asked."""

    def __init__(self, response: Response) -> None:
        self._answers = iter([response])

    def answer(self, request: Request) -> Response:
        return next(self._answers, None) or render_turn(ScriptedTurn(text="done"), 1, request.json())


def definitions(names: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object"}}}
        for name in sorted(set(names))
    ]


def calls_of(response: Response) -> list[tuple[str | None, str]]:
    turn = Exchange(Request("POST", "/chat/completions"), response).turn()
    return [(call.name, call.arguments) for call in turn.tool_calls]


def says_that_it_is_over(response: Response) -> bool:
    """Whether the bytes themselves, whatever a parser makes of them, have a sign that the answer is complete."""
    body = response.body
    if body.startswith(b"\x1f\x8b"):  # what a fault has cut off inside is not needed
        body = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body)
    return bool(OVER.search(body))


def play(response: Response, seed: int) -> tuple[LoopResult, Watched, Session]:
    names = [name for name, _ in calls_of(response) if name and TOOL_NAME.fullmatch(name)]
    watched, registry = Watched(), ToolRegistry()
    for definition in definitions([*names, "Unused"]):
        name = definition["function"]["name"]
        registry.register_definition(definition, watched.of(name))
    player = FaultyPlayer(OnceThenDone(response), generate(seed, response), seed)
    with Session(player, registry=registry, stream=True, retries=1, step_limit=4) as session:
        return session.run(), watched, session


def assert_paired(response: Response, seed: int) -> None:
    result, watched, session = play(response, seed)
    assert result.status in LoopStatus
    allowed: list[tuple[str | None, dict[str, Any]]] = []
    for record in result.steps:
        if record.outcome is None:
            continue
        turn = record.turn
        assert turn is not None
        assert turn.status in ("complete", "truncated")
        assert len(record.outcome.observations) == len(turn.tool_calls)
        answered = [observation.tool_call_id for observation in record.outcome.observations]
        assert len(set(answered)) == len(answered)
        for call, execution in zip(turn.tool_calls, record.outcome.executions, strict=True):
            if execution.executed:
                assert turn.status == "complete"
                allowed.append((call.name, json.loads(call.arguments or "{}")))
    assert sorted(map(repr, watched.runs)) == sorted(map(repr, allowed))
    if watched.runs:
        assert any(says_that_it_is_over(exchange.response) for exchange in session.transport.exchanges[:-1])
    for before, after in zip(session.bodies, session.bodies[1:], strict=False):
        assert after["messages"][: len(before["messages"])] == before["messages"]


def streamed_calls(path: Path) -> Iterator[Response]:
    """The streamed answers of a cassette that call tools."""
    try:
        exchanges = load_cassette(path).exchanges
    except InputError:
        return
    for exchange in exchanges:
        if exchange.is_chat and exchange.response.status == 200 and exchange.response.streamed:
            try:
                called = calls_of(exchange.response)
            except ValueError:
                continue
            if called:
                yield exchange.response


@given(streams(), st.integers(0, 100_000))
@settings(max_examples=60)
def test_streams_of_any_layout(response: Response, seed: int) -> None:
    assert_paired(response, seed)


@given(st.integers(0, 100_000))
@settings(max_examples=60)
def test_a_scripted_stream_with_several_calls(seed: int) -> None:
    assert_paired(streamed(), seed)


def test_the_shipped_recordings() -> None:
    played = 0
    for path in sorted(CASSETTES.glob("*.yaml")):
        for response in streamed_calls(path):
            for seed in range(4 * SEEDS_EACH):
                assert_paired(response, seed)
            played += 1
    assert played >= 3


@pytest.mark.corpus
def test_recordings_of_the_corpus(corpus_dir: Path) -> None:
    paths = [path for path in sorted(corpus_dir.rglob("*")) if path.name.endswith((".yaml", ".yml")) and path.is_file()]
    responses = [response for path in paths[:: max(len(paths) // 120, 1)] for response in streamed_calls(path)]
    sample = responses[:: max(len(responses) // SAMPLE, 1)]
    assert len(sample) >= 20
    for number, response in enumerate(sample):
        for seed in range(SEEDS_EACH):
            assert_paired(response, SEEDS_EACH * number + seed)


def test_without_a_fault_every_call_runs() -> None:
    turn = ScriptedTurn(
        calls=(ScriptedCall("A", "{}", "1"), ScriptedCall("B", '{"x": 1}', "2")), finish_reason="tool_calls"
    )
    quiet = next(seed for seed in range(500) if {fault.name for fault in generate(seed, streamed(turn))} == {"rechunk"})
    result, watched, _ = play(streamed(turn), quiet)
    assert result.status is LoopStatus.ANSWERED
    assert sorted(watched.runs) == [("A", {}), ("B", {"x": 1})]
