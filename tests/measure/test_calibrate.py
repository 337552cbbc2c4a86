"""Counts of other providers' models, calibrated on what the same cassette recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cassette.cassette import Cassette
from harness.measure.calibrate import calibrate, calibrate_cassette
from harness.measure.prompt import count_request
from harness.wire.exchange import Exchange, Request, Response


def test_a_straight_line_is_found_again() -> None:
    line = calibrate([(100, 230), (200, 430), (400, 830)])
    assert line is not None
    assert line.samples == 3
    assert line.per_token == pytest.approx(2)
    assert line.offset == pytest.approx(30)
    assert line.error == pytest.approx(0, abs=1e-9)


def test_one_recording_gives_a_proportion_of_unknown_error() -> None:
    line = calibrate([(100, 150)])
    assert line is not None
    assert (line.per_token, line.offset, line.error) == (1.5, 0, None)
    assert line.reason == "calibrated on 1 recorded exchange, error unknown"


def test_the_error_is_what_a_recording_is_missed_by_when_it_is_left_out() -> None:
    line = calibrate([(100, 100), (200, 300)])
    assert line is not None
    # Without the second, the first gives 200 for 300; without the first, the second gives 150 for 100.
    assert line.error == pytest.approx((1 / 3 + 1 / 2) / 2)


def test_without_recordings_there_is_nothing_to_calibrate_on() -> None:
    assert calibrate([]) is None
    assert calibrate([(10, 0)]) is None


def test_each_model_of_a_cassette_has_its_own_line() -> None:
    def exchange(model: str, text: str, factor: int, index: int) -> Exchange:
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        tokens = count_request(body).total * factor
        answer = {"choices": [], "usage": {"prompt_tokens": tokens}}
        request = Request("POST", "https://api.example.com/chat/completions", (), json.dumps(body).encode())
        return Exchange(request, Response(200, (), json.dumps(answer).encode()), index)

    texts = ["short", "a little longer than that", "and this one is by far the longest of all of them"]
    exchanges = [exchange(model, text, n, 0) for n, model in enumerate(("a", "b"), 2) for text in texts]
    found = calibrate_cassette(Cassette(Path("x.yaml"), "vcrpy", tuple(exchanges)))
    assert {model: round(line.per_token, 6) for model, line in found.items()} == {"a": 2, "b": 3}
    count = count_request({"model": "a", "messages": [{"role": "user", "content": "new"}]})
    assert found["a"].total(count) == 2 * count.total
    assert found["a"].part(10) == 20
