"""Secrets in a stream of server-sent events, also where one is spread over many events.

What belongs together is put together first: every text under a ``delta`` (Chat Completions, Anthropic Messages, OpenAI
Responses), the ``text`` of a legacy completion, the parts of a Gemini candidate; one text per place, the ``index`` of
choices, calls and blocks telling places apart. A placeholder stands where the secret began; the fragments that held the
rest of it keep what was theirs. All other bytes, line ends and comments included, stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from harness.wire.half_pairs import dumps, loads
from harness.wire.secrets.finder import Secret
from harness.wire.secrets.json_text import Path, Value, raw_offsets, unescaped, values
from harness.wire.secrets.shapes import key_strength
from harness.wire.sse import SSEEvent, SSEParser

Find = Callable[[str], list[Secret]]
Name = Callable[[Secret], str]

_ENCODING = ("utf-8", "surrogateescape")
_SHORTEST = 4  # nothing that short is a secret, and there is one such text between any two events
# Names of fields that are no running text, and so never a part of one.
_LABELS = frozenset({"id", "type", "role", "object", "model", "format", "status"})
_EVENT_KEYS = ("type", "index", "item_id", "output_index", "content_index", "summary_index")


class Edit(NamedTuple):
    """Bytes to put in place of others."""

    start: int
    end: int
    new: bytes


class Found(NamedTuple):
    """A secret and the offset in the body at which it begins."""

    secret: Secret
    at: int


@dataclass(slots=True)
class _Event:
    """An event whose data is a JSON object: its text, its place in the body, and what is to be changed in it."""

    text: str
    start: int
    end: int
    document: dict[str, Any]
    changed: dict[Path, str] = field(default_factory=dict)


class _Fragment(NamedTuple):
    event: int
    path: Path
    text: str


def stream_edits(body: bytes, find: Find, name: Name) -> tuple[list[Edit], list[Found]]:
    """What to change so that no secret is left, and the secrets; ``name`` gives the placeholder of one."""
    events = list(_json_events(body))
    found: list[Found] = []
    parts: dict[tuple[object, ...], list[_Fragment]] = defaultdict(list)
    for number, event in enumerate(events):
        for path, channel, text in _running_texts(event.document):
            parts[channel].append(_Fragment(number, path, text))
    for fragments in parts.values():
        found += _in_fragments(fragments, events, find, name)
    running: list[set[Path]] = [set() for _ in events]
    for fragments in parts.values():
        for fragment in fragments:
            running[fragment.event].add(fragment.path)
    edits: list[Edit] = []
    last = 0  # between the events stand comments, names of events, data that is no JSON
    for event, paths in zip(events, running, strict=True):
        edits += text_edits(body[last : event.start], last, find, name, found)
        edits += _event_edits(event, paths, find, name, found)
        last = event.end
    edits += text_edits(body[last:], last, find, name, found)
    return edits, found


def _json_events(body: bytes) -> Iterator[_Event]:
    parser = SSEParser()
    for event in (*parser.feed(body), *parser.close()):
        start = _data_start(body, event)
        if start is None:
            continue
        try:
            document = loads(event.data)
        except orjson.JSONDecodeError:
            continue
        if isinstance(document, dict):
            yield _Event(event.data.decode(), start, start + len(event.data), document)


def _data_start(body: bytes, event: SSEEvent) -> int | None:
    """Where the data stands in the body; None where it is put together from several lines."""
    at = body.find(event.data, event.start, event.end) if event.data else -1
    return at if at >= 0 else None


def _running_texts(document: dict[str, Any]) -> Iterator[tuple[Path, tuple[object, ...], str]]:
    """The strings of an event that go on in other events: their path, what they are part of, and the text."""
    marks = tuple(document.get(key) if isinstance(document.get(key), str | int) else None for key in _EVENT_KEYS)
    for path, place, text in _strings(document):
        if path[-1] in _LABELS or (isinstance(path[-1], str) and key_strength(path[-1])):
            continue  # what stands under a secret's name is one, whatever comes in other events
        steps = [step for step in path if isinstance(step, str)]
        if "delta" in steps or steps in (["choices", "text"], ["candidates", "content", "parts", "text"]):
            yield path, (marks, place), text


def _strings(document: dict[str, Any]) -> Iterator[tuple[Path, tuple[object, ...], str]]:
    """Every string with its path, and the place that it shares with its continuation in other events."""
    waiting: list[tuple[object, Path, tuple[object, ...]]] = [(document, (), ())]
    while waiting:
        value, path, place = waiting.pop()
        if isinstance(value, str):
            yield path, place, value
        elif isinstance(value, dict):
            waiting += [(part, (*path, key), (*place, key)) for key, part in reversed(value.items())]
        elif isinstance(value, list):
            for number in reversed(range(len(value))):
                part = value[number]
                index = part.get("index") if isinstance(part, dict) else None
                waiting.append((part, (*path, number), (*place, index if isinstance(index, int) else number)))


def _in_fragments(fragments: list[_Fragment], events: list[_Event], find: Find, name: Name) -> Iterator[Found]:
    joined = "".join(fragment.text for fragment in fragments)
    secrets = find(joined)
    if not secrets:
        return
    names = [name(secret) for secret in secrets]
    offset = first = 0
    for fragment in fragments:
        begin, end = offset, offset + len(fragment.text)
        offset = end
        while first < len(secrets) and secrets[first].end <= begin:
            first += 1
        new: list[str] = []
        position = begin
        for number in range(first, len(secrets)):
            secret = secrets[number]
            if secret.start >= end:
                break
            if secret.start >= begin:
                new.append(joined[position : secret.start] + names[number])
                yield Found(secret, events[fragment.event].start)
            position = min(secret.end, end)
        if position > begin or new:
            events[fragment.event].changed[fragment.path] = "".join(new) + joined[position:end]


def _event_edits(event: _Event, running: set[Path], find: Find, name: Name, found: list[Found]) -> Iterator[Edit]:
    alone = find(event.text)
    if not alone and not event.changed:
        return
    places = {value.path: value for value in values(event.text)}
    pieces: list[tuple[int, int, str]] = []
    for path, text in event.changed.items():
        if value := places.get(path):
            raw = event.text[value.start + 1 : value.end - 1]
            pieces.append((value.start + 1, value.end - 1, _escaped_like(raw, text)))
    if event.changed:
        pieces += [(*places[path][1:], "null") for path in _logprobs(event, places)]
    taken = [(start, end) for start, end, _ in pieces] + [places[path][1:] for path in running if path in places]
    for secret in alone:
        if not any(start < secret.end and secret.start < end for start, end in taken):
            pieces.append((secret.start, secret.end, name(secret)))
            found.append(Found(secret, event.start + len(event.text[: secret.start].encode())))
    position = offset = 0
    for start, end, new in sorted(pieces):
        offset += len(event.text[position:start].encode())
        size = len(event.text[start:end].encode())
        yield Edit(event.start + offset, event.start + offset + size, new.encode(*_ENCODING))
        offset += size
        position = end


def _logprobs(event: _Event, places: dict[Path, Value]) -> list[Path]:
    """The log probabilities beside a changed text spell it out, token by token and byte by byte."""
    choices = {path[:2] for path in event.changed if path[:1] == ("choices",)}
    return [path for choice in choices if (path := (*choice, "logprobs")) in places]


def _escaped_like(raw: str, text: str) -> str:
    """``text`` as the inside of a literal, what it shares with ``raw`` at either end spelt as it was."""
    before = unescaped(raw)
    size = min(len(before), len(text))
    head = next((at for at in range(size) if before[at] != text[at]), size)
    tail = next((at for at in range(size - head) if before[-1 - at] != text[-1 - at]), size - head)
    first, last = raw_offsets(raw, [head, len(before) - tail])
    middle = dumps(text[head : len(text) - tail]).decode()[1:-1]
    return raw[:first] + middle + raw[last:]


def text_edits(part: bytes, start: int, find: Find, name: Name, found: list[Found]) -> Iterator[Edit]:
    """The edits of a text that stands in a body at ``start``."""
    if len(part) < _SHORTEST:
        return
    text = part.decode(*_ENCODING)
    position = offset = 0
    for secret in find(text):
        offset += len(text[position : secret.start].encode(*_ENCODING))
        size = len(text[secret.start : secret.end].encode(*_ENCODING))
        found.append(Found(secret, start + offset))
        yield Edit(start + offset, start + offset + size, name(secret).encode())
        offset += size
        position = secret.end
