"""The count against the usage that OpenAI reported in recordings of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.measure.accuracy import CASES, Judged, acceptance_table, half_of, judge_cassettes
from harness.measure.calibrate import calibrate_cassette


@pytest.fixture(scope="module")
def judged(corpus_dir: Path) -> list[Judged]:
    return judge_cassettes(map(load_cassette, sorted(corpus_dir.rglob("*.y*ml"))), corpus_dir)


@pytest.mark.corpus
def test_the_count_is_what_openai_counted(judged: list[Judged]) -> None:
    table = {row.case: row for row in acceptance_table(judged)}
    assert table.keys() == CASES.keys()
    plain, tools = table["without tools, no estimate"], table["with tools, no estimate"]
    assert plain.exchanges >= 28
    assert plain.exact == plain.exchanges
    assert tools.exchanges >= 80
    assert tools.exact >= 0.95 * tools.exchanges
    assert tools.within_two == tools.exchanges
    assert table["estimates"].worst_share <= 0.15
    assert all(row.exchanges for row in table.values())


@pytest.mark.corpus
def test_requests_without_tools_are_no_estimates_but_for_a_json_schema(judged: list[Judged]) -> None:
    reasons = {reason for one in judged if not one.body.get("tools") for reason in one.count.reasons}
    assert reasons <= {"response_format json_schema"}


@pytest.mark.corpus
def test_other_providers_are_calibrated_on_their_own_recordings(corpus_dir: Path) -> None:
    folder = corpus_dir / "crush" / "2025-10-02" / "openrouter-kimi-k2"
    lines = [
        line for path in sorted(folder.glob("*.yaml")) for line in calibrate_cassette(load_cassette(path)).values()
    ]
    known = [line for line in lines if line.error is not None and line.samples >= 3]
    assert known
    assert all(line.per_token > 0 for line in lines)


def test_a_file_falls_in_a_half_by_its_path_alone() -> None:
    assert {half_of(f"{number}.yaml") for number in range(20)} == {0, 1}
