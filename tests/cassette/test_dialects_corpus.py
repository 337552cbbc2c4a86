"""All cassettes of other people load in their dialect, with what the corpus' index counts in each file."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.lanes import find_lanes
from harness.wire.exchange import Exchange, decoded

pytestmark = pytest.mark.corpus

Row = dict[str, str]
Corpus = list[tuple[Row, Cassette]]

# Dialect: files, exchanges, chat exchanges, streamed answers to them, calls in these answers.
COUNTS = {
    "go-vcr": (170, 490, 461, 395, 232),
    "vcrpy": (44, 119, 95, 28, 82),
    "ruby-vcr": (97, 209, 209, 55, 138),
    "pydantic-ai": (122, 226, 211, 37, 148),
}

# Conversations that begin with answers of a model: the tests that recorded these send a made-up history.
WITH_A_PAST = {
    "pydantic-ai/tests/cassettes/test_tool_availability_portability/"
    "test_tool_availability_portability_matrix[R2-T6-local-search].yaml": 1,
    "openllmetry/opentelemetry-instrumentation-langchain/tests/cassettes/test_tool_calls/"
    "test_tool_calls_with_history": 3,
    "openllmetry/opentelemetry-instrumentation-openai/tests/traces/cassettes/test_chat/test_chat_tool_calls": 9,
    "openllmetry/opentelemetry-instrumentation-openai/tests/traces/cassettes/test_chat/"
    "test_chat_pydantic_based_tool_calls": 6,
}


@pytest.fixture(scope="module")
def corpus(corpus_dir: Path) -> Corpus:
    with (corpus_dir / "INDEX.tsv").open(encoding="utf-8", newline="") as index:
        rows = list(csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(row, load_cassette(corpus_dir / row["path"])) for row in rows if row["kind"] == "vcr-yaml"]


def _calls(exchange: Exchange) -> int:
    return len(exchange.turn().tool_calls) if exchange.response.status < 400 else 0


COUNTED: dict[str, Callable[[Cassette], int]] = {
    "http_interactions_or_steps": lambda cassette: len(cassette.exchanges),
    "chat_interactions": lambda cassette: len(cassette.chat_exchanges),
    "sse_responses": lambda cassette: sum(exchange.response.streamed for exchange in cassette.chat_exchanges),
    "tool_calls": lambda cassette: sum(_calls(exchange) for exchange in cassette.chat_exchanges),
}


@pytest.mark.parametrize("column", COUNTED)
def test_every_file_holds_what_the_index_counts(corpus: Corpus, column: str) -> None:
    differing = {row["path"]: found for row, one in corpus if (found := COUNTED[column](one)) != int(row[column])}
    assert differing == {}


def test_every_file_is_read_in_its_dialect(corpus: Corpus) -> None:
    assert {row["path"] for row, cassette in corpus if cassette.dialect != row["dialect"]} == set()
    totals: dict[str, Counter[str]] = {name: Counter() for name in COUNTS}
    for _, cassette in corpus:
        totals[cassette.dialect]["files"] += 1
        for name, count in COUNTED.items():
            totals[cassette.dialect][name] += count(cassette)
    assert {name: tuple(total.values()) for name, total in totals.items()} == COUNTS


def test_all_bodies_decode(corpus: Corpus) -> None:
    for row, cassette in corpus:
        for exchange in cassette.chat_exchanges:
            assert isinstance(exchange.request.json(), dict), row["path"]
            assert decoded(exchange.response.body, exchange.response.headers).decode() is not None
        for exchange in cassette.exchanges:
            assert decoded(exchange.response.body, exchange.response.headers) is not None, row["path"]


def test_no_conversation_begins_in_its_middle(corpus: Corpus) -> None:
    """Where a request were not recognised as the next one, its history would be taken for granted."""
    found: Counter[str] = Counter()
    for row, cassette in corpus:
        for lane in find_lanes(cassette.chat_exchanges):
            roles = {message.get("role") for message in lane.steps[0].body["messages"]}
            if roles & {"assistant", "tool", "function"}:
                found[next((known for known in WITH_A_PAST if row["path"].startswith(known)), row["path"])] += 1
    assert found == WITH_A_PAST
