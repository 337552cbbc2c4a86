from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.cassette.matching import Matcher

pytestmark = pytest.mark.corpus
FOLDERS = ("crush", "fantasy", "openllmetry", "otel-contrib", "pydantic-ai", "ruby_llm")


@pytest.fixture(scope="module")
def cassettes(corpus_dir: Path) -> list[Cassette]:
    files = sorted(path for folder in FOLDERS for path in (corpus_dir / folder).rglob("*.y*ml"))
    assert len(files) == 433
    return [load_cassette(path) for path in files]


def test_each_recorded_request_finds_its_own_answer_in_recorded_order(cassettes: list[Cassette]) -> None:
    for cassette in cassettes:
        matcher = Matcher(cassette)
        for exchange in cassette.exchanges:
            assert matcher.find(exchange.request) is exchange, cassette.path
        assert matcher.unused == ()


def test_all_dialects_are_converted_to_vcrpy_without_loss(cassettes: list[Cassette], tmp_path: Path) -> None:
    path = tmp_path / "converted.yaml"
    for cassette in cassettes:
        path.write_bytes(dump_vcrpy(cassette.exchanges))
        assert load_cassette(path).exchanges == cassette.exchanges, cassette.path
