"""How fast and how punctual the server is: 64 sessions at once, and a stream at its recorded speed.

Run it with ``python benchmarks/serving.py``. Each conversation has one connection and compares every byte.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from urllib.parse import urlsplit

import orjson

from harness.play.pace import Pace
from harness.play.script import ScriptedTurn, ScriptPlayer, render_turn
from harness.play.server import LoopbackServer
from harness.play.sessions import SessionPlayer, Sessions
from harness.wire.exchange import Chunk, Request, Response

AT_ONCE, ROUNDS = 64, 32
CHUNKS, APART_S = 100, 0.02
TURNS = [ScriptedTurn(text=f"turn {number} " + "word " * 20, fragment=8) for number in range(ROUNDS)]


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: object) -> list[float]:
    """Send a request and read the frames of its answer; gives the times of their arrival."""
    content = orjson.dumps(body)
    head = f"POST {path}/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    await reader.readuntil(b"\r\n\r\n")
    times = []
    while (size := int((await reader.readline()).strip(), 16)) > 0:
        await reader.readexactly(size + 2)
        times.append(time.perf_counter())
    await reader.readline()
    return times


async def converse(url: str, waits: list[float]) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    for number in range(ROUNDS):
        begun = time.perf_counter()
        await ask(reader, writer, parts.path, {"model": "m", "messages": [], "stream": number % 2 == 0})
        waits.append(time.perf_counter() - begun)
    writer.close()


def many_sessions() -> None:
    sessions = Sessions(lambda _: SessionPlayer(ScriptPlayer(TURNS)))
    waits: list[float] = []

    async def all_at_once(server: LoopbackServer) -> None:
        urls = [server.url_of(sessions.open()) for _ in range(AT_ONCE)]
        await asyncio.gather(*(converse(url, waits) for url in urls))

    with LoopbackServer(sessions) as server:
        begun = time.perf_counter()
        asyncio.run(all_at_once(server))
        took = time.perf_counter() - begun
    count = AT_ONCE * ROUNDS
    print(f"{count:,} requests of {AT_ONCE} sessions at once: {took:.2f} s, {count / took:,.0f} a second")
    print(f"  median {statistics.median(waits) * 1000:.1f} ms, slowest {max(waits) * 1000:.0f} ms")


class Timed:
    """One stream whose chunks are recorded 20 ms apart."""

    def __init__(self) -> None:
        body = render_turn(ScriptedTurn(text="x" * CHUNKS), 0, {"stream": True}).body
        ends = [len(body) * (number + 1) // CHUNKS for number in range(CHUNKS)]
        chunks = tuple(Chunk(end, (number + 1) * APART_S) for number, end in enumerate(ends))
        self.response = Response(200, (("content-type", "text/event-stream"),), body, chunks)

    def answer(self, _: Request) -> Response:
        """The same stream, whatever is asked."""
        return self.response


def punctuality(speed: float) -> None:
    async def play(url: str) -> list[float]:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        begun = time.perf_counter()
        times = await ask(reader, writer, parts.path, {"stream": True})
        writer.close()
        return [moment - begun for moment in times]

    with LoopbackServer(Timed(), pace=Pace(speed)) as server:
        times = asyncio.run(play(server.base_url))
    due = [(number + 1) * APART_S / speed if speed else 0.0 for number in range(CHUNKS)]
    late = [came - wanted for came, wanted in zip(times, due, strict=True)]
    print(
        f"speed {speed:g}: {times[-1]:.3f} s for {due[-1]:.2f} s recorded; "
        f"late by {statistics.median(late) * 1000:.1f} ms (median), {max(late) * 1000:.1f} ms (worst)"
    )


if __name__ == "__main__":
    many_sessions()
    for factor in (0.0, 1.0, 4.0):
        punctuality(factor)
