"""Linting and scrubbing of recordings that nobody here made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.linting import lint_cassette
from harness.wire.secrets import Scrubber

pytestmark = pytest.mark.corpus
FOLDERS = ("crush", "fantasy", "openllmetry", "otel-contrib", "pydantic-ai", "ruby_llm")


@pytest.fixture(scope="module")
def cassettes(corpus_dir: Path) -> list[Cassette]:
    files = sorted(path for folder in FOLDERS for path in (corpus_dir / folder).rglob("*.y*ml*"))
    return [load_cassette(path) for path in files]


def test_what_is_found(cassettes: list[Cassette]) -> None:
    """Their publishers have scrubbed them: what is left are names of accounts, cookies, and one session's cookie."""
    assert len(cassettes) == 433
    findings = [finding for cassette in cassettes for finding in lint_cassette(cassette)]
    assert Counter((finding.severity.value, finding.code) for finding in findings) == {
        ("warning", "tool_description"): 210,
        ("warning", "parameter_description"): 179,
        ("warning", "account_left"): 165,
        ("warning", "cookie_left"): 83,
        ("warning", "content_length"): 16,
        ("warning", "error_answer"): 9,
        ("error", "secret_left"): 1,
    }
    (cookie,) = [finding for finding in findings if finding.code == "secret_left"]
    assert cookie.path == "request header cookie"


def test_no_kind_of_secret_fires_on_their_bodies_and_urls(cassettes: list[Cassette]) -> None:
    """Ids, hashes, signatures, base64 images and all: 19 MB without one false alarm."""
    for cassette in cassettes:
        scrubber = Scrubber()
        for exchange in cassette.exchanges:
            scrubbed = scrubber.exchange(exchange)
            assert scrubbed.request.body == exchange.request.body
            assert scrubbed.request.url == exchange.request.url
            assert scrubbed.response.body == exchange.response.body
            assert scrubbed.response.chunks == exchange.response.chunks
        assert scrubber.replaced == {}
        assert scrubber.unreadable == 0
