"""What the messages of a conversation cost: one after the other, but parallel calls with their results as one.

A *unit* is a message, or an assistant message with the results that follow it. A unit's cost depends on nothing
outside it, which is why a growing conversation needs only its new units counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.measure import render
from harness.measure.encodings import O200K, Encoding, encoding
from harness.measure.schema import as_json
from harness.wire.chat import arguments_text

SYSTEM_ROLES = frozenset({"system", "developer"})
RESULT_ROLES = frozenset({"tool", "function"})
_OVERHEAD = 3
_MEDIA = {
    "image_url": "image",
    "input_image": "image",
    "image": "image",
    "input_audio": "audio",
    "audio": "audio",
    "file": "file",
    "input_file": "file",
    "document": "file",
    "video_url": "video",
}


@dataclass(slots=True)
class Unit:
    """Messages that are counted together; ``tokens`` has one figure for each of them."""

    start: int
    roles: list[str]
    tokens: list[int]
    reasons: list[str] = field(default_factory=list)
    not_counted: list[str] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The index behind the last message."""
        return self.start + len(self.roles)


def units(messages: Sequence[object], start: int, table: Encoding) -> Iterator[Unit]:
    """The units of a conversation from a message on, in order."""
    while start < len(messages):
        unit = _unit(messages, start, table)
        yield unit
        start = unit.end


def _unit(messages: Sequence[object], start: int, table: Encoding) -> Unit:
    message = messages[start]
    if not isinstance(message, Mapping):
        return Unit(start, [""], [0], ["a message that is no object"])
    end = start + 1
    counter = _UnitCounter(table, Unit(start, [role_of(message)], []))
    calls = list(counter.calls(message))
    if calls:
        while end < len(messages) and role_of(messages[end]) in RESULT_ROLES:
            counter.unit.roles.append(role_of(messages[end]))
            end += 1
    counter.count(message, calls, messages[start + 1 : end])
    return counter.unit


@dataclass(frozen=True, slots=True)
class _Call:
    id: object
    name: str
    arguments: str


class _UnitCounter:
    def __init__(self, table: Encoding, unit: Unit) -> None:
        self._n = table.count
        self.unit = unit

    def calls(self, message: Mapping[str, Any]) -> Iterator[_Call]:
        entries = message.get("tool_calls")
        for entry in entries if isinstance(entries, list) else ():
            called = entry.get("function") if isinstance(entry, Mapping) else None
            if isinstance(called, Mapping):
                yield self._call(entry.get("id"), called)
            else:
                self._note("a call that calls no function")
                yield _Call(None, "", as_json(entry))
        legacy = message.get("function_call")
        if not entries and isinstance(legacy, Mapping):
            self._note("a legacy function_call")
            yield self._call(None, legacy)

    def _call(self, identity: object, called: Mapping[str, Any]) -> _Call:
        name = called.get("name")
        text, oddity = arguments_text(called.get("arguments"))
        if oddity:
            self._note("arguments that are no text")
        if render.compact_arguments(text) is None:
            self._note("arguments that are no JSON")
        elif not text.isascii() or "\\u" in text:
            self._note("arguments beyond ASCII")
        return _Call(identity, name if isinstance(name, str) else "", text)

    def count(self, message: Mapping[str, Any], calls: list[_Call], results: Sequence[object]) -> None:
        tokens = self.unit.tokens
        text = self.text_of(message, self.unit.start)
        if not calls:
            tokens.append(self._plain(message, text))
            return
        beside = self._plain(message, text) if text else self._reasoning(message)
        if text:
            self._note("text beside a call")
        bodies = [
            self.text_of(result, index)
            for index, result in enumerate(results, self.unit.start + 1)
            if isinstance(result, Mapping)
        ]
        if len(calls) == 1:
            call = calls[0]
            arguments = render.compact_arguments(call.arguments)
            written = call.arguments if arguments is None else arguments
            tokens.append(beside + _OVERHEAD + self._n(f"assistant to=functions.{call.name}") + 2 + self._n(written))
            tokens += [_OVERHEAD + 1 + self._n(call.name) + self._n(body) for body in bodies]
            if len(bodies) != 1 and bodies:
                self._note("several results of one call")
            return
        written = render.render_parallel_calls([(call.name, call.arguments) for call in calls])
        tokens.append(beside + _OVERHEAD + self._n(f"assistant to={render.PARALLEL}") + 3 + self._n(written))
        if bodies:
            if len(bodies) != len(calls):
                self._note("parallel calls without all their results")
            whole = _OVERHEAD + self._n(render.PARALLEL) + self._n(render.render_parallel_results(bodies))
            tokens += _shares(whole, [self._n(render.render_parallel_result(body)) for body in bodies])

    def _plain(self, message: Mapping[str, Any], text: str) -> int:
        role = self.unit.roles[0]
        cost = _OVERHEAD + self._n(role) + self._n(text)
        name = message.get("name")
        if role in RESULT_ROLES:
            self._note("a result without its call")
        elif isinstance(name, str) and name:
            self._note("a message with a name")
            cost += 1 + self._n(name)
        if not role:
            self._note("a message without a role")
        return cost + self._reasoning(message)

    def _reasoning(self, message: Mapping[str, Any]) -> int:
        """Reasoning sent back costs tokens at the providers that have it; OpenAI's chat API does not take it."""
        texts = [message.get(key) for key in ("reasoning_content", "reasoning")]
        text = next((text for text in texts if isinstance(text, str) and text), "")
        if text:
            self._note("reasoning sent back")
        return self._n(text)

    def text_of(self, message: Mapping[str, Any], index: int) -> str:
        """The text that is counted: content parts joined with nothing between (rule 2)."""
        content = message.get("content")
        if content is None or isinstance(content, str):
            return self._refusal(message) + (content or "")
        if not isinstance(content, list):
            self._note("content that is neither text nor parts")
            return as_json(content)
        return "".join(self._part(part, index) for part in content)

    def _refusal(self, message: Mapping[str, Any]) -> str:
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._note("a refusal")
            return refusal
        return ""

    def _part(self, part: object, index: int) -> str:
        if isinstance(part, str):
            self._note("content parts that are plain strings")
            return part
        if not isinstance(part, Mapping):
            self._note("a content part that is no object")
            return ""
        kind = part.get("type")
        text = part.get("text")
        if isinstance(kind, str) and kind in _MEDIA:
            self.unit.not_counted.append(f"messages[{index}]: {_MEDIA[kind]}")
            self._note(f"{_MEDIA[kind]} not counted")
            return ""
        if isinstance(text, str):
            if kind != "text":
                self._note(f"content part of type {kind}")
            return text
        self._note(f"content part of type {kind}")
        return ""

    def _note(self, what: str) -> None:
        if what not in self.unit.reasons:
            self.unit.reasons.append(what)


def content_text(message: object) -> str:
    """The text of a message's content as it is counted."""
    if not isinstance(message, Mapping):
        return ""
    return _UnitCounter(encoding(O200K), Unit(0, [], [])).text_of(message, 0)


def role_of(message: object) -> str:
    """The role of a message, "" without one."""
    role = message.get("role") if isinstance(message, Mapping) else None
    return role if isinstance(role, str) else ""


def _shares(whole: int, weights: list[int]) -> list[int]:
    """A whole number cut in proportion to weights, its parts whole again and their sum kept."""
    total = sum(weights) or 1
    shares: list[int] = []
    passed = given = 0
    for weight in weights:
        passed += weight
        share = whole * passed // total - given
        shares.append(share)
        given += share
    if shares:
        shares[-1] += whole - given
    return shares
