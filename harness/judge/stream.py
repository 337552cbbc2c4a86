"""One answer of a model, read from whatever file holds it: a stream's body, a plain completion, or a cassette."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import cassette_of
from harness.cassette.dialects.document import read_bytes, unpacked
from harness.errors import InputError
from harness.wire.chat import ModelTurn, Status, hit_output_limit, parse_completion
from harness.wire.exchange import Exchange, decoded, looks_streamed
from harness.wire.half_pairs import loads
from harness.wire.layers import StreamLayers, read_layers, response_layers

_STREAM_START = b"data:"
_COMPLETION_KEYS = frozenset({"choices", "error"})
_CANDIDATES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer as it was understood. ``layers`` is None where it was not streamed; ``source`` says where it was read.

    ``status`` is the turn's, but *truncated* where the token limit shows that it was cut (A36).
    """

    source: str
    turn: ModelTurn
    status: Status
    layers: StreamLayers | None = None

    def document(self) -> dict[str, object]:
        """What ``harness stream --json`` prints."""
        turn = self.turn
        return {
            "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in turn.tool_calls],
            "content": turn.content,
            "finish_reason": turn.finish_reason,
            "usage": turn.usage,
            "status": self.status,
            "error": turn.error,
            "anomalies": [{"code": anomaly.code, "at": anomaly.at} for anomaly in turn.anomalies],
        }


def read_answer(
    name: str,
    data: bytes | None = None,
    *,
    exchange: int | None = None,
    tools: Path | None = None,
    max_tokens: int | None = None,
) -> ReadAnswer:
    """Read the answer in the file ``name``; ``data`` is its content where that came another way (standard input).

    ``exchange`` chooses one of a cassette by its index, by default the only streamed one. ``tools`` is a JSON file of
    the tools offered, ``max_tokens`` the request's limit; both default to what the cassette's request says. Raises
    InputError for what can be read as none of the three forms.
    """
    path = Path(name)
    content = read_bytes(path) if data is None else unpacked(path, data)
    names = None if tools is None else tool_names_of(tools)
    if looks_streamed(content) or _STREAM_START.startswith(content.lstrip()):  # cut before it says what it is
        _refuse_exchange(name, exchange)
        return _streamed(name, read_layers(content, (), names or ()), max_tokens)
    if _is_completion(content):
        _refuse_exchange(name, exchange)
        return _plain(name, content, names or (), max_tokens)
    return _recorded(_cassette(path, content), exchange, names, max_tokens)


def tool_names_of(path: Path) -> tuple[str, ...]:
    """The names in a JSON file: an array of definitions as a request's ``tools``, or of names, or a whole request."""
    try:
        document: Any = orjson.loads(read_bytes(path))
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error}", where=str(path)) from error
    entries = document.get("tools") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise InputError("no array of tools", where=str(path), hint="a JSON array as a request's `tools`, or of names")
    names = [_name_of(entry) for entry in entries]
    if None in names:
        raise InputError(f"entry {names.index(None)} names no tool", where=str(path))
    return tuple(name for name in names if name is not None)


def _name_of(entry: object) -> str | None:
    if isinstance(entry, dict):
        function = entry.get("function")
        entry = (function if isinstance(function, dict) else entry).get("name")
    return entry if isinstance(entry, str) and entry else None


def _is_completion(content: bytes) -> bool:
    try:
        document = loads(content)
    except orjson.JSONDecodeError:
        return False
    return isinstance(document, dict) and bool(document.keys() & _COMPLETION_KEYS)


def _refuse_exchange(name: str, exchange: int | None) -> None:
    if exchange is not None:
        raise InputError("--exchange chooses from a cassette, and this is one answer", where=name)


def _cassette(path: Path, content: bytes) -> Cassette:
    try:
        return cassette_of(path, content)
    except InputError as error:
        what = _json_error(content) or error.what
        raise InputError(
            f"neither a stream of events, nor a chat completion, nor a cassette: {what}", where=str(path)
        ) from error


def _json_error(content: bytes) -> str | None:
    """What is wrong with a file that begins like JSON; a cassette in JSON lines has a first line that is whole."""
    try:
        loads(content.lstrip().split(b"\n", 1)[0] if content.lstrip().startswith(b'{"') else b"{}")
    except orjson.JSONDecodeError as error:
        return f"broken JSON: {error}"
    return None


def _recorded(
    cassette: Cassette, index: int | None, names: Collection[str] | None, max_tokens: int | None
) -> ReadAnswer:
    exchange = _chosen(cassette, index)
    source = f"{cassette.path}, exchange {exchange.index}"
    if not exchange.is_chat:
        raise InputError(
            f"{exchange.request.method} {exchange.request.path} is no chat completion",
            where=source,
            hint=_hint(cassette),
        )
    body = _request_of(exchange)
    if names is None:
        names = [name for tool in body.get("tools") or () if (name := _name_of(tool))]
    if max_tokens is None:
        limits = (body.get(key) for key in ("max_completion_tokens", "max_tokens"))
        max_tokens = next((limit for limit in limits if isinstance(limit, int)), None)
    try:
        if exchange.response.streamed:
            return _streamed(source, response_layers(exchange.response, names), max_tokens)
        content = decoded(exchange.response.body, exchange.response.headers)
    except ValueError as error:
        raise InputError(str(error), where=source) from error
    return _plain(source, content, names, max_tokens)


def _chosen(cassette: Cassette, index: int | None) -> Exchange:
    if index is not None:
        if not 0 <= index < len(cassette.exchanges):
            raise InputError(f"there is no exchange {index}", where=str(cassette.path), hint=_hint(cassette))
        return cassette.exchanges[index]
    streamed = [exchange for exchange in cassette.chat_exchanges if _is_streamed(exchange)]
    candidates = streamed or list(cassette.chat_exchanges)
    if len(candidates) == 1:
        return candidates[0]
    what = f"{len(streamed)} streamed answers" if streamed else "no streamed answer"
    raise InputError(f"the cassette holds {what}", where=str(cassette.path), hint=_hint(cassette))


def _hint(cassette: Cassette) -> str:
    """Which exchanges there are to choose from, the streamed ones if there are any."""
    chat = cassette.chat_exchanges
    candidates = [one.index for one in chat if _is_streamed(one)] or [one.index for one in chat]
    if not candidates:
        return "it holds no chat completion"
    shown = ", ".join(map(str, candidates[:_CANDIDATES_SHOWN]))
    return f"choose with --exchange {shown}{', …' if len(candidates) > _CANDIDATES_SHOWN else ''}"


def _is_streamed(exchange: Exchange) -> bool:
    try:
        return exchange.response.streamed
    except ValueError:  # a damaged body
        return False


def _request_of(exchange: Exchange) -> dict[str, Any]:
    try:
        body = exchange.request.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _streamed(source: str, layers: StreamLayers, max_tokens: int | None) -> ReadAnswer:
    return ReadAnswer(source, layers.turn, _status(layers.turn, max_tokens), layers)


def _plain(source: str, content: bytes, names: Collection[str], max_tokens: int | None) -> ReadAnswer:
    try:
        turn = parse_completion(content, names)
    except ValueError as error:
        raise InputError(f"the body is no chat completion: {error}", where=source) from error
    return ReadAnswer(source, turn, _status(turn, max_tokens))


def _status(turn: ModelTurn, max_tokens: int | None) -> Status:
    return "truncated" if hit_output_limit(turn, max_tokens) else turn.status
