"""What the in-process transport does with answers that are late, break off, or never end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import httpx2
import openai
import pytest

from harness.play.client import openai_client
from harness.play.pace import Pace
from harness.play.transport import PlayerTransport
from harness.seams import ManualClock
from harness.wire.exchange import Chunk, Ending, Request, Response

SSE = (("content-type", "text/event-stream"),)
BODY = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'
CHUNKS = (Chunk(20, 0.5), Chunk(50, 2.0), Chunk(len(BODY), 2.25))


@dataclass
class Fixed:
    response: Response

    def answer(self, request: Request) -> Response:
        return self.response


@dataclass
class Sleeper:
    """Moves a clock instead of waiting."""

    clock: ManualClock = field(default_factory=ManualClock)
    waits: list[float] = field(default_factory=list)

    def block(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)

    async def sleep(self, seconds: float) -> None:
        self.block(seconds)

    def pace(self, speed: float) -> Pace:
        return Pace(speed, self.clock, self.sleep, self.block)


def streamed(response: Response, pace: Pace | None = None, timeout: float | None = None) -> tuple[list[bytes], str]:
    """The pieces that came, and the name of what ended them."""
    pieces: list[bytes] = []
    with httpx2.Client(transport=PlayerTransport(Fixed(response), pace), timeout=timeout) as client:
        try:
            with client.stream("POST", "http://h/v1/chat/completions") as got:
                pieces.extend(got.iter_raw())
        except httpx2.HTTPError as error:
            return pieces, type(error).__name__
    return pieces, ""


@pytest.mark.parametrize(
    ("ending", "raised"),
    [(Ending.WHOLE, ""), (Ending.DISCONNECT, "RemoteProtocolError"), (Ending.TIMEOUT, "ReadTimeout")],
)
def test_the_pieces_come_before_the_ending(ending: Ending, raised: str) -> None:
    pieces, error = streamed(Response(200, SSE, BODY, CHUNKS, ending=ending))
    assert (b"".join(pieces), len(pieces), error) == (BODY, 3, raised)


def test_an_answer_that_never_begins_times_out_before_its_head() -> None:
    with (
        openai_client(PlayerTransport(Fixed(Response(200, SSE, ending=Ending.TIMEOUT)))) as client,
        pytest.raises(openai.APITimeoutError),
    ):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


@pytest.mark.parametrize("ending", [Ending.DISCONNECT, Ending.TIMEOUT])
def test_a_length_that_would_make_the_part_look_whole_is_not_said(ending: Ending) -> None:
    headers = (("content-length", str(len(BODY))), *SSE)
    transport = PlayerTransport(Fixed(Response(200, headers, BODY, ending=ending)))
    with httpx2.Client(transport=transport) as client, client.stream("GET", "http://h/") as got:
        assert "content-length" not in got.headers


def test_a_plain_answer_that_breaks_off_reaches_the_client_as_a_lost_connection() -> None:
    broken = Response(200, (("content-type", "application/json"),), b'{"choices": [', ending=Ending.DISCONNECT)
    with openai_client(PlayerTransport(Fixed(broken))) as client, pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("speed", "paced", "waits"),
    [
        (0.0, False, []),
        (1.0, False, [0.5, 1.5, 0.25]),
        (0.0, True, [0.5, 1.5, 0.25]),
        (2.0, False, [0.25, 0.75, 0.125]),
    ],
)
@pytest.mark.parametrize("in_loop", [False, True])
def test_it_waits_for_recorded_times_only_where_told(
    speed: float, paced: bool, waits: list[float], in_loop: bool
) -> None:
    sleeper = Sleeper()
    response = Response(200, SSE, BODY, CHUNKS, paced=paced)

    async def asked() -> bytes:
        transport = PlayerTransport(Fixed(response), sleeper.pace(speed))
        async with httpx2.AsyncClient(transport=transport) as client:
            return (await client.get("http://h/")).content

    body = asyncio.run(asked()) if in_loop else b"".join(streamed(response, sleeper.pace(speed))[0])
    assert (body, sleeper.waits) == (BODY, waits)


def test_a_piece_later_than_the_clients_patience_times_out_without_waiting() -> None:
    sleeper = Sleeper()
    pieces, error = streamed(Response(200, SSE, BODY, CHUNKS, paced=True), sleeper.pace(0), timeout=1.0)
    assert (pieces, error, sleeper.waits) == ([BODY[:20]], "ReadTimeout", [0.5])
