"""One request to a model API and its response, as bytes.

``Exchange`` is what cassettes hold and runs link to. Bodies are kept as they were transferred (a gzip body stays
gzip); `decoded` gives the text that a client would see.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.deltas import parse_stream

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
class Request:
    """An HTTP request. ``headers`` keep order and repetition."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""

    @property
    def path(self) -> str:
        """The path of the URL, without query and fragment."""
        return urlsplit(self.url).path

    @property
    def is_chat(self) -> bool:
        """Whether the path ends in ``/chat/completions``."""
        return self.path.rstrip("/").endswith(CHAT_PATH)

    def json(self) -> Any:
        """The body as JSON; raises ValueError when it is none."""
        return orjson.loads(decoded(self.body, self.headers))


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response. ``chunks`` is empty when the recorder kept no boundaries."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    chunks: tuple[Chunk, ...] = ()
    reason: str = ""

    @property
    def streamed(self) -> bool:
        """Whether the body is a stream of server-sent events, also where the content type says nothing or JSON."""
        if "text/event-stream" in (header(self.headers, "content-type") or ""):
            return True
        start = decoded(self.body, self.headers)[:256].lstrip(b"\xef\xbb\xbf \r\n\t")
        return start.startswith(_STREAM_STARTS)


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
            self._turns[key] = parse_stream(body, names) if self.response.streamed else parse_completion(body)
        return self._turns[key]


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
