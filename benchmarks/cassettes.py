"""Cassettes against stock vcrpy: size on disk, time to load, one look-up, one miss explained.

``python benchmarks/cassettes.py`` prints a Markdown table; it needs vcrpy 9.4 and takes about two minutes. Both sides
get the same exchanges: sessions of 50 turns with 15 tools, streamed and not, made from a seed. The ratios count, the
times depend on the machine.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import vcr
from timing import best
from vcr import matchers
from vcr.cassette import Cassette as StockCassette
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.persisters.filesystem import FilesystemPersister
from vcr.request import Request as StockRequest
from vcr.serializers import yamlserializer

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.matching import Matcher
from harness.cassette.own import SUFFIX, dump_cassette
from harness.wire.exchange import Chunk, Exchange, Request, Response

SIZES = (50, 200, 1000)
TURNS = 50
TOOLS = 15
URL = "https://api.example.com/v1/chat/completions"
# vcrpy's default leaves the body out: it answers at once, with whatever is next.
STOCK_MATCHERS = {
    "raw_body": (matchers.uri, matchers.method, matchers.raw_body),
    "body": (matchers.uri, matchers.method, matchers.body),
}


class Sessions:
    """Recorded sessions of a coding agent, the same for the same seed."""

    def __init__(self, seed: int = 3) -> None:
        self._random = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbgkqjxz"
        self._words = ["".join(self._random.choices(letters, k=self._random.randint(2, 11))) for _ in range(3000)]
        self._tools = [self._tool(number) for number in range(TOOLS)]
        self._system = {"role": "system", "content": self._text(9000)}

    def exchanges(self, count: int) -> Iterator[Exchange]:
        """Exchanges of one session after the other; every second session is streamed."""
        messages: list[Any] = []
        for index in range(count):
            session, turn = divmod(index, TURNS)
            streamed = session % 2 == 0
            if turn == 0:
                messages = [self._system, {"role": "user", "content": f"Task {session}: {self._text(600)}"}]
            answer = self._answer(index)
            yield Exchange(self._request(messages, streamed=streamed), self._response(answer, streamed=streamed), index)
            result = {"status": "success", "data": {"content": self._lines(self._random.choice((300, 1200, 2800)))}}
            call = answer["tool_calls"][0]
            messages += [answer, {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}]

    def _request(self, messages: list[Any], *, streamed: bool) -> Request:
        options = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
        body = {"messages": messages, "model": "bench-1", "temperature": 0, "tools": self._tools, **options}
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        headers = (
            ("host", "api.example.com"),
            ("accept", "application/json"),
            ("content-type", "application/json"),
            ("content-length", str(len(text))),
        )
        return Request("POST", URL, headers, text)

    def _answer(self, index: int) -> dict[str, Any]:
        arguments = json.dumps({"file_path": f"src/{self._word()}/{self._word()}.py", "pattern": self._text(120)})
        call = {"id": f"call_{index:08x}", "type": "function", "function": {"name": "Tool3", "arguments": arguments}}
        return {"role": "assistant", "content": self._text(160), "tool_calls": [call]}

    def _response(self, answer: dict[str, Any], *, streamed: bool) -> Response:
        usage = {"prompt_tokens": 20000, "completion_tokens": 80, "total_tokens": 20080}
        head: dict[str, Any] = {"id": f"chatcmpl-{self._random.getrandbits(96):024x}", "created": 1764000000}
        if not streamed:
            choice = {"index": 0, "message": answer, "logprobs": None, "finish_reason": "tool_calls"}
            head |= {"object": "chat.completion", "model": "bench-1"}
            body = json.dumps({**head, "choices": [choice], "usage": usage})
            return Response(200, (("content-type", "application/json"),), body.encode(), (), "OK")
        call = answer["tool_calls"][0]
        deltas: list[Any] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": piece} for piece in _pieces(answer["content"])]
        function = {"name": call["function"]["name"], "arguments": ""}
        deltas.append({"tool_calls": [{"index": 0, "id": call["id"], "type": "function", "function": function}]})
        deltas += [
            {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
            for piece in _pieces(call["function"]["arguments"])
        ]
        events = [self._event(head, delta, None) for delta in deltas]
        events += [self._event(head, {}, "tool_calls"), b"data: [DONE]\n\n"]
        end, seconds, chunks = 0, 0.3, []
        for event in events:
            end, seconds = end + len(event), seconds + self._random.uniform(0.005, 0.03)
            chunks.append(Chunk(end, round(seconds, 6)))
        return Response(200, (("content-type", "text/event-stream"),), b"".join(events), tuple(chunks), "OK")

    @staticmethod
    def _event(head: dict[str, Any], delta: dict[str, Any], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        document = {**head, "object": "chat.completion.chunk", "model": "bench-1", "choices": [choice]}
        return b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"

    def _tool(self, number: int) -> dict[str, Any]:
        properties = {self._word() + str(n): {"type": "string", "description": self._text(130)} for n in range(5)}
        parameters = {"type": "object", "properties": properties, "required": list(properties)[:2]}
        function = {"name": f"Tool{number}", "description": self._text(500), "parameters": parameters}
        return {"type": "function", "function": function}

    def _word(self) -> str:
        return self._random.choice(self._words)

    def _text(self, length: int) -> str:
        return " ".join(self._random.choices(self._words, k=length // 7))

    def _lines(self, length: int) -> str:
        return "\n".join(f"{n:6}\t{self._text(60)}" for n in range(1, length // 67 + 2))


def _pieces(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def write_stock(path: Path, exchanges: Sequence[Exchange]) -> None:
    """As stock vcrpy writes it when it has recorded them."""
    requests = [
        StockRequest(one.request.method, one.request.url, one.request.body, dict(one.request.headers))
        for one in exchanges
    ]
    responses = [
        {
            "status": {"code": one.response.status, "message": one.response.reason},
            "headers": {name: [value] for name, value in one.response.headers},
            "body": {"string": one.response.body},
        }
        for one in exchanges
    ]
    FilesystemPersister.save_cassette(str(path), {"requests": requests, "responses": responses}, yamlserializer)


def stock(path: Path, match_on: Sequence[Callable[..., Any]]) -> StockCassette:
    return StockCassette.load(path=str(path), match_on=match_on, record_mode="none")


# --- look-up and miss -------------------------------------------------------------------------------------------------


def sample(count: int) -> list[int]:
    """One session in the middle of the file, in the order in which an agent asks."""
    first = count // TURNS // 2 * TURNS
    return list(range(first, first + TURNS))


def seconds_of_our_lookups(cassette: Cassette) -> list[float]:
    """Each request of a session once, as bytes from a client: parsing, key and look-up."""
    matcher = Matcher(cassette)
    taken = []
    for position in sample(len(cassette.exchanges)):
        plain = fresh(cassette.exchanges[position].request)
        start = time.perf_counter()
        found = matcher.find(plain)
        taken.append(time.perf_counter() - start)
        assert found is not None
        assert found.index == position
    return taken


def seconds_of_our_miss(cassette: Cassette) -> float:
    """One word changed in a message in the middle of a session near the end: until the text is there."""
    position = len(cassette.exchanges) - TURNS // 2
    missed = with_one_word_changed(cassette.exchanges[position].request)
    matcher = Matcher(cassette)
    start = time.perf_counter()
    text = matcher.explain_miss(missed)
    taken = time.perf_counter() - start
    assert f"exchange {position + 1} of" in text, text
    return taken


def seconds_of_stock_lookups(path: Path, cassette: Cassette, match_on: Sequence[Callable[..., Any]]) -> list[float]:
    """As vcrpy's stubs do it: is there an answer, and which."""
    played = stock(path, match_on)
    taken = []
    # Each costs up to seconds there.
    for position in sample(len(cassette.exchanges))[:: 8 if matchers.body in match_on else 4]:
        asked = stock_request(cassette.exchanges[position].request)
        start = time.perf_counter()
        assert played.can_play_response_for(asked)
        played.play_response(asked)
        taken.append(time.perf_counter() - start)
    return taken


def seconds_of_stock_miss(path: Path, cassette: Cassette, match_on: Sequence[Callable[..., Any]]) -> float:
    played = stock(path, match_on)
    asked = stock_request(with_one_word_changed(cassette.exchanges[len(cassette.exchanges) - TURNS // 2].request))
    start = time.perf_counter()
    assert not played.can_play_response_for(asked)
    str(CannotOverwriteExistingCassetteException(cassette=played, failed_request=asked))
    return time.perf_counter() - start


def fresh(request: Request) -> Request:
    return Request(request.method, request.url, request.headers, bytes(request.body))


def with_one_word_changed(request: Request) -> Request:
    body = request.json()
    message = body["messages"][len(body["messages"]) // 2 // 2 * 2 + 1]
    message["content"] = message["content"].replace(" ", " changed ", 1)
    return replace(fresh(request), body=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())


def stock_request(request: Request) -> StockRequest:
    return StockRequest(request.method, request.url, request.body, dict(request.headers))


# --- the table --------------------------------------------------------------------------------------------------------


def peak(run: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        kept = run()
        del kept
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rows(folder: Path, count: int) -> Iterator[tuple[str, float, float, str]]:
    """What, stock, ours, unit."""
    exchanges = tuple(Sessions().exchanges(count))
    theirs, ours = folder / f"{count}.yaml", folder / f"{count}{SUFFIX}"
    write_stock(theirs, exchanges)
    ours.write_bytes(dump_cassette(Cassette(ours, "harness", exchanges)))
    yield "size on disk", theirs.stat().st_size / 1e6, ours.stat().st_size / 1e6, "MB"

    body = STOCK_MATCHERS["body"]
    times = 1 if count > 200 else 3
    yield "load", best(lambda: stock(theirs, body), times) * 1e3, best(lambda: load_cassette(ours), 5) * 1e3, "ms"
    yield "peak memory", peak(lambda: stock(theirs, body)) / 1e6, peak(lambda: load_cassette(ours)) / 1e6, "MB"

    cassette = load_cassette(ours)
    assert cassette.exchanges == exchanges
    cassette = load_cassette(ours)
    index = best(lambda: Matcher(cassette), 1) * 1e3
    yield "index for look-ups", 0.0, index, "ms"
    lookups = seconds_of_our_lookups(cassette)
    mean, worst = statistics.mean(lookups) * 1e3, max(lookups) * 1e3
    for name, match_on in STOCK_MATCHERS.items():
        taken = seconds_of_stock_lookups(theirs, cassette, match_on)
        yield f"one look-up, mean (vcrpy: {name})", statistics.mean(taken) * 1e3, mean, "ms"
    yield f"one look-up, slowest of {TURNS} (vcrpy: body)", max(taken) * 1e3, worst, "ms"
    miss = seconds_of_stock_miss(theirs, cassette, body) * 1e3
    yield "one miss explained (vcrpy: body)", miss, seconds_of_our_miss(cassette) * 1e3, "ms"


def main() -> None:
    print(f"vcrpy {vcr.__version__}, sessions of {TURNS} turns with {TOOLS} tools\n")
    print("| exchanges | what | vcrpy | here | ratio |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for count in SIZES:
            for what, theirs, ours, unit in rows(Path(folder), count):
                ratio = f"{theirs / ours:,.0f}" if theirs else "-"
                print(f"| {count} | {what} | {theirs:,.1f} {unit} | {ours:,.2f} {unit} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
