"""Exchanges as lines: each message, tools array and set of parameters once, and what refers to them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from harness.cassette.own.framing import framed
from harness.cassette.own.layout import FORMAT, VERSION
from harness.cassette.own.styles import DEFAULT, style_of
from harness.cassette.own.tables import Tables
from harness.errors import InputError
from harness.wire.exchange import Exchange, Headers, Request, RequestParts, Response
from harness.wire.half_pairs import dumps, loads

# Shorter than a slice with its three numbers.
_WORTH_A_SLICE = 3


def header_line(workspace: str | None, home: str | None) -> bytes:
    """The first line of a file."""
    folders = {name: folder for name, folder in (("workspace", workspace), ("home", home)) if folder is not None}
    return _line({"format": FORMAT, "version": VERSION, **folders})


class Encoder:
    """Remembers what a file stores, so that each exchange adds only what is new.

    The memory it takes is a digest for each message and one number for each message of each request.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[bytes, int]] = {"message": {}, "tools": {}, "parameters": {}}
        self._counts = dict.fromkeys(self._numbers, 0)
        self._histories: list[list[int]] = []
        self._latest: dict[int, tuple[int, int]] = {}

    @classmethod
    def after(cls, tables: Tables, exchanges: int) -> Encoder:
        """An encoder that goes on with a file that holds these tables and that many exchanges."""
        encoder = cls()
        stored = (("message", tables.messages), ("tools", tables.tools), ("parameters", tables.parameters))
        for kind, values in stored:
            for value in values:
                encoder._number(kind, dumps(value), [])
        for exchange in range(1, exchanges + 1):
            encoder._remember(list(tables.history(exchange)))
        return encoder

    def lines(self, exchange: Exchange) -> bytes:
        """The lines that the next exchange adds; raises InputError for text that is not valid Unicode.

        After an error the encoder must not be used again: it may know what was not written.
        """
        new: list[bytes] = []
        number = len(self._histories) + 1
        try:
            request = self._request(exchange.request, new)
            new.append(_line({"exchange": number, "request": request, "response": _response(exchange.response)}))
        except (orjson.JSONEncodeError, UnicodeEncodeError) as error:
            raise InputError(f"exchange {number} is no valid Unicode: {error}") from error
        return b"".join(new)

    def _request(self, request: Request, new: list[bytes]) -> dict[str, Any]:
        document: dict[str, Any] = {"method": request.method, "url": request.url, **_headers(request.headers)}
        body = _Body.of(request.body)
        if body is None:
            self._remember([])
            return document | _bytes(request.body)
        if body.style != DEFAULT:
            document["style"] = body.style
        document["parameters"] = self._number("parameters", body.parameters, new)
        if body.tools is not None:
            document["tools"] = self._number("tools", body.tools, new)
        history = [self._number("message", message, new) for message in body.messages or ()]
        if body.messages is not None:
            document["messages"] = list(self._references(history))
        self._remember(history)
        return document

    def _number(self, kind: str, text: bytes, new: list[bytes]) -> int:
        """The number of a value, which gets a line when it is new."""
        numbers = self._numbers[kind]
        digest = blake2b(text, digest_size=16).digest()
        if digest not in numbers:
            numbers[digest] = self._counts[kind] = self._counts[kind] + 1
            new.append(b'{"%s":%d,"value":%s}\n' % (kind.encode(), numbers[digest], text))
        return numbers[digest]

    def _references(self, history: list[int]) -> Iterator[int | list[int]]:
        """Slices of earlier histories, each the latest that has the message, and numbers between them.

        So a growing conversation costs one slice and its new messages, also where lanes mix or a system prompt changes
        each time.
        """
        at = 0
        while at < len(history):
            place = self._latest.get(history[at])
            length = self._common(place, history, at) if place else 0
            if place and length >= _WORTH_A_SLICE:
                exchange, first = place
                yield [exchange + 1, first + 1, first + length]
                at += length
            else:
                yield history[at]
                at += 1

    def _common(self, place: tuple[int, int], history: list[int], at: int) -> int:
        exchange, first = place
        earlier = self._histories[exchange]
        longest = min(len(earlier) - first, len(history) - at)
        if earlier[first : first + longest] == history[at : at + longest]:
            return longest
        return next(n for n in range(longest) if earlier[first + n] != history[at + n])

    def _remember(self, history: list[int]) -> None:
        self._latest.update((number, (len(self._histories), place)) for place, number in enumerate(history))
        self._histories.append(history)


@dataclass(frozen=True, slots=True)
class _Body:
    """A JSON object as a client wrote it: its style, and the JSON texts of its parts."""

    style: str
    parameters: bytes
    tools: bytes | None
    messages: list[bytes] | None

    @classmethod
    def of(cls, body: bytes) -> _Body | None:
        """The body in parts, or None where only its bytes say all of it."""
        try:
            value = loads(body)
            style = style_of(body, value) if isinstance(value, dict) else None
            if style is None:
                return None
            parts = RequestParts.of(value)
            places = {name: None for name in ("messages", "tools") if getattr(parts, name) is not None}
            return cls(
                style,
                dumps({**value, **places}),
                None if parts.tools is None else dumps(parts.tools),
                None if parts.messages is None else [dumps(message) for message in parts.messages],
            )
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # no JSON, or nested deeper than orjson writes
            return None


def _response(response: Response) -> dict[str, Any]:
    reason = {"reason": response.reason} if response.reason else {}
    body: dict[str, Any] = _bytes(response.body)
    if "body" in body:
        body = {"body": framed(body["body"])}
    document = {"status": response.status, **reason, **_headers(response.headers), **body}
    if response.chunks:
        document["chunk_ends"] = [chunk.end for chunk in response.chunks]
        document["chunk_times"] = [float(chunk.time) for chunk in response.chunks]
    return document


def _headers(headers: Headers) -> dict[str, Any]:
    return {"headers": headers} if headers else {}


def _bytes(body: bytes) -> dict[str, str]:
    """A body as text where it is UTF-8, else as base64; nothing where it is empty."""
    if not body:
        return {}
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def _line(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document) + b"\n"
