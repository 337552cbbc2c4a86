"""What the lines of a file store once, and the requests that are put together from it when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.cassette.own.styles import render
from harness.wire.exchange import RequestParts

# A message by its number, or (exchange, from, to): those messages of an earlier exchange. All count from 1.
Reference = int | tuple[int, int, int]


class BrokenReferenceError(Exception):
    """A line refers to what no line before it stores; the text says to what."""


@dataclass(slots=True)
class Tables:
    """Messages, tools and parameters by their numbers (from 1), and the history of each exchange."""

    messages: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    _references: list[tuple[Reference, ...]] = field(default_factory=list)
    _lengths: list[int] = field(default_factory=list)
    _numbers: list[tuple[int, ...]] = field(default_factory=list)
    _rests: dict[tuple[int, bool, bool], dict[str, Any]] = field(default_factory=dict)

    def add_history(self, references: object) -> None:
        """The history of the next exchange as it stands in its line; raises BrokenReferenceError.

        Only counted here: it is written out when its exchange, or one that refers to it, is asked for.
        """
        if not isinstance(references, list):
            raise BrokenReferenceError("messages is not a list")
        checked: list[Reference] = []
        length = 0
        for reference in references:
            if type(reference) is int:
                if not 0 < reference <= len(self.messages):
                    raise BrokenReferenceError(f"there is no message {reference} before this line")
                length += 1
                checked.append(reference)
            else:
                exchange, first, last = self._slice(reference)
                length += last - first + 1
                checked.append((exchange, first, last))
        self._references.append(tuple(checked))
        self._lengths.append(length)

    def history(self, exchange: int) -> tuple[int, ...]:
        """The numbers of an exchange's messages; exchanges count from 1."""
        while len(self._numbers) < exchange:
            numbers: list[int] = []
            for reference in self._references[len(self._numbers)]:
                if isinstance(reference, int):
                    numbers.append(reference)
                else:
                    other, first, last = reference
                    numbers.extend(self._numbers[other - 1][first - 1 : last])
            self._numbers.append(tuple(numbers))
        return self._numbers[exchange - 1]

    def rest(self, parameters: int, *, messages: bool, tools: bool) -> dict[str, Any]:
        """Parameters without the places of the messages and tools that stand elsewhere; one object for each."""
        key = (parameters, messages, tools)
        if key not in self._rests:
            left_out = {name for name, elsewhere in (("messages", messages), ("tools", tools)) if elsewhere}
            body = self.parameters[parameters - 1]
            self._rests[key] = {name: value for name, value in body.items() if name not in left_out}
        return self._rests[key]

    def _slice(self, reference: object) -> tuple[int, int, int]:
        if isinstance(reference, list) and len(reference) == 3 and all(type(number) is int for number in reference):
            exchange, first, last = reference
            if 0 < exchange <= len(self._lengths) and 0 < first <= last <= self._lengths[exchange - 1]:
                return exchange, first, last
        raise BrokenReferenceError(f"{reference} are no messages of an exchange before this line")


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request body in parts (`harness.wire.exchange.RequestSource`)."""

    tables: Tables
    exchange: int
    parameters: int
    tools: int | None
    has_messages: bool
    style: str

    def body(self) -> bytes:
        """The body in the style of the client that sent it."""
        value = dict(self.tables.parameters[self.parameters - 1])
        parts = self.parts()
        if parts.messages is not None and self.has_messages:
            value["messages"] = parts.messages
        if self.tools is not None:
            value["tools"] = parts.tools
        return render(self.style, value)

    def parts(self) -> RequestParts:
        """Its parts; messages, tools and rest are one object for all requests that have them in common."""
        rest = self.tables.rest(self.parameters, messages=self.has_messages, tools=self.tools is not None)
        messages = self.tables.messages
        return RequestParts(
            rest,
            [messages[number - 1] for number in self.tables.history(self.exchange)] if self.has_messages else None,
            self.tables.tools[self.tools - 1] if self.tools is not None else None,
        )
