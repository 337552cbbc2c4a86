"""Conversations of a loop with a scripted provider through the real client, every request of them judged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx2
import orjson

from harness.pipeline.executor import ToolExecutor
from harness.pipeline.history import History
from harness.pipeline.loop import LoopConfig, LoopResult, ReActLoop, StepRecord
from harness.pipeline.orchestrator import StepOutcome, ToolOrchestrator
from harness.pipeline.permissions import RuntimeMode
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.tool import Tool
from harness.play.client import openai_client
from harness.play.player import MissError, Player
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.transport import PlayerTransport
from harness.seams import ManualClock, SequentialIds
from harness.wire.exchange import Request, Response
from harness.wire.rules import check_request
from tests.pipeline.tools import registry_with

JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)

Wrap = Callable[[httpx2.BaseTransport], httpx2.BaseTransport]


def call(name: str, arguments: str | None = "{}", call_id: str | None = "call_1") -> ScriptedCall:
    return ScriptedCall(name, arguments, call_id)


def calling(*calls: ScriptedCall, finish_reason: str | None = "tool_calls", **more: Any) -> ScriptedTurn:
    return ScriptedTurn(calls=calls, finish_reason=finish_reason, **more)


def saying(text: str = "done", **more: Any) -> ScriptedTurn:
    return ScriptedTurn(text=text, **more)


def completion(message: Mapping[str, Any], finish_reason: str | None = "tool_calls", **more: Any) -> Response:
    """A plain answer with any message, also one that a script cannot say."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    return Response(200, JSON, orjson.dumps({"id": "r", "model": "m", "choices": [choice], **more}))


def stream(*events: Mapping[str, Any] | str) -> Response:
    """A streamed answer; each event is a delta, a whole chunk with ``choices``, ``error`` or ``usage``, or raw text."""
    lines: list[bytes] = []
    for event in events:
        if isinstance(event, str):
            lines.append(b"data: " + event.encode())
            continue
        whole = event.keys() & {"choices", "error", "usage"}
        chunk = event if whole else {"choices": [{"index": 0, "delta": event, "finish_reason": None}]}
        lines.append(b"data: " + orjson.dumps(chunk))
    return Response(200, SSE, b"".join(line + b"\n\n" for line in lines))


def finishing(reason: str) -> dict[str, Any]:
    """The chunk that ends a turn."""
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


class Answers:
    """Plays ready responses in order, and raises those that are exceptions."""

    def __init__(self, *answers: Response | Exception | ScriptedTurn) -> None:
        self._answers = list(answers)

    def answer(self, request: Request) -> Response:
        if not self._answers:
            raise MissError("nothing is left to play")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ScriptedTurn):
            return ScriptPlayer([answer]).answer(request)
        return answer


class Witness:
    """Passes requests to a player and keeps them, also those that got no answer."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._guard = threading.Lock()
        self.bodies: list[dict[str, Any]] = []
        self.others: list[Request] = []

    def answer(self, request: Request) -> Response:
        with self._guard:
            if request.is_chat:
                self.bodies.append(request.json())
            else:
                self.others.append(request)
        return self._player.answer(request)


class Session:
    """One loop and its client. Leaving the context demands that every request sent was valid for a strict server."""

    def __init__(
        self,
        player: Player | Sequence[ScriptedTurn],
        *tools: Tool,
        registry: ToolRegistry | None = None,
        mode: RuntimeMode = RuntimeMode.NORMAL,
        history: History | None = None,
        wrap: Wrap = lambda transport: transport,
        orchestrator: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> None:
        self.witness = Witness(ScriptPlayer(player) if isinstance(player, Sequence) else player)
        self.transport = PlayerTransport(self.witness)
        self.records: list[StepRecord] = []
        # Without a clock that stands still, observations would differ from run to run.
        executor = ToolExecutor(registry or registry_with(*tools), mode=mode, clock=ManualClock())
        self._client = openai_client(wrap(self.transport))
        self.loop = ReActLoop(
            self._client,
            ToolOrchestrator(executor, **{"ids": SequentialIds(), **(orchestrator or {})}),
            LoopConfig("m", **config),
            history,
            on_step=self.records.append,
        )

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return self.witness.bodies

    def run(self, prompt: str | None = "go") -> LoopResult:
        return self.loop.run(prompt)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        if error is None:
            assert [breach for body in self.bodies for breach in check_request(body)] == []


def held(
    player: Player | Sequence[ScriptedTurn], *tools: Tool, **options: Any
) -> tuple[LoopResult, list[dict[str, Any]]]:
    """A conversation from the first question to its end: the result and the bodies of all requests."""
    with Session(player, *tools, **options) as session:
        return session.run(), session.bodies


def outcome_of(result: LoopResult, step: int = 0) -> StepOutcome:
    outcome = result.steps[step].outcome
    assert outcome is not None
    return outcome


def codes_of(result: LoopResult, step: int = 0) -> list[str | None]:
    return [item.result.error_code for item in outcome_of(result, step).observations]


class _Severed(httpx2.SyncByteStream):
    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self._pieces = pieces
        self._limit = limit

    def __iter__(self) -> Iterator[bytes]:
        left = self._limit
        for piece in self._pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                break
        raise httpx2.ReadError("connection reset by peer")


class SeveringTransport(httpx2.BaseTransport):
    """Breaks the connection after ``limit`` bytes of the first answer's body."""

    def __init__(self, inner: httpx2.BaseTransport, limit: int) -> None:
        self._inner = inner
        self._limit: int | None = limit

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = self._inner.handle_request(request)
        limit, self._limit = self._limit, None
        if limit is None:
            return response
        assert isinstance(response.stream, httpx2.SyncByteStream)
        severed = _Severed(iter(response.stream), limit)
        return httpx2.Response(response.status_code, headers=response.headers, stream=severed)
