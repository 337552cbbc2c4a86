"""The usage that a provider reported, as it was given: what is missing stays missing, nothing is added twice.

Field names differ between providers; the places read are those of recorded answers (Chat Completions' details,
DeepSeek's ``prompt_cache_hit_tokens``, Anthropic's ``input_tokens`` behind some gateways, Groq's ``x_groq``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from harness.wire.exchange import Exchange, decoded
from harness.wire.half_pairs import loads
from harness.wire.sse import SSEParser


@dataclass(frozen=True, slots=True)
class RecordedUsage:
    """Tokens as reported, each None where it was not.

    ``cached`` are part of ``prompt``; ``reasoning`` are part of ``completion`` unless ``reasoning_apart`` (the total
    given says so). ``unexplained`` is what a total has beyond everything named.
    """

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    reasoning_apart: bool = False

    @property
    def output(self) -> int | None:
        """All tokens that the model wrote, its reasoning once."""
        if self.completion is None:
            return None
        return self.completion + (self.reasoning or 0) if self.reasoning_apart else self.completion

    @property
    def unexplained(self) -> int | None:
        """What the total has beyond prompt and output, None where one of them is missing."""
        if self.total is None or self.prompt is None or self.output is None:
            return None
        return self.total - self.prompt - self.output

    @property
    def is_empty(self) -> bool:
        """Whether nothing was reported."""
        return self == _NOTHING

    @classmethod
    def of(cls, usage: Mapping[str, Any] | None) -> RecordedUsage:
        """Read a usage object as a provider sent it."""
        if not isinstance(usage, Mapping):
            return _NOTHING
        prompt = _first(usage, "prompt_tokens", "input_tokens")
        completion = _first(usage, "completion_tokens", "output_tokens")
        total = _first(usage, "total_tokens")
        reasoning = _first(
            usage, "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens"
        )
        # Some providers report reasoning beside the completion; only the total tells (I05).
        apart = bool(
            reasoning
            and None not in {prompt, completion, total}
            and (prompt or 0) + (completion or 0) + reasoning == total
        )
        return cls(
            prompt=prompt,
            completion=completion,
            total=total,
            cached=_first(
                usage,
                "prompt_tokens_details.cached_tokens",
                "input_tokens_details.cached_tokens",
                "prompt_cache_hit_tokens",
                "num_cached_tokens",
                "cache_read_input_tokens",
                "cached_tokens",
            ),
            reasoning=reasoning if reasoning is not None else _first(usage, "reasoning_tokens"),
            reasoning_apart=apart,
        )


_NOTHING = RecordedUsage()


def recorded_usage(exchange: Exchange) -> RecordedUsage:
    """What the answer of an exchange reports, empty where it reports nothing.

    Usage in several chunks is a running total: the later value of a field counts, never the sum (I02). Usage is also
    read beside a choice and under ``x_groq``.
    """
    return usage_of_body(decoded_body(exchange), streamed=exchange.response.streamed)


def usage_of_body(body: bytes, *, streamed: bool) -> RecordedUsage:
    """As `recorded_usage`, from the bytes of an answer."""
    merged: dict[str, Any] = {}
    for document in _documents(body, streamed=streamed):
        for usage in _usages(document):
            merged.update({key: value for key, value in usage.items() if value is not None})
    return RecordedUsage.of(merged)


def decoded_body(exchange: Exchange) -> bytes:
    """The body of the answer, nothing where it is damaged."""
    try:
        return decoded(exchange.response.body, exchange.response.headers)
    except ValueError:
        return b""


def _documents(body: bytes, *, streamed: bool) -> Iterator[Mapping[str, Any]]:
    if streamed:
        parser = SSEParser()
        texts = [event.data for event in (*parser.feed(body), *parser.close()) if b'"usage"' in event.data]
    else:
        texts = [body]
    for text in texts:
        try:
            document = loads(text)
        except orjson.JSONDecodeError:
            continue
        if isinstance(document, dict):
            yield document


def _usages(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The usage objects of an answer or chunk, the one at its usual place last, so that it wins."""
    choices = document.get("choices")
    for holder in (*(choices if isinstance(choices, list) else ()), document.get("x_groq"), document):
        usage = holder.get("usage") if isinstance(holder, Mapping) else None
        if isinstance(usage, Mapping):
            yield usage


def _first(usage: Mapping[str, Any], *places: str) -> int | None:
    for place in places:
        value: Any = usage
        for key in place.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if isinstance(value, float) and math.isfinite(value) and value.is_integer() and value >= 0:
            return int(value)
    return None
