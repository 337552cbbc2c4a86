"""Recorded responses for a session in other folders.

`rewrite_response` exchanges the recorded folders for the present ones (see `harness.cassette.paths`) in what the
model said: content, reasoning and other texts of the message, and the strings inside of the arguments of calls. It
edits the bytes of the body in place. Nothing is serialised again, so what names no folder stays byte for byte.

In a stream a folder may be spread over any number of fragments. They are joined as the assembler joins them (per
choice, field and call), the exchange is made in the joined text, and the new text is cut into the same number of
fragments: at the old places outside of what changed, at about the same share of its length inside.
"""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import orjson

from harness.cassette.paths import PathMap
from harness.wire.deltas import DeltaAssembler
from harness.wire.exchange import Chunk, Headers, Response, decoded
from harness.wire.sse import SSEEvent, SSEParser

_Path = tuple[str | int, ...]

_LINE_END = re.compile(rb"\r\n|\n|\r")
_TOKEN = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"|[{}\[\],:]', re.DOTALL)
_HEX = "[0-9A-Fa-f]"
_UNIT = re.compile(rf"\\u[Dd][89ABab]{_HEX}{{2}}\\u[Dd][C-Fc-f]{_HEX}{{2}}|\\u{_HEX}{{4}}|\\.|[^\\]+|\\", re.DOTALL)

# Names and ids are no texts of the model; an agent looks them up as they are.
_NO_TEXT = frozenset({"role", "id", "type", "name", "index", "tool_calls", "function_call", "content", "function"})
# Fields of structured reasoning that arrive in pieces like content; all others are whole in each event.
_PIECEWISE = frozenset({"text", "summary", "thinking"})


class _Edit(NamedTuple):
    """Replace ``start`` to ``end`` of some text by ``new``."""

    start: int
    end: int
    new: str


class _ByteEdit(NamedTuple):
    start: int
    end: int
    new: bytes


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A string value: in which document, where in it, and its text."""

    document: int
    path: _Path
    text: str


class _Located(str):
    """An arguments fragment that remembers where it came from while the assembler joins it to its call."""

    __slots__ = ("fragment",)
    fragment: _Fragment


class _CallTracer(DeltaAssembler):
    """Joins arguments to calls by the assembler's own rules, so that both mean the same call."""

    def fragments(self) -> Iterator[list[_Fragment]]:
        """The fragments of each call, in order; what was not text in the stream parts a call in two."""
        for call in self._calls:
            run: list[_Fragment] = []
            for text in call.fragments:
                if isinstance(text, _Located):
                    run.append(text.fragment)
                elif run:
                    yield run
                    run = []
            if run:
                yield run


@dataclass(frozen=True, slots=True)
class _Document:
    """A JSON document of the body: its text, its value, and where its lines lie in the body."""

    text: str
    value: Any
    lines: tuple[tuple[int, int], ...]


def rewrite_response(response: Response, paths: PathMap) -> tuple[Response, bool]:
    """The response with recorded folders replaced by present ones, and whether anything changed.

    Where nothing changes it is the very same object. Chat answers, plain and streamed, change in the texts of their
    messages and in arguments only; JSON of another kind changes in all its strings (streamed: each event for itself),
    any other UTF-8 as a text. Events of a stream that are no valid JSON stay as they are.

    A changed body that was compressed is given decoded, without its ``content-encoding``: only so can a chunk still
    end where it ended. ``content-length`` is set right, ``chunks`` are moved, their times stay; of chunks that brought
    nothing to decode, none is kept. Never raises, whatever the body.
    """
    if paths.is_identity:
        return response, False
    try:
        body = decoded(response.body, response.headers)
    except ValueError:
        return response, False
    edits = _edits_of(body, paths, streamed=response.streamed)
    if not edits:
        return response, False
    encoded = body != response.body
    chunks = _decoded_chunks(response, len(body)) if encoded else response.chunks
    new = _edited(body, edits)
    return (
        replace(
            response,
            headers=_headers_for(response.headers, len(new), encoded=encoded),
            body=new,
            chunks=_moved(chunks, len(body), edits),
        ),
        True,
    )


def _edits_of(body: bytes, paths: PathMap, *, streamed: bool) -> list[_ByteEdit]:
    texts = _Texts(streamed=streamed)
    documents = list(_stream_documents(body) if streamed else _plain_document(body))
    for number, document in enumerate(documents):
        texts.take(number, document.value)
    if not texts.is_chat:
        return _other_edits(body, documents, paths)
    by_document: dict[int, list[tuple[_Path, list[_Edit]]]] = {}
    for fragments, edits in texts.edits(paths):
        for fragment, own in zip(fragments, edits, strict=True):
            if own:
                by_document.setdefault(fragment.document, []).append((fragment.path, own))
    return [edit for number in sorted(by_document) for edit in _document_edits(documents[number], by_document[number])]


def _other_edits(body: bytes, documents: Iterable[_Document], paths: PathMap) -> list[_ByteEdit]:
    """What changes in an answer of an API that is not known: the strings of its JSON documents, else its text."""
    documents = tuple(documents)
    if documents:
        return [edit for document in documents for edit in _line_edits(document, _strings_edits(document.text, paths))]
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return []
    return list(_in_bytes(text, [_Edit(*change) for change in paths.changes(text)], 0))


# --- which texts there are


class _Texts:
    """The texts of an answer, each as the list of its fragments."""

    def __init__(self, *, streamed: bool) -> None:
        self.is_chat = False
        self._streamed = streamed
        self._joined: dict[tuple[object, ...], list[_Fragment]] = {}
        self._arguments: list[list[_Fragment]] = []
        self._tracers: dict[str, _CallTracer] = {}

    def take(self, number: int, document: object) -> None:
        """Take the texts of the next document."""
        if not isinstance(document, dict):
            return
        if isinstance(document.get("error"), dict | str):
            self._leaves(number, ("error",), document["error"])
        choices = document.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else ()):
            if not isinstance(choice, dict):
                continue
            for key in ("delta", "message") if self._streamed else ("message",):
                if isinstance(choice.get(key), dict):
                    self.is_chat = True
                    self._message(number, ("choices", position, key), choice[key], choice.get("index") or 0)
                    break

    def edits(self, paths: PathMap) -> Iterator[tuple[list[_Fragment], list[list[_Edit]]]]:
        """For each text that changes: its fragments, and for each of them what changes in it."""
        for fragments in self._joined.values():
            text = "".join(fragment.text for fragment in fragments)
            if edits := _text_edits(text, paths):
                yield fragments, _recut(edits, fragments)
        for fragments in (*self._arguments, *(run for tracer in self._tracers.values() for run in tracer.fragments())):
            if (cumulative := _cumulative_edits(fragments, paths)) is not None:
                yield fragments, cumulative
            elif edits := _arguments_edits("".join(fragment.text for fragment in fragments), paths):
                yield fragments, _recut(edits, fragments)

    def _message(self, number: int, path: _Path, message: dict[str, Any], choice: object) -> None:
        self._content(number, (*path, "content"), message.get("content"), choice)
        for key, value in message.items():
            if key not in _NO_TEXT:
                self._field(number, (*path, key), value, (repr(choice), key))
        calls = message.get("tool_calls")
        if calls and self._streamed:
            self._call_deltas(number, path, calls, choice)
        elif isinstance(calls, list):
            for position, call in enumerate(calls):
                self._call(number, (*path, "tool_calls", position), call)
        legacy = message.get("function_call")
        if isinstance(legacy, dict):
            located = self._function(number, (*path, "function_call"), legacy)
            if self._streamed:
                self._trace(choice, {"function_call": located})

    def _content(self, number: int, path: _Path, content: object, choice: object) -> None:
        channel = (repr(choice), "content")
        if isinstance(content, str):
            self._piece(_Fragment(number, path, content), channel)
        elif isinstance(content, list):
            for position, part in enumerate(content):
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    self._piece(_Fragment(number, (*path, position, "text"), part["text"]), channel)
                elif isinstance(part, dict):
                    self._leaves(number, (*path, position), part)

    def _field(self, number: int, path: _Path, value: object, channel: tuple[object, ...]) -> None:
        """A field of the message that no protocol names: texts are joined, structures looked through."""
        if isinstance(value, str):
            self._piece(_Fragment(number, path, value), channel)
        elif isinstance(value, list):
            for position, item in enumerate(value):
                if not isinstance(item, dict):
                    self._leaves(number, (*path, position), item)
                    continue
                own = repr(item.get("index", position))
                for key, part in item.items():
                    if key in _PIECEWISE and isinstance(part, str):
                        self._piece(_Fragment(number, (*path, position, key), part), (*channel, own, key))
                    elif key not in _NO_TEXT or not isinstance(part, str):
                        self._leaves(number, (*path, position, key), part)
        else:
            self._leaves(number, path, value)

    def _piece(self, fragment: _Fragment, channel: tuple[object, ...]) -> None:
        key = channel if self._streamed else (fragment.path,)
        self._joined.setdefault(key, []).append(fragment)

    def _leaves(self, number: int, path: _Path, value: object) -> None:
        """Every string in a structure, each a text of its own. Not recursive: bodies may be nested deeply."""
        waiting: list[tuple[_Path, object]] = [(path, value)]
        while waiting:
            place, item = waiting.pop()
            if isinstance(item, str):
                self._joined[number, place] = [_Fragment(number, place, item)]
            elif isinstance(item, dict):
                waiting += [((*place, key), part) for key, part in item.items()]
            elif isinstance(item, list):
                waiting += [((*place, position), part) for position, part in enumerate(item)]

    def _call_deltas(self, number: int, path: _Path, calls: object, choice: object) -> None:
        if isinstance(calls, list):
            entries = [self._call(number, (*path, "tool_calls", position), call) for position, call in enumerate(calls)]
            self._trace(choice, {"tool_calls": entries})
        else:
            self._trace(choice, {"tool_calls": [self._call(number, (*path, "tool_calls"), calls)]})

    def _call(self, number: int, path: _Path, call: object) -> object:
        """The call with its arguments located; in a plain answer the arguments are taken at once."""
        if not isinstance(call, dict):
            return call
        for key, value in call.items():
            if key not in _NO_TEXT:
                self._leaves(number, (*path, key), value)
        function = call.get("function")
        return {**call, "function": self._function(number, (*path, "function"), function)}

    def _function(self, number: int, path: _Path, function: object) -> object:
        if not isinstance(function, dict):
            return function
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            self._leaves(number, (*path, "arguments"), arguments)
            return function
        fragment = _Fragment(number, (*path, "arguments"), arguments)
        if not self._streamed:
            self._arguments.append([fragment])
            return function
        located = _Located(arguments)
        located.fragment = fragment
        return {**function, "arguments": located}

    def _trace(self, choice: object, delta: dict[str, object]) -> None:
        """One tracer a choice: the assembler itself reads only the first."""
        tracer = self._tracers.setdefault(repr(choice), _CallTracer())
        tracer.feed_chunk({"choices": [{"index": choice, "delta": delta}]})


# --- what changes in a text


def _arguments_edits(text: str, paths: PathMap) -> list[_Edit]:
    """What changes in an arguments text: inside its strings when it is JSON, else as in any text."""
    if _is_json(text):
        return _strings_edits(text, paths)
    return [_escaped_if_needed(text, _Edit(*change)) for change in paths.changes(text)]


def _text_edits(text: str, paths: PathMap) -> list[_Edit]:
    """What changes in a text; one that is a JSON object or list (structured output, a file to write) stays one."""
    edits = [_Edit(*change) for change in paths.changes(text)]
    if edits and text.lstrip().startswith(("{", "[")) and _is_json(text):
        return _strings_edits(text, paths)
    return edits


def _strings_edits(text: str, paths: PathMap) -> list[_Edit]:
    """What changes in the strings of a JSON document, keys included."""
    edits: list[_Edit] = []
    for token in _TOKEN.finditer(text):
        raw = token.group(1)
        if raw:
            value = raw if "\\" not in raw else orjson.loads(token.group())
            edits += _literal_edits(raw, token.start(1), _text_edits(value, paths))
    return edits


def _escaped_if_needed(text: str, edit: _Edit) -> _Edit:
    """Arguments that broke off are still JSON up to there: a backslash or quote must not end a string early."""
    if text.lstrip().startswith(("{", "[")) and "\\" not in text[edit.start : edit.end]:
        return edit._replace(new=json.dumps(edit.new, ensure_ascii=False)[1:-1])
    return edit


def _cumulative_edits(fragments: list[_Fragment], paths: PathMap) -> list[list[_Edit]] | None:
    """Where each fragment repeats all that came before it, each is a beginning of the last, and stays one."""
    texts = [fragment.text for fragment in fragments]
    if len(texts) < 2 or not all(later.startswith(earlier) for earlier, later in pairwise(texts)):
        return None
    if not _is_object(texts[-1]) or _is_json("".join(texts)):
        return None
    whole = _arguments_edits(texts[-1], paths)
    result: list[list[_Edit]] = []
    for text in texts:
        own = [edit for edit in whole if edit.end <= len(text)]
        for start, end, new in whole:
            if start < len(text) < end:
                places = _raw_offsets(new)
                share = round((len(text) - start) * (len(places) - 1) / (end - start))
                own.append(_Edit(start, len(text), new[: places[share]]))
        result.append(own)
    return result


def _literal_edits(raw: str, start: int, edits: Iterable[_Edit]) -> Iterator[_Edit]:
    """Edits of a string's value as edits of the text around it, in which its literal ``raw`` begins at ``start``."""
    offsets = _raw_offsets(raw)
    for edit in edits:
        first, last = offsets[edit.start], offsets[edit.end]
        yield _Edit(start + first, start + last, _encoded_like(raw[first:last], edit.new))


def _raw_offsets(raw: str) -> Sequence[int]:
    """Where each character of a string's value begins in its literal, and where the last one ends."""
    if "\\" not in raw:
        return range(len(raw) + 1)
    offsets: list[int] = []
    for unit in _UNIT.finditer(raw):
        offsets += [unit.start()] if unit.group().startswith("\\") else range(unit.start(), unit.end())
    return [*offsets, len(raw)]


def _encoded_like(old: str, new: str) -> str:
    """A text for a JSON string, with the escapes that what it replaces had although it need not."""
    encoded = json.dumps(new, ensure_ascii="\\u" in old)[1:-1]
    return encoded.replace("/", "\\/") if "\\/" in old else encoded


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _is_object(text: str) -> bool:
    return text.lstrip().startswith("{") and _is_json(text)


# --- cutting again


def _recut(edits: Iterable[_Edit], fragments: Sequence[_Fragment]) -> list[list[_Edit]]:
    """Edits of a joined text as edits of its fragments.

    A new text is never cut inside of an escape. A fragment that had text keeps some, as far as there is enough.
    """
    starts = [0, *accumulate(len(fragment.text) for fragment in fragments)]
    result: list[list[_Edit]] = [[] for _ in fragments]
    for start, end, new in edits:
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        touched = [number for number in range(first, last + 1) if starts[number] < starts[number + 1]]
        inner = [starts[number] for number in touched[1:]]
        places = _raw_offsets(new)
        cuts = _spread(
            [cut - start for cut in inner],
            end - start,
            len(places) - 1,
            low=0 if starts[first] < start else 1,
            high=len(places) - 1 if end < starts[last + 1] else len(places) - 2,
        )
        bounds = [0, *(places[cut] for cut in cuts), len(new)]
        for number, (left, right) in zip(touched, pairwise(bounds), strict=True):
            own_start, own_end = max(start, starts[number]), min(end, starts[number + 1])
            result[number].append(_Edit(own_start - starts[number], own_end - starts[number], new[left:right]))
    return result


def _spread(cuts: Sequence[int], length: int, places: int, *, low: int, high: int) -> list[int]:
    """Cuts of an old text of some length as rising places between 0 and ``places`` of a new one, near their share.

    They are all different and within ``low`` and ``high`` where there are enough places.
    """
    count = len(cuts)
    wanted = [round(cut * places / length) for cut in cuts]
    if count > high - low + 1:
        return [min(max(place, 0), places) for place in wanted]
    chosen: list[int] = []
    for number, place in enumerate(wanted):
        least = chosen[-1] + 1 if chosen else low
        chosen.append(max(least, min(place, high - (count - 1 - number))))
    return chosen


# --- documents and their bytes


def _plain_document(body: bytes) -> Iterator[_Document]:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return
    yield _Document(body.decode(), value, ((0, len(body)),))


def _stream_documents(body: bytes) -> Iterator[_Document]:
    parser = SSEParser()
    for event in (*parser.feed(body), *parser.close()):
        try:
            value = orjson.loads(event.data.strip())
        except orjson.JSONDecodeError:
            continue
        lines = tuple(_data_lines(body, event))
        if b"\n".join(body[start:end] for start, end in lines) == event.data:
            yield _Document(event.data.decode(), value, lines)


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


def _document_edits(document: _Document, changes: Iterable[tuple[_Path, list[_Edit]]]) -> Iterator[_ByteEdit]:
    spans = _string_spans(document.text)
    edits: list[_Edit] = []
    for path, own in changes:
        start, end = spans[path]
        edits += _literal_edits(document.text[start:end], start, own)
    edits.sort()
    return _line_edits(document, edits)


def _line_edits(document: _Document, edits: Sequence[_Edit]) -> Iterator[_ByteEdit]:
    """Edits of a document's text, in order, as edits of the body."""
    line_start = 0
    # No string of a JSON document holds a line end, so each edit lies within one line.
    for line, (body_start, _) in zip(_lines_of(document), document.lines, strict=True):
        line_end = line_start + len(line)
        inside = [
            _Edit(edit.start - line_start, edit.end - line_start, edit.new)
            for edit in edits
            if line_start <= edit.start and edit.end <= line_end
        ]
        yield from _in_bytes(line, inside, body_start)
        line_start = line_end + 1


def _lines_of(document: _Document) -> list[str]:
    return document.text.split("\n") if len(document.lines) > 1 else [document.text]


def _string_spans(text: str) -> dict[_Path, tuple[int, int]]:
    """Where the string values of a valid JSON document lie, without their quotes; of equal keys the last counts."""
    spans: dict[_Path, tuple[int, int]] = {}
    path: list[str | int] = []
    key_next = False
    for token in _TOKEN.finditer(text):
        sign = text[token.start()]
        if sign == '"':
            if key_next:
                path[-1] = orjson.loads(token.group())
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


def _in_bytes(text: str, edits: Iterable[_Edit], offset: int) -> Iterator[_ByteEdit]:
    """Edits of a text, in order, as edits of the bytes in which it begins at ``offset``."""
    done = 0
    for start, end, new in edits:
        first = offset + len(text[done:start].encode())
        offset = first + len(text[start:end].encode())
        done = end
        yield _ByteEdit(first, offset, new.encode())


def _edited(body: bytes, edits: Iterable[_ByteEdit]) -> bytes:
    pieces: list[bytes] = []
    position = 0
    for start, end, new in edits:
        pieces += (body[position:start], new)
        position = end
    pieces.append(body[position:])
    return b"".join(pieces)


# --- chunks and headers


def _moved(chunks: Iterable[Chunk], length: int, edits: Sequence[_ByteEdit]) -> tuple[Chunk, ...]:
    """The chunks of a body of some length after edits."""
    chunks = tuple(chunks)
    if not chunks:
        return ()
    starts = [edit.start for edit in edits]
    growth = [0, *accumulate(len(edit.new) - (edit.end - edit.start) for edit in edits)]
    inside: dict[int, set[int]] = {}
    for chunk in chunks:
        number = bisect_left(starts, chunk.end) - 1
        if number >= 0 and chunk.end < edits[number].end:
            inside.setdefault(number, set()).add(chunk.end)
    places: dict[int, int] = {}
    for number, ends in inside.items():
        start, end, new = edits[number]
        rising = sorted(ends)
        cuts = _spread([cut - start for cut in rising], end - start, len(new), low=1, high=len(new) - 1)
        places.update((old, start + growth[number] + cut) for old, cut in zip(rising, cuts, strict=True))
    result: list[Chunk] = []
    for chunk in chunks:
        old = min(chunk.end, length)
        place = places.get(old)
        if place is None:
            place = old + growth[bisect_left(starts, old)]
        result.append(Chunk(place, chunk.time))
    return tuple(result)


def _decoded_chunks(response: Response, length: int) -> tuple[Chunk, ...]:
    """The chunks of a compressed body as chunks of the decoded one: what each brought could then be read."""
    if not response.chunks:
        return ()
    ends = _decoded_ends(response)
    if ends is None or ends[-1] != length:
        total = max(len(response.body), 1)
        ends = [min(chunk.end, total) * length // total for chunk in response.chunks]
    result: list[Chunk] = []
    for end, chunk in zip(ends, response.chunks, strict=True):
        if end > (result[-1].end if result else 0):
            result.append(Chunk(end, chunk.time))
    return tuple(result)


def _decoded_ends(response: Response) -> list[int] | None:
    """How many decoded bytes there were after each chunk, or None where the bytes cannot be read piece by piece."""
    for bits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):  # gzip or zlib by their headers, and deflate without
        decoder = zlib.decompressobj(bits)
        ends: list[int] = []
        start = read = 0
        try:
            for chunk in response.chunks:
                read += len(decoder.decompress(response.body[start : chunk.end]))
                start = chunk.end
                ends.append(read)
        except zlib.error:
            continue
        return ends
    return None


def _headers_for(headers: Headers, length: int, *, encoded: bool) -> Headers:
    result: list[tuple[str, str]] = []
    for name, value in headers:
        key = name.lower()
        if key == "content-encoding" and encoded:
            continue
        result.append((name, str(length) if key == "content-length" else value))
    return tuple(result)
