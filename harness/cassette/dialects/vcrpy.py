"""Cassettes of vcrpy, format version 1, in YAML or JSON: reading and writing.

https://vcrpy.readthedocs.io: bodies are text where they can be, ``!!binary`` or ``base64_string`` where not, and are
kept as transferred (gzip stays gzip). Chunk boundaries stand under ``response.chunks``, a list of
``{end: byte offset, t: seconds since the request}``; stock vcrpy (tried with 9.4.2) ignores the key and replays the
file. The folders of the recorded session stand under ``metadata.harness``: vcrpy 9 keeps ``metadata`` when it writes
the file again, earlier versions ignore it.
"""

from __future__ import annotations

import base64
import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.cassette.dialects import fields
from harness.cassette.scrubbing import Scrubber, recordable
from harness.files import write_atomically
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response, header

NAME = "vcrpy"

_OPENING = "interactions:\n"
_CLOSING = "version: 1\n"

_PLAIN = re.compile(r"[A-Za-z/](?:[\w/.+;=,()@%&?~*-]|[: ](?=[\w/.+;=,()@%&?~*-]))*", re.ASCII)
_READ_AS_SOMETHING_ELSE = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
# Line ends other than LF, byte-order marks and control characters: a block would lose or refuse them.
_NOT_IN_A_BLOCK = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_TO_ESCAPE = re.compile(f'["\\\\\t\n]|{_NOT_IN_A_BLOCK.pattern}')


def read_interaction(entry: object) -> tuple[Request, Response]:
    """One interaction; raises FieldError with what is wrong with it."""
    asked = fields.section(entry, "request")
    answered = fields.section(entry, "response")
    request = Request(
        method=fields.text(asked, "method", "GET"),
        url=fields.text(asked, "uri"),
        headers=fields.headers(asked),
        body=_request_body(asked),
    )
    code, reason = _status(answered)
    body = fields.wrapped_body(answered["content"] if "content" in answered else answered.get("body"))
    response = Response(
        status=code,
        headers=fields.headers(answered),
        body=body,
        chunks=_chunks(answered.get("chunks"), len(body)),
        reason=reason,
    )
    return request, response


def folders(document: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The workspace and the HOME of the recorded session, where the file says so."""
    metadata = document.get("metadata")
    ours = metadata.get("harness") if isinstance(metadata, Mapping) else None
    if not isinstance(ours, Mapping):
        return None, None
    workspace, home = (value if isinstance(value := ours.get(name), str) else None for name in ("workspace", "home"))
    return workspace, home


def dump_vcrpy(exchanges: Iterable[Exchange], workspace: str | None = None, home: str | None = None) -> bytes:
    """The exchanges as a stock vcrpy cassette in YAML, as they are: nothing is scrubbed.

    Bodies that are UTF-8 text are blocks of literal text, others ``!!binary``. Headers keep the order in which their
    names first appear, repeats of a name stand together. The same exchanges always give the same bytes.
    """
    return _file_of([_rendered(exchange) for exchange in exchanges]) + _metadata(workspace, home)


def _metadata(workspace: str | None, home: str | None) -> bytes:
    folders_of_session = (("workspace", workspace), ("home", home))
    lines = [f"    {name}: {_quoted(folder)}\n" for name, folder in folders_of_session if folder is not None]
    return "".join(["metadata:\n  harness:\n", *lines]).encode() if lines else b""


class VcrpyWriter:
    """Keeps a cassette on disk while a session is recorded; safe to use from several threads.

    After each `add` the file is a whole cassette with all exchanges so far, so a killed recorder loses at most the
    exchange in flight. Nothing is written before the first one: an older file of that name stays until then.
    The price is that the file is written anew each time (rendered once, kept in memory): a session of n exchanges
    writes about n/2 times its final size.
    """

    def __init__(self, path: Path, scrubber: Scrubber | None = None) -> None:
        """``scrubber`` takes the secrets out; by default one of this file, without patterns of the user's own."""
        self.path = path
        self._scrubber = scrubber or Scrubber()
        self._rendered: list[str] = []
        self._lock = threading.Lock()

    def add(self, exchange: Exchange) -> None:
        """Store a finished exchange without its secrets; raises OSError when the file cannot be written."""
        with self._lock:
            self._rendered.append(_rendered(recordable(exchange, self._scrubber)))
            write_atomically(self.path, _file_of(self._rendered))


def _status(answered: Mapping[str, Any]) -> tuple[int, str]:
    """``status: {code, message}``; the first versions for httpx wrote ``status_code`` alone."""
    status = answered.get("status")
    if isinstance(status, Mapping):
        return fields.status_code(status.get("code")), fields.text(status, "message", "")
    return fields.status_code(answered.get("status_code", status)), ""


def _request_body(asked: Mapping[str, Any]) -> bytes:
    """Vcrpy keeps what aiohttp's ``json=`` was given as the data that it is."""
    body = asked.get("body")
    if fields.is_data(body) and "json" in (header(fields.headers(asked), "content-type") or ""):
        return fields.json_bytes(body)
    return fields.wrapped_body(body)


def _chunks(value: object, length: int) -> tuple[Chunk, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise fields.FieldError(f"chunks are not a list but {fields.kind_of(value)}")
    chunks: list[Chunk] = []
    for entry in value:
        try:
            chunks.append(Chunk(int(entry["end"]), float(entry["t"])))
        except (TypeError, KeyError, ValueError) as error:
            raise fields.FieldError(f"a chunk is {{end: bytes, t: seconds}}, not {entry!r}") from error
    ends = [0, *(chunk.end for chunk in chunks)]
    if any(later < earlier for earlier, later in itertools.pairwise(ends)):
        raise fields.FieldError("the ends of the chunks do not grow")
    if ends[-1] != length:
        raise fields.FieldError(
            f"the chunks end at byte {ends[-1]}, the body has {length} bytes; where the body was edited, "
            "remove the chunks"
        )
    return tuple(chunks)


def _file_of(rendered: list[str]) -> bytes:
    opening = _OPENING if rendered else "interactions: []\n"
    return "".join([opening, *rendered, _CLOSING]).encode()


def _rendered(exchange: Exchange) -> str:
    return "".join(_lines(exchange.request, exchange.response))


def _lines(request: Request, response: Response) -> Iterator[str]:
    yield f"- request:\n    body: {_body_scalar(request.body, 6)}\n"
    yield from _header_lines(request.headers)
    yield f"    method: {_scalar(request.method)}\n    uri: {_scalar(request.url)}\n"
    yield f"  response:\n    body:\n      string: {_body_scalar(response.body, 8)}\n"
    if response.chunks:
        yield "    chunks:\n"
        for chunk in response.chunks:
            yield f"    - {{end: {chunk.end}, t: {_number(chunk.time)}}}\n"
    yield from _header_lines(response.headers)
    yield f"    status:\n      code: {response.status}\n      message: {_scalar(response.reason)}\n"


def _header_lines(headers: Headers) -> Iterator[str]:
    if not headers:
        yield "    headers: {}\n"
        return
    yield "    headers:\n"
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    for name, values in grouped.items():
        yield f"      {_scalar(name)}:\n"
        for value in values:
            yield f"      - {_scalar(value)}\n"


def _body_scalar(body: bytes, indent: int) -> str:
    """A body behind its key: a block of literal text at ``indent``, escaped text, or base64."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        encoded = base64.encodebytes(body).decode().splitlines()
        return "".join(["!!binary |", *(f"\n{' ' * indent}{line}" for line in encoded)])
    if not text.strip(" \t\n") or _NOT_IN_A_BLOCK.search(text):
        return _quoted(text)
    size = "2" if text[0] in " \t\n" else ""
    keep = "" if text.endswith("\n") else "-"
    if text.endswith("\n\n"):
        keep = "+"
    margin = " " * indent
    lines = text.removesuffix("\n").split("\n")
    return "".join([f"|{size}{keep}", *(f"\n{margin}{line}" if line else "\n" for line in lines)])


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_AS_SOMETHING_ELSE:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character)
    return short or f"\\u{ord(character):04x}"


def _number(seconds: float) -> str:
    """A float that YAML 1.1 reads as one: it wants a point before the exponent."""
    text = repr(float(seconds))
    return text if "." in text or "e" not in text else text.replace("e", ".0e")
