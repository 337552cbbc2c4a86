"""Every streamed response of the corpus: the calls that the next request repeats, whole in every form and chunking."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.cassette.dialects import load_cassette
from harness.cassette.lanes import find_lanes
from harness.cassette.messages import canonical_arguments
from harness.scenario.replay.recorded import recorded_results
from harness.wire.chat import ModelTurn
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Exchange
from tests.wire.forms import naive_calls, plain_form, rechunked
from tests.wire.recordings import Recording, corpus_files, streamed

pytestmark = pytest.mark.corpus

Call = tuple[str | None, str | None, object]

# The agent gives calls ids of its own: nothing of these two providers' ids comes back.
REWRITTEN_IDS = {"crush/2025-10-02/openrouter-kimi-k2": 11, "crush/2025-10-02/zai-glm4.6": 12}
# The provider refused what its model wrote, in an error event; the agent took the refused text for a call.
MADE_OF_AN_ERROR = "pydantic-ai/tests/models/cassettes/test_groq/test_tool_use_failed_error_streaming.yaml:0"


class Followed:
    """A streamed answer and the calls that the next request of its conversation repeats."""

    def __init__(self, name: str, exchange: Exchange, repeated: list[Call]) -> None:
        self.name = name
        self.turn = exchange.turn()
        self.repeated = repeated

    @property
    def calls(self) -> list[Call]:
        return [(call.id, call.name, canonical_arguments(call.arguments)) for call in self.turn.tool_calls]


@pytest.fixture(scope="module")
def corpus(corpus_dir: Path) -> tuple[list[Recording], list[Followed]]:
    """All streamed answers, and those that a later request goes on from."""
    recordings: list[Recording] = []
    followed: list[Followed] = []
    for path in corpus_files(corpus_dir):
        if b"stream" not in path.read_bytes():
            continue
        cassette = load_cassette(path)
        names = {exchange.index: recording.name for recording, exchange in streamed(cassette, corpus_dir)}
        recordings += [recording for recording, _ in streamed(cassette, corpus_dir)]
        seen: set[int] = set()
        for lane in find_lanes(cassette.chat_exchanges) if names else ():
            for step, following in pairwise(lane.steps):
                index = step.exchange.index
                if index in names and index not in seen:
                    seen.add(index)
                    messages = following.body["messages"][following.adds_from :]
                    followed.append(Followed(names[index], step.exchange, _repeated(messages)))
    return recordings, followed


def _repeated(messages: list[dict[str, Any]]) -> list[Call]:
    calls = recorded_results(messages).calls
    return [
        (call["id"], call["function"]["name"], canonical_arguments(call["function"]["arguments"])) for call in calls
    ]


def test_every_streamed_response_assembles_to_the_calls_that_the_next_request_repeats(
    corpus: tuple[list[Recording], list[Followed]],
) -> None:
    _, followed = corpus
    assert len(followed) == 229
    assert sum(bool(one.calls) for one in followed) == 213
    assert sum(len(one.calls) for one in followed) == 246
    differing = [one for one in followed if one.calls != one.repeated]
    rewritten = [one for one in differing if [call[1:] for call in one.calls] == [call[1:] for call in one.repeated]]
    assert [one.name for one in differing if one not in rewritten] == [MADE_OF_AN_ERROR]
    assert Counter(one.name.rsplit("/", 1)[0] for one in rewritten) == REWRITTEN_IDS
    for one in rewritten:
        agents_own = one.name.rsplit("/", 1)[1].partition(".yaml")[0]
        assert all(agents_own in str(call[0]) for call in one.repeated), one.name


def test_the_answer_that_no_request_repeats_was_an_error(corpus: tuple[list[Recording], list[Followed]]) -> None:
    (refused,) = (one for one in corpus[1] if one.name == MADE_OF_AN_ERROR)
    assert refused.turn.status == "error"
    assert refused.turn.error is not None
    (call,) = refused.repeated
    assert str(call[1]) in refused.turn.error["failed_generation"]


def test_statuses_and_anomalies_of_the_corpus(corpus: tuple[list[Recording], list[Followed]]) -> None:
    turns = [parse_stream(recording.body) for recording in corpus[0]]
    assert len(turns) == 515
    assert sum(bool(turn.tool_calls) for turn in turns) == 240
    assert sum(len(turn.tool_calls) for turn in turns) == 279
    assert Counter(turn.status for turn in turns) == {"complete": 487, "truncated": 26, "error": 2}
    assert Counter(anomaly.code for turn in turns for anomaly in turn.anomalies) == {
        "finish_reason_repeated": 41,
        "error_in_stream": 2,
    }


def test_the_plain_form_of_a_stream_gives_the_same_message(corpus: tuple[list[Recording], list[Followed]]) -> None:
    for name, body in corpus[0]:
        turn = parse_stream(body)
        assert _said(plain_form(turn)) == _said(turn), name
        if turn.status != "error":
            assert naive_calls(body) == [(call.id, call.name, call.arguments) for call in turn.tool_calls], name


def test_any_chunking_gives_the_same_message(corpus: tuple[list[Recording], list[Followed]]) -> None:
    source = random.Random(5)
    for name, body in corpus[0]:
        whole = parse_stream(body)
        for size in (1, source.randint(2, 40), 1440):
            if size > 1 or len(body) < 4000:
                assert rechunked(body, range(size, len(body), size)) == whole, (name, size)
        cuts = sorted(source.sample(range(1, len(body)), 8))
        assert rechunked(body, cuts) == whole, (name, cuts)


def _said(turn: ModelTurn) -> tuple[object, ...]:
    message = orjson.dumps(turn.message, option=orjson.OPT_SORT_KEYS)
    return message, turn.content, turn.tool_calls, turn.finish_reason, turn.status, turn.usage
