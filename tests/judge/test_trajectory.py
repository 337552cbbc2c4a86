"""Each of the five modes has its truth table; what the order of a reference means; what a failed check shows."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.functions import Functions
from harness.judge.trajectory.comparison import Comparison, Fit
from harness.judge.trajectory.modes import judge_trajectory
from harness.judge.verdict import Verdict
from harness.pipeline.result import ToolStatus
from harness.scenario.expectations import CallExpectation, TrajectoryExpectation, TrajectoryMode
from harness.trace.run import CallRecord
from tests.judge.calls import MODES, call, judged, letters, made

# The reference is AB; which modes pass for each list of calls that was made.
TRUTH = {
    "": {"subset"},
    "A": {"subset"},
    "B": {"subset"},
    "C": set(),
    "AB": {"strict", "ordered", "unordered", "subset", "superset"},
    "BA": {"unordered", "subset", "superset"},
    "AA": set(),
    "AC": set(),
    "ABC": {"ordered", "superset"},
    "ACB": {"ordered", "superset"},
    "BAC": {"superset"},
    "BAB": {"ordered", "superset"},
    "AAB": {"ordered", "superset"},
}  # fmt: skip

# The reference is empty, or has a call twice.
TRUTH_AT_THE_EDGES = {
    ("", ""): {"strict", "ordered", "unordered", "subset", "superset"},
    ("", "A"): {"ordered", "superset"},
    ("AA", "A"): {"subset"},
    ("AA", "AA"): {"strict", "ordered", "unordered", "subset", "superset"},
    ("AA", "AAA"): {"ordered", "superset"},
    ("AA", "ABA"): {"ordered", "superset"},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("actual", TRUTH)
def test_the_truth_table_of_each_mode(mode: TrajectoryMode, actual: str) -> None:
    verdict = Verdict.PASS if mode in TRUTH[actual] else Verdict.FAIL
    assert letters(mode, "AB", actual).verdict is verdict


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("expected", "actual"), TRUTH_AT_THE_EDGES)
def test_the_truth_table_at_the_edges(mode: TrajectoryMode, expected: str, actual: str) -> None:
    verdict = Verdict.PASS if mode in TRUTH_AT_THE_EDGES[expected, actual] else Verdict.FAIL
    assert letters(mode, expected, actual).verdict is verdict


LISTS = st.text("ABC", max_size=5)


@given(expected=LISTS, actual=LISTS)
def test_the_modes_are_what_they_are_defined_to_be(expected: str, actual: str) -> None:
    wanted, found = Counter(expected), Counter(actual)
    places = itertools.combinations(range(len(actual)), len(expected))
    holds = {
        "strict": expected == actual,
        "ordered": any("".join(actual[at] for at in place) == expected for place in places),
        "unordered": wanted == found,
        "subset": found <= wanted,
        "superset": wanted <= found,
    }
    for mode in MODES:
        assert (letters(mode, expected, actual).verdict is Verdict.PASS) == holds[mode]


def expected_call(tool: str, path: str | None) -> CallExpectation:
    return CallExpectation(tool=tool, arguments=None if path is None else {"path": path})


def made_call(tool: str, path: str, status: str | None) -> CallRecord:
    return call(tool, {"path": path}, status=status)


TOOLS, PATHS = st.sampled_from("AB"), st.sampled_from(["x", "y"])
CALLS = st.builds(expected_call, TOOLS, st.none() | PATHS)
MADE = st.builds(made_call, TOOLS, PATHS, st.sampled_from(["success", None]))


@given(data=st.data(), mode=st.sampled_from(["unordered", "subset", "superset"]))
def test_reordering_an_unordered_reference_never_changes_the_verdict(data: st.DataObject, mode: TrajectoryMode) -> None:
    expected = data.draw(st.lists(CALLS, max_size=6))
    wanting = [one.model_copy(update={"status": ToolStatus.SUCCESS}) if data.draw(st.booleans()) else one
               for one in expected]  # fmt: skip
    actual = data.draw(st.lists(MADE, max_size=6))
    reordered = data.draw(st.permutations(wanting))
    other_calls = data.draw(st.permutations(actual))
    verdict = judged(mode, wanting, actual).verdict
    assert judged(mode, reordered, actual).verdict is verdict
    assert judged(mode, wanting, other_calls).verdict is verdict


@given(expected=st.lists(CALLS, max_size=4), actual=st.lists(MADE, max_size=4))
def test_the_matching_is_the_best_there_is(expected: list[CallExpectation], actual: list[CallRecord]) -> None:
    def fits(wanted: CallExpectation, one: CallRecord) -> bool:
        return wanted.tool == one.name and wanted.arguments in (None, one.arguments)

    possible = any(all(map(fits, expected, pairing)) for pairing in itertools.permutations(actual, len(expected)))
    assert (judged("superset", expected, actual).verdict is Verdict.PASS) == possible


def test_a_loose_expectation_does_not_take_the_call_that_a_strict_one_needs() -> None:
    expected = [CallExpectation(tool="Read"), CallExpectation(tool="Read", arguments={"path": "a"})]
    actual = [call("Read", {"path": "a"}), call("Read", {"path": "b"})]
    for mode in ("unordered", "subset", "superset"):
        assert judged(mode, expected, actual).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "where", "message"),
    [
        ("strict", "ABC", "ACB", "step 2", "call 2 is C, expected B (B comes as call 3)"),
        ("strict", "ABC", "AC", "step 2", "call 2 is C, expected B (B is never called)"),
        ("strict", "AB", "ABC", "step 3", "call 3 is C, expected no call"),
        ("strict", "ABC", "AB", "step 2", "call 3 is no call, expected C (C is never called)"),
        ("strict", "A", "", "step 1", "call 1 is no call, expected A (A is never called)"),
        ("ordered", "ABC", "AC", "step 1", "B was not made"),
        ("unordered", "AB", "A", "", "B was not made"),
        ("unordered", "A", "AB", "step 2 call 1 (B)", "B() is not in the reference"),
        ("subset", "A", "AA", "step 2 call 1 (A)", "A() is made more often than the reference has it"),
        ("superset", "AB", "AC", "", "B was not made"),
    ],
)
def test_what_a_failed_check_says_first(
    mode: TrajectoryMode, expected: str, actual: str, where: str, message: str
) -> None:
    check = letters(mode, expected, actual)
    assert (check.verdict, check.where, check.message) == (Verdict.FAIL, where, message)


def test_a_call_that_comes_too_early_is_said_to_be_out_of_order() -> None:
    check = letters("ordered", "AB", "BA")
    assert check.verdict is Verdict.FAIL
    assert check.message == ("A was not made in its place: it is step 2 call 1 (A), so the order or the number differs")


def test_a_failed_check_shows_both_sides_where_they_part() -> None:
    expected = [
        *(CallExpectation(tool="Read") for _ in range(9)),
        CallExpectation(tool="Edit", arguments={"path": "b.txt"}),
        CallExpectation(tool="Bash"),
    ]
    actual = [*(call("Read") for _ in range(9)), call("Edit", {"path": "a.txt"}), call("Grep")]
    check = judged("ordered", expected, actual)
    assert check.where == "step 10 call 1 (Edit)"
    assert check.message == 'arguments $.path: "b.txt" -> "a.txt"'
    assert (check.expected, check.actual) == ('Edit(path: "b.txt")', 'Edit(path: "a.txt")')
    assert check.details.splitlines() == [
        "± expected             actual",
        "… 7 more rows without a difference",
        "= Read                 step 8: Read()",
        "= Read                 step 9: Read()",
        '≠ Edit(path: "b.txt")  step 10: Edit(path: "a.txt")   arguments $.path: "b.txt" -> "a.txt"',
        "- Bash                 (no call)",
        "· (no call)            step 11: Grep()",
    ]


@pytest.mark.parametrize("mode", MODES)
def test_what_a_run_does_not_tell_never_passes(mode: TrajectoryMode) -> None:
    wanted = [CallExpectation(tool="A", status=ToolStatus.SUCCESS)]
    check = judged(mode, wanted, [call("A", status=None)])
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "status is expected to be 'success', which a run of this agent does not tell" in check.message
    assert judged(mode, wanted, [call("B", status=None)]).verdict is Verdict.FAIL
    assert judged(mode, wanted, [call("A")]).verdict is Verdict.PASS


def test_a_function_judges_arguments_and_a_broken_one_judges_nothing(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def even(arguments):\n    assert arguments['n'] % 2 == 0, 'odd'\n", "utf-8")
    functions = Functions(tmp_path)
    wanted = [CallExpectation(tool="A", arguments_python="own.py:even")]
    comparison = Comparison(wanted, made([call("A", {"n": 2}), call("A", {"n": 3}), call("B", {"n": 3})]), functions)
    assert [comparison.fit(0, at) for at in range(3)] == [Fit.YES, Fit.NO, Fit.NO]
    assert comparison.problem(0, 1) == "arguments: odd"
    reference = TrajectoryExpectation(mode="strict", calls=wanted)
    assert judge_trajectory(reference, made([call("A", {})]), functions).verdict is Verdict.ERROR


def test_work_grows_with_the_calls_and_not_with_their_square() -> None:
    many = "A" * 2000
    check = letters("strict", many + "B", many + "C")
    assert (check.verdict, check.where) == (Verdict.FAIL, "step 2001")
    assert letters("ordered", "AB" * 1000, "BA" * 1000).verdict is Verdict.FAIL
