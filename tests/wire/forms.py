"""One answer in other forms: as a plain completion, and its stream in other network reads."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import orjson

from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.deltas import DeltaAssembler
from harness.wire.sse import SSEParser

Sent = tuple[str | None, str | None, str]


def plain_form(turn: ModelTurn) -> ModelTurn:
    """The same answer, not streamed."""
    choice = {"index": 0, "message": turn.message, "finish_reason": turn.finish_reason}
    document = {"id": turn.response_id, "model": turn.model, "choices": [choice], "usage": turn.usage}
    if turn.error is not None:
        document["error"] = turn.error
    return parse_completion(orjson.dumps(document))


def rechunked(body: bytes, cuts: Iterable[int]) -> ModelTurn:
    """The turn of a stream that is read in the pieces between ``cuts``, which ascend."""
    parser, assembler = SSEParser(), DeltaAssembler()
    for start, end in pairwise([0, *cuts, len(body)]):
        assembler.feed_events(parser.feed(body[start:end]))
    assembler.feed_events(parser.close())
    return assembler.finish()


def naive_calls(body: bytes) -> list[Sent]:
    """Calls by the protocol's letter: grouped by index, fragments added up. Right for streams that conform."""
    ids: dict[int, str] = {}
    names: dict[int, str] = {}
    texts: dict[int, str] = {}
    for line in body.replace(b"\r\n", b"\n").split(b"\n"):
        if not line.startswith(b"data:") or line.removeprefix(b"data:").strip() in (b"[DONE]", b""):
            continue
        for choice in orjson.loads(line.removeprefix(b"data:")).get("choices") or ():
            for part in choice["delta"].get("tool_calls") or ():
                index, function = part.get("index", len(ids)), part["function"]
                ids.setdefault(index, part.get("id") or "")
                if function.get("name"):
                    names[index] = function["name"]
                texts[index] = texts.get(index, "") + (function.get("arguments") or "")
    return [(call_id, names.get(index), texts[index]) for index, call_id in ids.items()]
