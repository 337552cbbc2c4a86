"""A miss explained: what differs from the nearest recorded request, where, the cause in words, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.cassette.canonical import CLASSES, Canonicalizer, CanonicalRequest, class_of_key, numbered
from harness.cassette.cassette import Cassette
from harness.cassette.differences import ABSENT, Difference, differing_words, first_difference
from harness.cassette.drift import Drift, DriftClass
from harness.cassette.tool_changes import ToolChange, tool_change
from harness.cassette.volatile import MARK, Value
from harness.wire.exchange import Request
from harness.wire.half_pairs import dumps

NO_ANSWER = "no recorded answer in"
HOW_TO_RECORD = "if the change is meant, record the session again (harness record)"
_MOST_LINES = 8
_SHORT = 60
_LINE_WIDTH = 160
_SHOWN_MARK = re.compile(f"{MARK}([a-z]+){MARK}")


@dataclass(frozen=True, slots=True)
class RequestDifference:
    """One difference of two requests: its class, path and cause, and the two values where there are any."""

    drift: Drift
    difference: Difference | None = None

    def shortly(self) -> str:
        """Old and new value within a line, cut to what differs; empty where the cause says it all."""
        found = self.difference
        if found is None or (isinstance(found, ToolChange) and found.path.endswith("]")):
            return ""
        old, new = found.old, found.new
        if isinstance(old, str) and isinstance(new, str):
            old, new = (text or ABSENT for text in differing_words(old, new))
        if old is ABSENT and new is ABSENT:
            return "only white space differs"
        if old is ABSENT or new is ABSENT:
            return f"{_cut(new)} is new" if old is ABSENT else f"{_cut(old)} is gone"
        return f"{_cut(old)} is now {_cut(new)}"

    def lines(self) -> list[str]:
        """The two values for a person: a text of several lines as a diff, anything else side by side."""
        if self.difference is None:
            return []
        old, new = self.difference.old, self.difference.new
        if isinstance(old, str) and isinstance(new, str) and ("\n" in old or "\n" in new):
            return _diff(_readable(old), _readable(new))
        before, after = self.difference.shown()
        return [f"recorded: {_readable(before)}", f"now:      {_readable(after)}"]


@dataclass(frozen=True, slots=True)
class Miss:
    """A request without an answer. ``differences`` is empty where the request itself was recorded, or nothing like it.

    ``text`` says what, where and why in its first line; indented lines give the details.
    """

    text: str
    nearest: int | None = None
    differences: tuple[RequestDifference, ...] = ()

    @classmethod
    def repeated(cls, cassette: Cassette, request: Request, equal: Sequence[int]) -> Miss:
        """The request was recorded, and has been played as often as it was."""
        places = ", ".join(str(position + 1) for position in equal)
        times = "once" if len(equal) == 1 else f"{len(equal)} times"
        text = (
            f"{_head(cassette, request)}: this request was recorded {times} (exchange {places}) and has been played "
            f"as often\n  {HOW_TO_RECORD}"
        )
        return cls(text, equal[-1])

    @classmethod
    def unknown(cls, cassette: Cassette, request: Request) -> Miss:
        """The cassette has nothing of the request's kind."""
        kind = "chat exchanges" if request.is_chat else "exchanges with this path"
        count = len(cassette.exchanges)
        return cls(f"{_head(cassette, request)}: the cassette has no {kind} ({count} in all)\n  {HOW_TO_RECORD}")


@dataclass(frozen=True, slots=True)
class BodyPair:
    """The recorded and the present request, each with the canonicalizer of its side."""

    recorded_canonicalizer: Canonicalizer
    recorded: Request
    present_canonicalizer: Canonicalizer
    present: Request


def explained(cassette: Cassette, request: Request, position: int, differences: Sequence[RequestDifference]) -> Miss:
    """The miss of a request whose nearest exchange is at ``position``."""
    place = f"exchange {position + 1} of {len(cassette.exchanges)}"
    if not differences:
        text = f"{_head(cassette, request)}: the nearest is {place}, its body or method differs\n  {HOW_TO_RECORD}"
        return Miss(text, position)
    first, *others = differences
    values = f": {shortly}" if (shortly := first.shortly()) else ""
    lines = [
        f"{first.drift.why} ({first.drift.kind} at {first.drift.path}, {place}){values}; {_head(cassette, request)}",
        *(f"  {line}" for line in first.lines()),
        *(f"  also: {other.drift.why} ({other.drift.kind} at {other.drift.path})" for other in others),
        f"  {HOW_TO_RECORD}",
    ]
    return Miss("\n".join(lines), position, tuple(differences))


def request_differences(
    recorded: CanonicalRequest, asked: CanonicalRequest, bodies: BodyPair
) -> list[RequestDifference]:
    """What differs, the first difference of each class, in the order model, system, tools, parameters, history."""
    found: dict[DriftClass, RequestDifference] = {}
    for difference in (*_key_differences(recorded, asked, bodies), *_message_differences(recorded, asked, bodies)):
        found.setdefault(difference.drift.kind, difference)
    if not found and (unequal := _unequal_values(recorded, asked, bodies)) is not None:
        found[unequal.drift.kind] = unequal
    return [found[kind] for kind in CLASSES if kind in found]


def _key_differences(
    recorded: CanonicalRequest, asked: CanonicalRequest, bodies: BodyPair
) -> Iterator[RequestDifference]:
    for name in sorted(recorded.keys.keys() | asked.keys.keys()):
        old_part, new_part = recorded.keys.get(name), asked.keys.get(name)
        if old_part is not None and new_part is not None and old_part.digest == new_part.digest:
            continue
        old = _key_value(bodies.recorded_canonicalizer, bodies.recorded, name)
        new = _key_value(bodies.present_canonicalizer, bodies.present, name)
        yield _key_difference(name, old, new)


def _key_difference(name: str, old: object, new: object) -> RequestDifference:
    kind = class_of_key(name)
    difference = first_difference(old, new, f"$.{name}" if name else "$")
    path = difference.path if difference else f"$.{name}"
    if kind == "tools":
        changed = tool_change(old, new, name)
        if changed is not None:
            return RequestDifference(Drift(kind, changed.path, changed.why), changed)
    if not name:
        return RequestDifference(Drift(kind, "$", "the body changed"), difference)
    what = {"model": "the model", "system": "the system prompt"}.get(kind, f"the parameter {name}")
    if kind == "history":
        what = f"the {name}"
    verb = "is new" if old is ABSENT else "is gone" if new is ABSENT else "changed"
    return RequestDifference(Drift(kind, path, f"{what} {verb}"), difference)


def _message_differences(
    recorded: CanonicalRequest, asked: CanonicalRequest, bodies: BodyPair
) -> Iterator[RequestDifference]:
    old_messages, new_messages = _messages(bodies.recorded), _messages(bodies.present)
    pairs = zip(recorded.messages, asked.messages, strict=False)
    differing = [position for position, pair in enumerate(pairs) if pair[0].digest != pair[1].digest]
    if (moved := _moved(recorded, asked, differing)) is not None:
        was, now = (
            _described(old_messages[moved], old_messages, moved),
            _described(new_messages[moved], new_messages, moved),
        )
        yield RequestDifference(
            Drift("history", f"$.messages[{moved}]", f"the order changed: {now} stands where {was} was")
        )
        return
    for position in differing:
        old, _ = bodies.recorded_canonicalizer.value("message", old_messages[position])
        new, _ = bodies.present_canonicalizer.value("message", new_messages[position])
        difference = first_difference(old, new, f"$.messages[{position}]")
        system = position < max(recorded.system, asked.system)
        kind: DriftClass = "system" if system else "history"
        path = difference.path if difference else f"$.messages[{position}]"
        why = "the system prompt changed" if system else _message_change(old, new, path, old_messages, position)
        yield RequestDifference(Drift(kind, path, why), difference)
    shorter = min(len(recorded.messages), len(asked.messages))
    if len(recorded.messages) != len(asked.messages):
        longer, gone = (old_messages, True) if len(recorded.messages) > len(asked.messages) else (new_messages, False)
        what = _described(longer[shorter], longer, shorter)
        why = f"{what} is gone" if gone else f"{what} is new"
        yield RequestDifference(Drift("history", f"$.messages[{shorter}]", why))


def _moved(recorded: CanonicalRequest, asked: CanonicalRequest, differing: Sequence[int]) -> int | None:
    """The first of the messages that are all there, in another order; None where it is more than their order."""
    if not differing or len(recorded.messages) != len(asked.messages) or differing[0] < recorded.system:
        return None
    old = sorted(recorded.messages[position].digest for position in differing)
    new = sorted(asked.messages[position].digest for position in differing)
    return differing[0] if old == new else None


def _unequal_values(recorded: CanonicalRequest, asked: CanonicalRequest, bodies: BodyPair) -> RequestDifference | None:
    """Texts are alike but for volatile values, and those are not equal where they were, or the reverse."""
    old_parts, new_parts = list(recorded.parts()), list(asked.parts())
    old_numbers = numbered(part for _, _, part in old_parts)
    new_numbers = numbered(part for _, _, part in new_parts)
    for index, (kind, name, old_part) in enumerate(old_parts):
        new_part = new_parts[index][2]
        for place, (one, other) in enumerate(zip(old_numbers[index], new_numbers[index], strict=False)):
            if one == other:
                continue
            value = new_part.values[place]
            base = f"$.{name}" if name else f"$.messages[{index}]"
            raw = _raw(bodies.present, name, index)
            path = base + _place_of(value, raw)
            was = old_part.values[place].text
            why = (
                f"the {value.kind} {value.text!r} is no longer equal to the values it was equal to (recorded: {was!r})"
                if one < other
                else f"the {value.kind} {value.text!r} now equals an earlier value, which {was!r} did not"
            )
            return RequestDifference(Drift(kind, path, why))
    return None


def _message_change(old: object, new: object, path: str, messages: Sequence[Any], position: int) -> str:
    """What changed in a message, in words."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping) or old.get("role") != new.get("role"):
        return f"{_described(messages[position], messages, position)} became another message"
    role = old.get("role")
    if role in ("tool", "function"):
        if ".tool_call_id" in path:
            return f"{_described(messages[position], messages, position)} answers another call"
        return f"{_described(messages[position], messages, position)} changed"
    if ".tool_calls" in path:
        found = re.search(r"\.tool_calls\[(\d+)\]", path)
        calls = old.get("tool_calls")
        if found and isinstance(calls, list) and int(found[1]) < len(calls):
            name = calls[int(found[1])].get("function", {}).get("name")
            what = "arguments" if ".arguments" in path else "name" if path.endswith(".name") else "form"
            return f"the {what} of the call {int(found[1]) + 1} of {name} changed"
        return "the calls of the model changed"
    return f"{_described(messages[position], messages, position)} changed"


def _described(message: object, messages: Sequence[Any], position: int) -> str:
    if not isinstance(message, Mapping):
        return f"message {position + 1}"
    role = message.get("role")
    if role == "tool":
        name = _called(message.get("tool_call_id"), messages[:position])
        return f"the result of {name or message.get('tool_call_id')}"
    if role == "function":
        return f"the result of {message.get('name')}"
    number = sum(isinstance(other, Mapping) and other.get("role") == role for other in messages[: position + 1])
    return f"{role} message {number}"


def _called(call_id: object, messages: Sequence[Any]) -> str | None:
    for message in reversed(messages):
        calls = message.get("tool_calls") if isinstance(message, Mapping) else None
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping) and call.get("id") == call_id and isinstance(call.get("function"), Mapping):
                return str(call["function"].get("name"))
    return None


def _key_value(canonicalizer: Canonicalizer, request: Request, name: str) -> object:
    parts = request.parts()
    if parts is None:
        return request.body.decode("utf-8", "replace") if not name else ABSENT
    value = parts.tools if name == "tools" and parts.tools is not None else parts.rest.get(name, ABSENT)
    return ABSENT if value is ABSENT else canonicalizer.value(name, value)[0]


def _messages(request: Request) -> Sequence[Any]:
    parts = request.parts()
    return (parts.messages or ()) if parts is not None else ()


def _raw(request: Request, name: str, index: int) -> object:
    parts = request.parts()
    if parts is None:
        return None
    if not name:
        return (parts.messages or ())[index]
    return parts.tools if name == "tools" and parts.tools is not None else parts.rest.get(name)


def _place_of(value: Value, raw: object, path: str = "") -> str:
    """Where in a JSON value a text stands that holds the volatile value; empty where it is not found."""
    if isinstance(raw, str):
        return path if value.text in raw else ""
    items: Iterator[tuple[str, object]] = iter(())
    if isinstance(raw, Mapping):
        items = ((f".{key}", item) for key, item in raw.items())
    elif isinstance(raw, Sequence):
        items = ((f"[{number}]", item) for number, item in enumerate(raw))
    return next((found for step, item in items if (found := _place_of(value, item, path + step))), "")


def _cut(value: object) -> str:
    text = _readable(dumps(value).decode())
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"


def _head(cassette: Cassette, request: Request) -> str:
    return f"{NO_ANSWER} {cassette.path.name} for {request.method.upper()} {request.path}"


def _readable(text: str) -> str:
    return _SHOWN_MARK.sub(r"<\1>", text.replace("\\ue001", MARK))


def _diff(old: str, new: str) -> list[str]:
    lines = [
        line
        for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
        if not line.startswith(("---", "+++", "@@"))
    ]
    shown = [_clipped(line, _start(lines, number)) for number, line in enumerate(lines[:_MOST_LINES])]
    left_out = len(lines) - _MOST_LINES
    return [*shown, f"… {left_out} more lines"] if left_out > 0 else shown


def _start(lines: Sequence[str], number: int) -> int:
    """Where to begin showing a changed line: some way before it parts from the line it replaces."""
    line = lines[number]
    step = {"-": 1, "+": -1}.get(line[:1])
    other = number + step if step is not None else -1
    if not 0 <= other < len(lines) or {line[:1], lines[other][:1]} != {"-", "+"}:
        return 1
    pairs = zip(line[1:], lines[other][1:], strict=False)
    common = next((n for n, (one, two) in enumerate(pairs) if one != two), min(len(line), len(lines[other])) - 1)
    return 1 if common < _LINE_WIDTH // 2 else 1 + common - _LINE_WIDTH // 4


def _clipped(line: str, start: int) -> str:
    body = line[start : start + _LINE_WIDTH]
    return f"{line[:1]}{'…' if start > 1 else ''}{body}{'…' if len(line) > start + _LINE_WIDTH else ''}"
