"""One request to a model API and its response, as bytes.

``Exchange`` is what cassettes hold and runs link to. Bodies are kept as they were transferred (a gzip body stays
gzip); `decoded` gives the text that a client would see. Where a file stores a body in parts, it is put together when
it is first asked for: see `Request.deferred`.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.deltas import parse_stream
from harness.wire.half_pairs import loads

Headers = tuple[tuple[str, str], ...]

CHAT_PATH = "/chat/completions"

# No JSON text begins like this, so the bytes outweigh a content type that says JSON.
_STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A network read: ``end`` is the offset behind its last byte in the body, ``time`` seconds since the request."""

    end: int
    time: float


@dataclass(frozen=True, slots=True)
class RequestParts:
    """A JSON request body taken apart; to be read only, since exchanges of one file share these objects.

    ``messages`` and ``tools`` are None where the body has no list of that name; what it has instead, null included,
    is then in ``rest`` with the other keys, in their order.
    """

    rest: Mapping[str, Any]
    messages: Sequence[Any] | None = None
    tools: Sequence[Any] | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> RequestParts:
        """The parts of a parsed body."""
        lists = {name: value for name in ("messages", "tools") if isinstance(value := body.get(name), list)}
        rest = {name: value for name, value in body.items() if name not in lists} if lists else body
        return cls(rest, lists.get("messages"), lists.get("tools"))


class RequestSource(Protocol):
    """Where a request that is kept in parts gets its body from."""

    def body(self) -> bytes:
        """The body as it was transferred."""

    def parts(self) -> RequestParts:
        """The body's parts; a message that the file stores once is one object in all its requests."""


class ResponseSource(Protocol):
    """Where a response that is kept in parts gets its body from."""

    def body(self) -> bytes:
        """The body as it was transferred."""

    def chunks(self) -> tuple[Chunk, ...]:
        """The network reads."""


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request. ``headers`` keep order and repetition."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""
    _source: RequestSource | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def deferred(cls, method: str, url: str, headers: Headers, source: RequestSource) -> Request:
        """A request whose body is made when it is first asked for; in all else it is like any other."""
        request = cls.__new__(cls)
        for name, value in (("method", method), ("url", url), ("headers", headers), ("_source", source)):
            object.__setattr__(request, name, value)
        return request

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name: str) -> bytes:
            # Asked only for what is not there: the slot of a deferred body, until it is filled.
            if name != "body" or self._source is None:
                raise AttributeError(name)
            body = self._source.body()
            object.__setattr__(self, "body", body)
            return body

    def __reduce__(self) -> tuple[type[Request], tuple[object, ...]]:
        # The source leads to a whole file; a copy in another process needs this body only.
        return Request, (self.method, self.url, self.headers, self.body)

    @property
    def path(self) -> str:
        """The path of the URL, without query and fragment."""
        try:
            return urlsplit(self.url).path
        except ValueError:  # a placeholder such as [HOST], which a scrubber put where a host belongs
            rest = re.split("[?#]", self.url.partition("://")[2], maxsplit=1)[0]
            return "".join(rest.partition("/")[1:])

    @property
    def is_chat(self) -> bool:
        """Whether the path ends in ``/chat/completions``."""
        return self.path.rstrip("/").endswith(CHAT_PATH)

    def json(self) -> Any:
        """The body as JSON; raises ValueError when it is none."""
        return loads(decoded(self.body, self.headers))

    def parts(self) -> RequestParts | None:
        """The body's parts, or None where it is no JSON object; a deferred body is not built for this."""
        if self._source is not None:
            return self._source.parts()
        try:
            body = self.json()
        except ValueError:
            return None
        return RequestParts.of(body) if isinstance(body, dict) else None


class Ending(StrEnum):
    """How a response ends: whole, with the connection closed before the body was whole, or never (readers time out)."""

    WHOLE = "whole"
    DISCONNECT = "disconnect"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response. ``chunks`` is empty when the recorder kept no boundaries.

    ``ending`` is WHOLE for everything recorded; a fault sets another. ``paced`` means that the chunks' times are part
    of the answer and are kept also where playing doesn't wait otherwise (a fault that delays).
    """

    status: int
    headers: Headers = ()
    body: bytes = b""
    chunks: tuple[Chunk, ...] = ()
    reason: str = ""
    ending: Ending = Ending.WHOLE
    paced: bool = False
    _source: ResponseSource | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def deferred(cls, status: int, headers: Headers, reason: str, source: ResponseSource) -> Response:
        """A response whose body and chunks are made when they are first asked for."""
        response = cls.__new__(cls)
        given = (("status", status), ("headers", headers), ("reason", reason), ("_source", source))
        for name, value in (*given, ("ending", Ending.WHOLE), ("paced", False)):
            object.__setattr__(response, name, value)
        return response

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name not in {"body", "chunks"} or self._source is None:
                raise AttributeError(name)
            value = getattr(self._source, name)()
            object.__setattr__(self, name, value)
            return value

    def __reduce__(self) -> tuple[type[Response], tuple[object, ...]]:
        return Response, (self.status, self.headers, self.body, self.chunks, self.reason, self.ending, self.paced)

    @property
    def streamed(self) -> bool:
        """Whether the body is a stream of server-sent events, also where the content type says nothing or JSON."""
        if "text/event-stream" in (header(self.headers, "content-type") or ""):
            return True
        return looks_streamed(decoded(self.body, self.headers))


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response. ``index`` is the position in its cassette."""

    request: Request
    response: Response
    index: int = 0
    _turns: dict[str, ModelTurn] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def is_chat(self) -> bool:
        """Whether the path ends in ``/chat/completions``; error answers included."""
        return self.request.is_chat

    def turn(self, tool_names: Iterable[str] = ()) -> ModelTurn:
        """The response as a model's turn; raises ValueError when it is neither JSON nor a stream."""
        names = tuple(sorted(tool_names))
        key = "\0".join(names)
        if key not in self._turns:
            body = decoded(self.response.body, self.response.headers)
            self._turns[key] = parse_stream(body, names) if self.response.streamed else parse_completion(body, names)
        return self._turns[key]


def looks_streamed(body: bytes) -> bool:
    """Whether a body begins as a stream of events does."""
    return body[:256].lstrip(b"\xef\xbb\xbf \r\n\t").startswith(_STREAM_STARTS)


def header(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    """The first value of a header, or None; names are compared without case."""
    wanted = name.lower()
    return next((value for key, value in headers if key.lower() == wanted), None)


def decoded(body: bytes, headers: Iterable[tuple[str, str]]) -> bytes:
    """The body without its content-encoding (gzip and deflate).

    A body that is not encoded although the header says so (recorders often decode and keep the header) comes back
    as it is. Raises ValueError when an encoded body is damaged.
    """
    encoding = (header(headers, "content-encoding") or "").strip().lower()
    try:
        if body.startswith(b"\x1f\x8b"):
            return gzip.decompress(body)
        if encoding == "deflate" and not body.lstrip().startswith((b"{", b"data:", b"[")):
            return _inflated(body)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"the body says {encoding or 'gzip'} but cannot be decoded: {error}") from error
    return body


def _inflated(body: bytes) -> bytes:
    """Servers send both forms under the name of deflate: with the zlib header, as the standard says, and without."""
    try:
        return zlib.decompress(body)
    except zlib.error:
        return zlib.decompress(body, -zlib.MAX_WBITS)
