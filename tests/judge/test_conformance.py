"""The conformance suite: this assembler is right everywhere, and others can be put beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InputError
from harness.judge.conformance import CASES, Comparison, Outcome, compare, load_assembler
from harness.judge.conformance.compare import BY_INDEX, HELPER, HERE
from harness.report.conformance import conformance_table
from harness.wire.deltas import parse_stream

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare({})


def sole(name: str, calls: Iterable[Mapping[str, Any]]) -> Outcome:
    """The outcome of an assembler that always gives the same, for one stream."""
    case = next(case for case in CASES if case.name == name)
    ((_, results),) = compare({"own": lambda _: calls}, [case]).rows
    return results[-1].outcome


def test_this_package_reads_every_stream_rightly(compared: Comparison) -> None:
    assert compared.count(HERE, Outcome.RIGHT) == len(CASES)


def test_the_peers_are_right_where_the_stream_conforms_and_fail_where_reports_say_so(compared: Comparison) -> None:
    found = {case.name: {result.assembler: result.outcome for result in results} for case, results in compared.rows}
    for name in ("a conforming stream", "two calls, interleaved", "finish_reason is stop"):
        assert set(found[name].values()) == {Outcome.RIGHT}
    assert found["all parallel calls have index 0"][HELPER] is Outcome.WRONG
    assert found["the first index is 2"][BY_INDEX] is Outcome.CRASH
    for peer in (HELPER, BY_INDEX):
        assert compared.count(peer, Outcome.RIGHT) < len(CASES) - 10


def test_names_are_unique_and_streams_that_may_run_are_complete() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert (parse_stream(case.body).status == "complete") == (case.calls is not None), case.name


def test_what_counts_as_right() -> None:
    oslo = {"city": "Oslo"}
    conforming = "a conforming stream"
    assert sole(conforming, [{"id": "a1", "name": "weather", "arguments": '{"city": "Oslo"}'}]) is Outcome.RIGHT
    assert sole(conforming, [{"id": "a1", "function": {"name": "weather", "arguments": oslo}}]) is Outcome.RIGHT
    wrong: list[list[dict[str, Any]]] = [
        [],
        [{"id": "zz", "name": "weather", "arguments": oslo}],
        [{"id": "a1", "name": "other", "arguments": oslo}],
        [{"id": "a1", "name": "weather", "arguments": "{broken"}],
        [{"id": "a1", "name": "weather", "arguments": oslo}] * 2,
    ]
    for calls in wrong:
        assert sole(conforming, calls) is Outcome.WRONG
    assert sole("no id", [{"id": "made up", "name": "weather", "arguments": oslo}]) is Outcome.RIGHT
    assert sole("cut between two fragments", []) is Outcome.RIGHT
    assert sole("cut between two fragments", [{"id": "a1", "name": "weather", "arguments": "{"}]) is Outcome.WRONG


def test_to_raise_is_a_crash_but_where_nothing_may_run() -> None:
    def refusing(_: bytes) -> list[Mapping[str, Any]]:
        raise ValueError("broken off")

    for case, results in compare({"refusing": refusing}).rows:
        assert results[-1].outcome is (Outcome.RIGHT if case.calls is None else Outcome.CRASH)
        assert results[-1].detail == "ValueError: broken off"


def test_others_are_named_by_module_and_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_assembler.py").write_text("NUMBER = 5\ndef assemble(body):\n    return []\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert list(load_assembler("my_own_assembler:assemble")(b"")) == []
    for name, what in (
        ("assemble", "is not module:object"),
        ("my_own_assembler:none", "cannot be used: AttributeError"),
        ("no_such_module_here:x", "cannot be used: ModuleNotFoundError"),
        ("my_own_assembler:NUMBER", "a int, not a callable"),
    ):
        with pytest.raises(InputError, match=what):
            load_assembler(name)


def test_the_table_of_the_page_is_the_one_that_the_command_prints(compared: Comparison) -> None:
    assert conformance_table(compared) in (ROOT / "docs" / "streams.md").read_text("utf-8")
