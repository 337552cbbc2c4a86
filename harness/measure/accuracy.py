"""The count beside the usage that OpenAI reported: how often it is exact, by what the requests exercise.

Held against distinct exchanges with api.openai.com of the models whose rules are known, with text only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import pydantic_ai
from harness.measure.encodings import encoding_for
from harness.measure.prompt import PromptCount, count_request
from harness.measure.usage import recorded_usage
from harness.wire.exchange import Exchange
from harness.wire.half_pairs import dumps

HOST = "api.openai.com"

# Recordings whose body was edited afterwards: the same completion stands elsewhere with another request.
EDITED = frozenset({"chatcmpl-DF6ZbNEBGpAO5IDzjMtxWMwH6MBv1"})

# Nothing else in a request changes its prompt; of these, `stream` and `n` are left out on purpose.
_PROMPT_KEYS = ("messages", "tools", "functions", "tool_choice", "function_call", "response_format", "reasoning_effort")


@dataclass(frozen=True, slots=True)
class Judged:
    """One exchange: its count and the prompt tokens recorded. ``half`` is that of its file, 0 or 1."""

    path: Path
    index: int
    half: int
    body: Mapping[str, Any]
    count: PromptCount
    recorded: int

    @property
    def off(self) -> int:
        """Counted less recorded."""
        return self.count.total - self.recorded


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the acceptance table; ``worst`` is in tokens, ``worst_share`` its part of the recorded tokens."""

    case: str
    exchanges: int
    exact: int
    within_two: int
    worst: int
    worst_share: float


def half_of(path: str) -> int:
    """Which half of the files a path falls in: rules are fitted on half 0 and judged on half 1."""
    return hashlib.sha256(path.encode()).digest()[0] & 1


def judge_cassettes(cassettes: Iterable[Cassette], root: Path) -> list[Judged]:
    """The distinct exchanges that can be judged, in order; paths are taken relative to ``root``."""
    seen: set[bytes] = set()
    judged: list[Judged] = []
    for cassette in cassettes:
        path = cassette.path.relative_to(root) if cassette.path.is_relative_to(root) else cassette.path
        for exchange in cassette.chat_exchanges:
            one = _judged(exchange, path, sorted_keys=cassette.dialect == pydantic_ai.NAME)
            if one is None:
                continue
            key = _key(one)
            if key not in seen:
                seen.add(key)
                judged.append(one)
    return judged


def _judged(exchange: Exchange, path: Path, *, sorted_keys: bool) -> Judged | None:
    if _host(exchange.request.url) != HOST or exchange.response.status != 200:
        return None
    try:
        body, turn = exchange.request.json(), exchange.turn()
    except ValueError:
        return None
    recorded = recorded_usage(exchange).prompt
    if not isinstance(body, dict) or recorded is None or turn.response_id in EDITED:
        return None
    # The body's name would do for all but aliases, and an answer's is the dated model that did the counting.
    model = turn.model or body.get("model")
    if not isinstance(model, str) or encoding_for(model).reason:
        return None
    count = count_request(body, model, sorted_keys=sorted_keys)
    if count.not_counted:
        return None
    return Judged(path, exchange.index, half_of(path.as_posix()), body, count, recorded)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _key(one: Judged) -> bytes:
    relevant = {key: one.body[key] for key in _PROMPT_KEYS if key in one.body}
    text = dumps([one.count.encoding, relevant, one.recorded], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).digest()


def _is_rich(value: object) -> bool:
    """Whether a schema has a title, a default or anyOf; a property of such a name is a schema and none of them."""
    if isinstance(value, Mapping):
        if any(key in value and not isinstance(value[key], Mapping) for key in ("title", "default", "anyOf")):
            return True
        return any(map(_is_rich, value.values()))
    return isinstance(value, list) and any(map(_is_rich, value))


def _tools(one: Judged) -> Sequence[object]:
    return [*(one.body.get("tools") or ()), *(one.body.get("functions") or ())]


def _calls(one: Judged) -> list[int]:
    messages = [message for message in one.body.get("messages") or () if isinstance(message, Mapping)]
    return [len(message.get("tool_calls") or ()) for message in messages]


CASES: Mapping[str, Callable[[Judged], bool]] = {
    "all": lambda _: True,
    "without tools, no estimate": lambda one: not _tools(one) and not one.count.estimate,
    "with tools, no estimate": lambda one: bool(_tools(one)) and not one.count.estimate,
    "estimates": lambda one: one.count.estimate,
    "case: tools offered": lambda one: bool(_tools(one)),
    "case: results of calls": lambda one: any(_calls(one)),
    "case: parallel calls": lambda one: any(calls > 1 for calls in _calls(one)),
    "case: response_format": lambda one: bool(one.body.get("response_format")),
    "case: title, default, anyOf": lambda one: _is_rich(_tools(one)),
    "half 0 of the files": lambda one: one.half == 0,
    "half 1 of the files": lambda one: one.half == 1,
}


def acceptance_table(judged: Sequence[Judged]) -> list[Row]:
    """The table, a row for each of `CASES`."""
    return [_row(case, [one for one in judged if belongs(one)]) for case, belongs in CASES.items()]


def _row(case: str, judged: Sequence[Judged]) -> Row:
    return Row(
        case=case,
        exchanges=len(judged),
        exact=sum(not one.off for one in judged),
        within_two=sum(abs(one.off) <= 2 for one in judged),
        worst=max((one.off for one in judged), key=abs, default=0),
        worst_share=max((abs(one.off) / max(one.recorded, 1) for one in judged), default=0.0),
    )
