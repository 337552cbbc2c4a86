"""The JSON documents of a body, and edits of their texts as edits of its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from harness.cassette.rewriting.changes import TOKEN
from harness.cassette.rewriting.cutting import Path
from harness.cassette.rewriting.edits import ByteEdit, Edit, in_bytes, literal_edits
from harness.wire.half_pairs import loads
from harness.wire.sse import SSEEvent, SSEParser

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document of the body: its text, its value, and where its lines lie in the body."""

    text: str
    value: Any
    lines: tuple[tuple[int, int], ...]


def plain_document(body: bytes) -> Iterator[Document]:
    """The one document of a body that is JSON; none for any other."""
    try:
        value = loads(body)
    except orjson.JSONDecodeError:
        return
    yield Document(body.decode(), value, ((0, len(body)),))


def stream_documents(body: bytes) -> Iterator[Document]:
    """The document of each event whose data is JSON and lies in the body as it is."""
    parser = SSEParser()
    for event in (*parser.feed(body), *parser.close()):
        try:
            value = loads(event.data.strip())
        except orjson.JSONDecodeError:
            continue
        lines = tuple(_data_lines(body, event))
        if b"\n".join(body[start:end] for start, end in lines) == event.data:
            yield Document(event.data.decode(), value, lines)


def _data_lines(body: bytes, event: SSEEvent) -> Iterator[tuple[int, int]]:
    """Where the ``data`` of an event lies, line by line."""
    position = event.start
    while position < event.end:
        found = _LINE_END.search(body, position, event.end)
        line_end, after = found.span() if found else (event.end, event.end)
        line = body[position:line_end]
        if line == b"data":
            yield line_end, line_end
        elif line.startswith(b"data:"):
            yield position + (6 if line.startswith(b"data: ") else 5), line_end
        position = after


def document_edits(document: Document, changes: Iterable[tuple[Path, list[Edit]]]) -> Iterator[ByteEdit]:
    """Edits of string values, each by its path, as edits of the body."""
    spans = _string_spans(document.text)
    edits: list[Edit] = []
    for path, own in changes:
        start, end = spans[path]
        edits += literal_edits(document.text[start:end], start, own)
    edits.sort()
    return line_edits(document, edits)


def line_edits(document: Document, edits: Sequence[Edit]) -> Iterator[ByteEdit]:
    """Edits of a document's text, in order, as edits of the body."""
    line_start = 0
    # No string of a JSON document holds a line end, so each edit lies within one line.
    for line, (body_start, _) in zip(_lines_of(document), document.lines, strict=True):
        line_end = line_start + len(line)
        inside = [
            Edit(edit.start - line_start, edit.end - line_start, edit.new)
            for edit in edits
            if line_start <= edit.start and edit.end <= line_end
        ]
        yield from in_bytes(line, inside, body_start)
        line_start = line_end + 1


def _lines_of(document: Document) -> list[str]:
    return document.text.split("\n") if len(document.lines) > 1 else [document.text]


def _string_spans(text: str) -> dict[Path, tuple[int, int]]:
    """Where the string values of a valid JSON document lie, without their quotes; of equal keys the last counts."""
    spans: dict[Path, tuple[int, int]] = {}
    path: list[str | int] = []
    key_next = False
    for token in TOKEN.finditer(text):
        sign = text[token.start()]
        if sign == '"':
            if key_next:
                path[-1] = loads(token.group())
            else:
                spans[tuple(path)] = token.span(1)
        elif sign == "{":
            path.append("")
            key_next = True
        elif sign == "[":
            path.append(0)
        elif sign in "}]":
            path.pop()
            key_next = False
        elif sign == ":":
            key_next = False
        elif isinstance(place := path[-1], int):
            path[-1] = place + 1
        else:
            key_next = True
    return spans
