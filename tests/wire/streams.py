"""Streams in many layouts, as strategies and as examples."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import orjson
from hypothesis import strategies as st

from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.wire.exchange import Chunk, Response

SSE = (("content-type", "text/event-stream"),)
USAGE = {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
TURN = ScriptedTurn(
    text='hé "🙂" x',
    calls=(ScriptedCall("Read", '{"path": "日本🙂.txt"}', "call_1"), ScriptedCall("List", "{}", "call_2")),
    finish_reason="tool_calls",
    usage=USAGE,
    fragment=5,
)


def streamed(turn: ScriptedTurn = TURN) -> Response:
    """A turn as a stream with usage, each event in a read of its own."""
    return render_turn(turn, 0, {"model": "m", "stream": True, "stream_options": {"include_usage": True}})


def plain(turn: ScriptedTurn = TURN) -> Response:
    """A turn as one JSON body."""
    return render_turn(turn, 0, {"model": "m"})


def with_reads(body: bytes, cuts: list[int]) -> Response:
    """A stream in reads that end at the places given, and at its end."""
    ends = sorted({cut for cut in cuts if 0 < cut < len(body)} | ({len(body)} if body else set()))
    return Response(200, SSE, body, tuple(Chunk(end, number / 10) for number, end in enumerate(ends)))


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}


@st.composite
def streams(draw: st.DrawFn) -> Response:
    """A stream of any layout: line ends, comments, data in several lines, a missing end, any reads."""
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    space = draw(st.sampled_from([b"", b" "]))
    pieces = draw(st.lists(st.text(max_size=6), max_size=5))
    documents: list[dict[str, Any]] = [_chunk({"role": "assistant", "content": None})]
    documents += [_chunk({"content": piece}) for piece in pieces]
    arguments = draw(st.sampled_from(["{}", '{"path": "a"}', '{"o": {}, "é": "🙂"}', ""]))
    documents.append(
        _chunk(
            {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]}
        )
    )
    size = draw(st.integers(1, 4))
    documents += [
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[at : at + size]}}]})
        for at in range(0, len(arguments), size)
    ]
    documents += [_chunk({}, "tool_calls"), {"choices": [], "usage": USAGE}]
    blocks: list[bytes] = []
    for document in documents:
        options = orjson.OPT_INDENT_2 if draw(st.booleans()) else 0
        lines = orjson.dumps(document, option=options).split(b"\n")
        comment = b": keep alive" + end if draw(st.booleans()) else b""
        blocks.append(comment + b"".join(b"data:" + space + line + end for line in lines) + end)
    blocks.append(b"data: [DONE]" + draw(st.sampled_from([b"", end, end * 2])))
    body = b"".join(blocks)
    cuts = draw(st.just(list(accumulate(map(len, blocks)))) | st.lists(st.integers(1, len(body)), max_size=9))
    return with_reads(body, cuts)
