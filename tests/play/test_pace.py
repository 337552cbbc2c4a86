from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.play.pace import Pace, pieces_of
from harness.seams import ManualClock
from harness.wire.exchange import Chunk, Response

BODY = b"abcdef"
CHUNKS = (Chunk(1, 0.5), Chunk(4, 1.5))


@pytest.mark.parametrize(
    ("speed", "paced", "times"),
    [
        (0.0, False, [0.0, 0.0, 0.0]),
        (1.0, False, [0.5, 1.5, 1.5]),
        (2.0, False, [0.25, 0.75, 0.75]),
        (0.0, True, [0.5, 1.5, 1.5]),
        (4.0, True, [0.125, 0.375, 0.375]),
    ],
)
def test_each_piece_has_its_time(speed: float, paced: bool, times: list[float]) -> None:
    pieces = Pace(speed).pieces(Response(200, (), BODY, CHUNKS, paced=paced))
    assert pieces == list(zip(times, [b"a", b"bcd", b"ef"], strict=True))


def test_without_chunks_the_body_is_due_at_once() -> None:
    assert Pace(1).pieces(Response(200, (), BODY)) == [(0.0, BODY)]
    assert Pace(1).pieces(Response(204)) == []


@given(
    cuts=st.lists(st.tuples(st.integers(0, 6), st.floats(0, 9)), max_size=5),
    speed=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_no_byte_is_lost_at_any_speed(cuts: list[tuple[int, float]], speed: float) -> None:
    ends = sorted(end for end, _ in cuts)
    chunks = tuple(Chunk(end, time) for end, (_, time) in zip(ends, cuts, strict=True))
    response = Response(200, (), BODY, chunks)
    pieces = Pace(speed).pieces(response)
    assert tuple(piece for _, piece in pieces) == pieces_of(response)
    assert b"".join(piece for _, piece in pieces) == BODY


def test_a_late_piece_makes_the_next_ones_no_later() -> None:
    clock = ManualClock(10)
    pace = Pace(1, clock)
    clock.advance(3)
    assert pace.left(10, 2) == -1
    assert pace.left(10, 4) == 1
    assert pace.left(10, 0) == 0


@pytest.mark.parametrize("speed", [-1.0, float("inf"), float("nan")])
def test_a_speed_that_is_none_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="a speed is 0 or more"):
        Pace(speed)
