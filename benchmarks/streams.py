"""A call of 20,000 argument deltas, from bytes to tool call: this package beside openai-python.

``python benchmarks/streams.py`` prints a Markdown table and takes about half a minute. Each side gets the same bytes in
the same network reads, without a network. openai reads them with ``create(stream=True)``, the fragments joined, and
with its ``stream()`` helper; here they are assembled only, or with all layers kept (reads, events, deltas, message).
A second table shows streams that do not conform, at half and at full size. The ratios count, the times depend on the
machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import httpx2
import openai
from timing import best

from harness.play.client import openai_client
from harness.wire.chat import ModelTurn
from harness.wire.deltas import DeltaAssembler, parse_stream
from harness.wire.exchange import Chunk
from harness.wire.layers import StreamLayers, read_layers
from harness.wire.sse import SSEParser

DELTAS = 20_000
READ = 1440
TEXT = json.dumps({"path": "a.txt", "content": "xy " * DELTAS})[: DELTAS * 3 - 2] + '"}'
PIECES = [TEXT[at : at + 3] for at in range(0, len(TEXT), 3)]


def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764000000, "model": "bench-1"}
    return b"data: " + json.dumps({**head, "choices": [choice]}, separators=(",", ":")).encode() + b"\n\n"


def part(arguments: str, index: int | None = 0, **more: Any) -> bytes:
    entry = {"index": index, **more, "function": {**more.get("function", {}), "arguments": arguments}}
    return event({"tool_calls": [{key: value for key, value in entry.items() if value is not None}]})


def conforming() -> list[bytes]:
    opening = part("", id="call_1", type="function", function={"name": "write"})
    return [opening, *map(part, PIECES), event({}, "tool_calls"), b"data: [DONE]\n\n"]


# --- the sides


def assembled(reads: Sequence[bytes]) -> ModelTurn:
    parser, assembler = SSEParser(), DeltaAssembler()
    for read in reads:
        assembler.feed_events(parser.feed(read))
    assembler.feed_events(parser.close())
    return assembler.finish()


def with_layers(reads: Sequence[bytes]) -> StreamLayers:
    end, chunks = 0, []
    for read in reads:
        end += len(read)
        chunks.append(Chunk(end, 0.0))
    return read_layers(b"".join(reads), chunks)


class Reads(httpx2.BaseTransport):
    """Answers with the reads as they are."""

    def __init__(self, reads: Sequence[bytes]) -> None:
        self._reads = reads

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:  # noqa: ARG002
        """The same answer to everything."""
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Stream(self._reads))


class _Stream(httpx2.SyncByteStream):
    def __init__(self, reads: Sequence[bytes]) -> None:
        self._reads = reads

    def __iter__(self) -> Iterator[bytes]:
        yield from self._reads


def openai_create(reads: Sequence[bytes]) -> str:
    found: list[str] = []
    with openai_client(Reads(reads)) as client:
        for chunk in client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "go"}], stream=True
        ):
            for call in chunk.choices[0].delta.tool_calls or ():
                found.append(call.function.arguments or "" if call.function else "")  # noqa: PERF401  as people write it
    return "".join(found)


def openai_helper(reads: Sequence[bytes]) -> str:
    with (
        openai_client(Reads(reads)) as client,
        client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "go"}]) as stream,
    ):
        calls = stream.get_final_completion().choices[0].message.tool_calls
    assert calls
    return calls[0].function.arguments


# --- the tables


def conforming_table() -> None:
    events = conforming()
    body = b"".join(events)
    print("| network reads | way | time | openai `create` / here | openai `stream()` / here |")
    print("|---|---|---|---|---|")
    for name, reads in (
        ("an event each", events),
        (f"{READ} bytes each", [body[at : at + READ] for at in range(0, len(body), READ)]),
    ):
        assert openai_create(reads) == openai_helper(reads) == assembled(reads).tool_calls[0].arguments == TEXT
        create = best(partial(openai_create, reads), 3)
        helper = best(partial(openai_helper, reads), 2)
        print(f"| {name} | openai `create(stream=True)` and a join | {create * 1e3:,.0f} ms | | |")
        print(f"| {name} | openai `stream()` | {helper * 1e3:,.0f} ms | | |", flush=True)
        for way, run in (("here, assembling only", assembled), ("here, all layers kept", with_layers)):
            taken = best(partial(run, reads), 7)
            print(
                f"| {name} | {way} | {taken * 1e3:,.0f} ms | {create / taken:.0f} | {helper / taken:.0f} |", flush=True
            )


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "a new id on each delta of one call": lambda n: part("{},", id=f"c{n}") if n else part('{"a":[', id="c"),
    "a new call on each delta, all with index 0": lambda n: part("{}", id=f"c{n}", function={"name": "f"}),
    "a new call on each delta, without an index": lambda n: part("{}", None, id=f"c{n}", function={"name": "f"}),
    "a new index on each delta, whole orphans": lambda n: part("{}", n),
    "a new index on each delta, open orphans": lambda n: part("{", n),
    "arguments that are never JSON": lambda n: part("{},{}" if n else '{"a":['),
}


def hostile_table() -> None:
    print(f"\n| stream of {DELTAS:,} deltas | half | whole | whole / half |")
    print("|---|---|---|---|")
    for name, make in HOSTILE.items():
        bodies = [b"".join([*map(make, range(size)), event({}, "tool_calls")]) for size in (DELTAS // 2, DELTAS)]
        half, whole = (best(partial(parse_stream, body), 3) for body in bodies)
        print(f"| {name} | {half * 1e3:,.0f} ms | {whole * 1e3:,.0f} ms | {whole / half:.1f} |", flush=True)


def main() -> None:
    print(f"openai {openai.__version__}, {len(PIECES):,} argument deltas, {len(b''.join(conforming())):,} bytes\n")
    conforming_table()
    hostile_table()


if __name__ == "__main__":
    main()
