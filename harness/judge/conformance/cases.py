"""Streams as real providers, gateways and cut connections send them, each with the calls that may be run.

The shapes are those of public bug reports, which ``origin`` names by the number they have in this project; all inputs
are written for this suite. Where ``calls`` is None, nothing of the stream may be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that may be run. ``id`` is None where the stream has none: any will do."""

    id: str | None
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class HostileStream:
    """A body, what is odd about it, the names of the tools that the request offered, and the calls it means."""

    name: str
    origin: str
    body: bytes
    calls: tuple[ExpectedCall, ...] | None
    tools: tuple[str, ...] = ("weather", "clock", "note")


def _event(document: object) -> bytes:
    return b"data: " + orjson.dumps(document) + b"\n\n"


def _delta(finish_reason: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return _event({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})


def _part(index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = "") -> Any:
    """An entry of ``tool_calls``; what is None is left out."""
    function = {} if name is None else {"name": name}
    entry: dict[str, Any] = {"function": {**function, "arguments": arguments}}
    if call_id is not None:
        entry = {"id": call_id, "type": "function", **entry}
    return entry if index is None else {"index": index, **entry}


def _calls(*parts: Any) -> bytes:
    return _delta(tool_calls=list(parts))


def _whole(*events: bytes, reason: str = "tool_calls") -> bytes:
    return b"".join([_delta(role="assistant", content=None), *events, _delta(reason), DONE])


def _oslo(call_id: str | None = "a1") -> ExpectedCall:
    return ExpectedCall(call_id, "weather", {"city": "Oslo"})


_KYIV = ExpectedCall("b2", "weather", {"city": "Kyiv"})
_OPEN = _calls(_part(0, "a1", "weather"))
_OSLO = '{"city":"Oslo"}'
_START, _END = _calls(_part(arguments='{"city":')), _calls(_part(arguments='"Oslo"}'))
_WHOLE_OSLO = _calls(_part(0, "a1", "weather", _OSLO))
_GOOD = _whole(_OPEN, _START, _END)
_USAGE = {"prompt_tokens": 5, "completion_tokens": 8, "total_tokens": 13}


def _case(
    name: str, origin: str, body: bytes, *calls: ExpectedCall, tools: Sequence[str] = ("weather", "clock", "note")
) -> HostileStream:
    return HostileStream(name, origin, body, calls, tuple(tools))


def _nothing(name: str, origin: str, body: bytes) -> HostileStream:
    return HostileStream(name, origin, body, None)


CASES: tuple[HostileStream, ...] = (
    _case("a conforming stream", "", _GOOD, _oslo()),
    _case(
        "two calls, interleaved",
        "",
        _whole(
            _OPEN,
            _calls(_part(1, "b2", "weather")),
            _calls(_part(1, arguments='{"city":')),
            _START,
            _calls(_part(1, arguments='"Kyiv"}')),
            _END,
        ),
        _oslo(),
        _KYIV,
    ),
    _case(
        "all parallel calls have index 0",
        "A03",
        _whole(_WHOLE_OSLO, _calls(_part(0, "b2", "weather", '{"city":"Kyiv"}'))),
        _oslo(),
        _KYIV,
    ),
    _case(
        "the first index is 2",
        "A04",
        _whole(_delta(content="Let me see."), _calls(_part(2, "a1", "weather", _OSLO))),
        _oslo(),
    ),
    _case(
        "later fragments have another index",
        "A05",
        _whole(_OPEN, _START, _calls(_part(1, arguments='"Oslo"}'))),
        _oslo(),
    ),
    _case(
        "the id changes in every fragment",
        "A07",
        _whole(_OPEN, _calls(_part(0, "x8", arguments='{"city":')), _calls(_part(0, "x9", arguments='"Oslo"}'))),
        _oslo(),
    ),
    _case(
        "the id is repeated in every fragment",
        "A07",
        _whole(_OPEN, _calls(_part(0, "a1", arguments='{"city":')), _calls(_part(0, "a1", arguments='"Oslo"}'))),
        _oslo(),
    ),
    _case(
        "the name comes in two pieces",
        "A08",
        _whole(_calls(_part(0, "a1", "wea")), _calls(_part(0, None, "ther", _OSLO))),
        _oslo(),
    ),
    _case(
        "the name is sent in every fragment",
        "A08",
        _whole(_calls(_part(0, "a1", "weather", '{"city":')), _calls(_part(0, "a1", "weather", '"Oslo"}'))),
        _oslo(),
    ),
    _case(
        "the name comes in two equal halves",
        "A08",
        _whole(_calls(_part(0, "a1", "tom")), _calls(_part(0, None, "tom", _OSLO))),
        ExpectedCall("a1", "tomtom", {"city": "Oslo"}),
        tools=["tomtom"],
    ),
    _case("finish_reason is stop", "A14", _whole(_WHOLE_OSLO, reason="stop"), _oslo()),
    _case(
        "usage in chunks without choices",
        "A16",
        _delta(role="assistant")
        + _WHOLE_OSLO
        + _delta("tool_calls")
        + _event({"id": "c-1", "model": "m", "choices": [], "usage": _USAGE})
        + _event({"id": "c-1", "model": "m", "usage": _USAGE})
        + DONE,
        _oslo(),
    ),
    _case("null frames", "A18", _whole(b"data: null\n\n", _OPEN, _START, b"data: null\n\n", _END), _oslo()),
    _nothing(
        "an error inside the stream",
        "A19",
        b"".join([_OPEN, _START, _event({"choices": [], "error": {"code": 503, "message": "no worker"}}), DONE]),
    ),
    _nothing("cut between two fragments", "A20", _OPEN + _START),
    _nothing("cut after arguments that parse", "A20", _WHOLE_OSLO),
    _nothing("cut inside an event", "A20", _GOOD[: _GOOD.index(b"Oslo") + 2]),
    _case("[DONE] without a finish_reason", "A20", _WHOLE_OSLO + DONE, _oslo()),
    _case("a finish_reason without [DONE]", "A20", _GOOD.removesuffix(DONE), _oslo()),
    _case(
        "CRLF, comments, event and id lines",
        "A24",
        b": ping\r\n\r\n" + _GOOD.replace(b"data: ", b"event: message\r\nid: 1\r\ndata:").replace(b"\n\n", b"\r\n\r\n"),
        _oslo(),
    ),
    _case("one event over two data lines", "A24", _GOOD.replace(b',"choices"', b',\ndata: "choices"'), _oslo()),
    _case("no blank line after the last event", "A24", _GOOD.removesuffix(DONE).rstrip(b"\n"), _oslo()),
    _case("a byte-order mark", "A24", b"\xef\xbb\xbf" + _GOOD, _oslo()),
    _case(
        "an empty object before the arguments",
        "A26",
        _whole(_calls(_part(0, "a1", "weather", "{}")), _START, _END),
        _oslo(),
    ),
    _case(
        "a call that takes nothing",
        "A26",
        _whole(_calls(_part(0, "a1", "clock", "{}"))),
        ExpectedCall("a1", "clock", {}),
    ),
    _case(
        "cumulative arguments",
        "A27",
        _whole(
            _calls(_part(0, "a1", "weather", '{"ci')),
            _calls(_part(arguments='{"city":"Os')),
            _calls(_part(arguments=_OSLO)),
        ),
        _oslo(),
    ),
    _case(
        "fragments that begin as the text ends",
        "A28",
        _whole(
            _calls(_part(0, "a1", "note")),
            *(_calls(_part(arguments=piece)) for piece in ('{"text":"o', "o", " -", "-", "aa", 'a"}')),
        ),
        ExpectedCall("a1", "note", {"text": "oo --aaa"}),
    ),
    _case(
        "the arguments parse early and go on",
        "A29",
        _whole(_calls(_part(0, "a1", "weather", "{}")), _calls(_part(arguments=" ")), _calls(_part(arguments=_OSLO))),
        _oslo(),
    ),
    _case(
        "arguments null",
        "A32",
        _whole(_calls(_part(0, "a1", "weather", None)), _START, _END, _calls(_part(1, "b2", "clock", None))),
        _oslo(),
        ExpectedCall("b2", "clock", {}),
    ),
    _case(
        "two fragments of one call in one event",
        "A33",
        _whole(_calls(_part(0, "a1", "weather", '{"ci'), _part(arguments='ty":"Os')), _calls(_part(arguments='lo"}'))),
        _oslo(),
    ),
    _nothing(
        "cut at the token limit",
        "A37",
        _whole(_WHOLE_OSLO, _calls(_part(1, "b2", "weather", '{"city":"Ky')), reason="length"),
    ),
    _case(
        "a call written as text",
        "A38",
        _whole(_delta(content='{"name":"weather","arguments":{"city":"Oslo"}}'), reason="stop"),
    ),
    _case(
        "whole calls without an index",
        "A39",
        _whole(_calls(_part(None, "a1", "weather", _OSLO)), _calls(_part(None, "b2", "weather", '{"city":"Kyiv"}'))),
        _oslo(),
        _KYIV,
    ),
    _case("no id", "", _whole(_calls(_part(0, None, "weather", _OSLO))), _oslo(None)),
    _case(
        "arguments as an object",
        "",
        _whole(_calls(_part(0, "a1", "weather", {"city": "Oslo"}))),
        _oslo(),
    ),
    _case(
        "the choice has index 1",
        "X05",
        _GOOD.replace(b'"choices":[{"index":0', b'"choices":[{"index":1'),
        _oslo(),
    ),
    _nothing("an event that is no JSON", "", _whole(_OPEN, _START, b'data: {"id":"c-1","choi\n\n', _END)),
)
