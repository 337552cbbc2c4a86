"""Reading a cassette in the harness's own format."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import orjson

from harness.cassette.cassette import Cassette
from harness.cassette.own.framing import unframed
from harness.cassette.own.layout import FORMAT, NAME, SUFFIX, VERSION
from harness.cassette.own.styles import DEFAULT, STYLES
from harness.cassette.own.tables import BrokenReferenceError, StoredRequest, Tables
from harness.errors import InputError
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response
from harness.wire.half_pairs import loads

_HEADER = re.compile(rb'\s*\{\s*"format"\s*:\s*"%s"' % FORMAT.encode())


@dataclass(slots=True)
class Content:
    """What a file holds, and what a writer needs to go on with it."""

    tables: Tables = field(default_factory=Tables)
    exchanges: list[Exchange] = field(default_factory=list)
    workspace: str | None = None
    home: str | None = None
    has_header: bool = False
    complete: int = 0
    """The offset behind the last line that is a header or an exchange: what follows belongs to none."""
    notes: list[str] = field(default_factory=list)


def is_own(path: Path, data: bytes) -> bool:
    """Whether a file, by its first line or its name, is a cassette of this format."""
    return bool(_HEADER.match(data)) or path.name.endswith((SUFFIX, f"{SUFFIX}.gz"))


def read_cassette(path: Path, data: bytes) -> Cassette:
    """The cassette in an unpacked file; raises InputError with file and line."""
    content = parse(path, data)
    return Cassette(
        path,
        NAME,
        tuple(content.exchanges),
        workspace=content.workspace,
        home=content.home,
        notes=tuple(content.notes),
    )


def parse(path: Path, data: bytes) -> Content:
    """The content of a file.

    Its end may be torn: a last line that was not written to its end, zero bytes that a power failure left, and lines
    that no exchange came to use are left out and noted. Anything else that cannot be read raises InputError.
    """
    parser = _Parser(path)
    written = data.rstrip(b"\0")
    lines = written.split(b"\n")
    last = lines.pop()
    at = 0
    for number, line in enumerate(lines, 1):
        at += len(line) + 1
        parser.line(number, line, at)
    if last:
        parser.last_line(len(lines) + 1, last, at + len(last))
    return parser.finished()


class _Parser:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._unused = 0
        self._used = (0, 0, 0)
        self._urls: dict[str, str] = {}
        self.content = Content()

    def line(self, number: int, line: bytes, end: int) -> None:
        """Read a line that ends with a line feed; ``end`` is the offset behind it."""
        self._number = number
        try:
            value = loads(line)
        except orjson.JSONDecodeError as error:
            if not line.strip():
                return
            self._fail(f"this line is broken: {error.msg}", hint="restore it; only a torn end can be left out")
        self._take(value, end)

    def last_line(self, number: int, line: bytes, end: int) -> None:
        """Read a line without a line feed: whole where an editor left it out, else torn."""
        self._number = number
        try:
            value = loads(line)
        except orjson.JSONDecodeError:
            self._demand_own(line)
            what = "the recorder was stopped while writing it"
            self.content.notes.append(f"line {number} is torn and was left out: {what}")
            return
        self._take(value, end)

    def finished(self) -> Content:
        """The content, without what waits for an exchange that did not come."""
        tables = self.content.tables
        for table, length in zip((tables.messages, tables.tools, tables.parameters), self._used, strict=True):
            del table[length:]
        if self._unused and not self.content.notes:
            self.content.notes.append(
                f"the last {self._unused} lines belong to no exchange: the recorder was stopped while writing it"
            )
        if not self.content.has_header and not self.content.notes:
            self.content.notes.append("the file is empty: the recorder was stopped before the first exchange")
        return self.content

    def _take(self, value: object, end: int) -> None:
        if not isinstance(value, dict):
            self._fail("a line is a JSON object")
        tables = self.content.tables
        if not self.content.has_header:
            self._header(value)
        elif "exchange" in value:
            self._exchange(value)
        elif "message" in value:
            self._stored("message", value, tables.messages)
            return
        elif "tools" in value:
            self._stored("tools", value, tables.tools)
            return
        elif "parameters" in value:
            self._stored("parameters", value, tables.parameters)
            self._check_parameters(tables.parameters[-1])
            return
        else:
            self._fail(f"a line of no known kind: {', '.join(value) or 'an empty object'}")
        self.content.complete = end
        self._unused = 0
        self._used = (len(tables.messages), len(tables.tools), len(tables.parameters))

    def _header(self, value: dict[str, Any]) -> None:
        if value.get("format") != FORMAT:
            self._fail(f"not a cassette: the first line does not say {{'format': '{FORMAT}'}}")
        if value.get("version") != VERSION:
            self._fail(
                f"a cassette of version {value.get('version')}: this harness reads version {VERSION}",
                hint="use the version of the harness that wrote it, or a newer one",
            )
        self.content.has_header = True
        for name in ("workspace", "home"):
            folder = value.get(name)
            if folder is not None and not isinstance(folder, str):
                self._fail(f"{name} is not text")
            setattr(self.content, name, folder)

    def _stored(self, kind: str, value: dict[str, Any], table: list[Any]) -> None:
        if value[kind] != len(table) + 1:
            self._fail(
                f"{kind} {value[kind]} stands where {kind} {len(table) + 1} is due",
                hint="two recordings cannot be merged line by line; record into two files",
            )
        if "value" not in value:
            self._fail(f"{kind} {value[kind]} has no value")
        table.append(value["value"])
        self._unused += 1

    def _check_parameters(self, parameters: object) -> None:
        if not isinstance(parameters, dict):
            self._fail("parameters are a JSON object")
        if any(isinstance(parameters.get(name), list) for name in ("messages", "tools")):
            self._fail("messages and tools stand in lines of their own, in parameters only null holds their place")

    def _exchange(self, value: dict[str, Any]) -> None:
        number = len(self.content.exchanges) + 1
        if value["exchange"] != number:
            self._fail(
                f"exchange {value['exchange']} stands where exchange {number} is due",
                hint="two recordings cannot be merged line by line; record into two files",
            )
        asked, answered = value.get("request"), value.get("response")
        if not isinstance(asked, dict) or not isinstance(answered, dict):
            self._fail("an exchange has a request and a response, both JSON objects")
        try:
            request, response = self._request(asked, number), self._response(answered)
        except (BrokenReferenceError, ValueError) as error:
            self._fail(str(error))
        self.content.exchanges.append(Exchange(request, response, number - 1))

    def _request(self, asked: dict[str, Any], number: int) -> Request:
        tables = self.content.tables
        tables.add_history(asked.get("messages", []))
        url = self._text(asked, "url")
        # One text for the many requests to one place.
        url = self._urls.setdefault(url, url)
        method, headers = self._text(asked, "method"), self._headers(asked)
        if "parameters" not in asked:
            return Request(method, url, headers, self._body(asked))
        parameters = self._known("parameters", asked["parameters"], tables.parameters)
        tools = asked.get("tools")
        if tools is not None:
            self._known("tools", tools, tables.tools)
        style = asked.get("style", DEFAULT)
        if style not in STYLES:
            self._fail(f"no style {style!r} is known", hint=f"one of {', '.join(STYLES)}")
        body = tables.parameters[parameters - 1]
        if any(name in asked and name not in body for name in ("messages", "tools")):
            self._fail("its parameters have no place for its messages or tools")
        source = StoredRequest(tables, number, parameters, tools, "messages" in asked, style)
        return Request.deferred(method, url, headers, source)

    def _response(self, answered: dict[str, Any]) -> Response:
        status = answered.get("status")
        if type(status) is not int:
            self._fail("the response has no status")
        headers = self._headers(answered)
        reason = answered.get("reason", "")
        if not isinstance(reason, str):
            self._fail("reason is not text")
        body = self._body(answered)
        ends, times = answered.get("chunk_ends", ()), answered.get("chunk_times", ())
        if not ends and not times:
            return Response(status, headers, body, (), reason)
        self._check_chunks(ends, times, len(body))
        return Response.deferred(status, headers, reason, StoredResponse(body, ends, times))

    def _check_chunks(self, ends: object, times: object, length: int) -> None:
        if not isinstance(ends, list) or not isinstance(times, list) or len(ends) != len(times):
            self._fail("chunk_ends and chunk_times are not two lists of the same length")
        if set(map(type, ends)) - {int} or set(map(type, times)) - {int, float}:
            self._fail("chunk_ends and chunk_times are numbers")
        if ends[0] < 0 or sorted(ends) != ends or ends[-1] != length:
            self._fail(
                f"the chunks do not grow to the {length} bytes of the body",
                hint="where the body was edited, remove chunk_ends and chunk_times",
            )

    def _body(self, side: dict[str, Any]) -> bytes:
        if "base64" in side:
            return base64.b64decode(self._text(side, "base64"), validate=True)
        return unframed(side.get("body", "")).encode()

    def _headers(self, side: dict[str, Any]) -> Headers:
        pairs = side.get("headers", [])
        if not isinstance(pairs, list):
            self._fail("headers are not a list of [name, value]")
        for pair in pairs:
            if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str or type(pair[1]) is not str:
                self._fail("headers are not a list of [name, value]")
        return tuple([(name, value) for name, value in pairs])

    def _known(self, kind: str, number: object, table: Sequence[object]) -> int:
        if type(number) is not int or not 0 < number <= len(table):
            self._fail(f"there are no {kind} {number} before this line")
        return number

    def _text(self, owner: Mapping[str, Any], name: str) -> str:
        value = owner.get(name)
        if not isinstance(value, str):
            self._fail(f"{name} is missing" if value is None else f"{name} is not text")
        return value

    def _demand_own(self, line: bytes) -> None:
        """A torn first line can only be the beginning of a header."""
        beginning = f'{{"format":"{FORMAT}"'.encode()
        if not self.content.has_header and line[: len(beginning)] != beginning[: len(line)]:
            self._fail("not a cassette: the first line is no header")

    def _fail(self, what: str, hint: str = "") -> NoReturn:
        raise InputError(what, where=f"{self._path}:{self._number}", hint=hint)


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response whose chunks become objects when somebody asks (`harness.wire.exchange.ResponseSource`)."""

    content: bytes
    ends: Sequence[int]
    times: Sequence[float]

    def body(self) -> bytes:
        """The body as it was transferred."""
        return self.content

    def chunks(self) -> tuple[Chunk, ...]:
        """The network reads."""
        return tuple(Chunk(end, float(time)) for end, time in zip(self.ends, self.times, strict=True))
