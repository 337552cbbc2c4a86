"""Whether a recorded trial solved its task, by each kind of judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.tasks import Judgement, JudgeSpec
from harness.trace.run import Run
from tests.judge.trials import call, run

PASSED = Judgement(passed=True)


def read_only(tested: Run) -> bool | None:
    """A user's judge."""
    names = {each.name for lane in tested.lanes for step in lane.steps for each in step.calls}
    return names <= {"Read"} if names else None


def asserting(tested: Run) -> bool:
    assert tested.trial is not None
    assert tested.trial.number == 0, "only the first trial counts"
    return True


def explaining(_: Run) -> str:
    return "too slow"


def broken(_: Run) -> bool:
    raise KeyError("x")


def odd(_: Run) -> object:
    return 0.5


@pytest.mark.parametrize(("reward", "threshold", "passed"), [
    (1.0, 1.0, True), (0.9999999, 1.0, True), (0.5, 1.0, False), (0.5, 0.5, True), (0.0, 1.0, False), (None, 1.0, None),
])  # fmt: skip
def test_a_reward_passes_from_the_threshold_on(reward: float | None, threshold: float, passed: bool | None) -> None:
    assert JudgeSpec(threshold=threshold).make()(run("t", reward=reward)).passed is passed


def test_recorded_calls_must_all_be_made_beside_which_others_may_be() -> None:
    judge = JudgeSpec("calls").make()
    facts = {"reference_calls": [{"name": "book", "arguments": {"id": 1}}]}
    good = [[call("look", {})], [call("book", {"id": 1})]]
    assert judge(run("t", good, facts=facts)) == PASSED
    assert judge(run("t", good[:1], facts=facts)) == Judgement(passed=False, why="not called: book(id=1)")
    assert judge(run("t", good)).passed is None
    assert judge(run("t", [], facts={"reference_calls": []})) == PASSED


def test_calls_of_a_file_are_those_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "expected.yaml").write_text("read:\n  - Read: {path: [a]}\nnone: []\n")
    judge = JudgeSpec("calls", tmp_path / "expected.yaml").make()
    read = call("Read", {"path": "a"})
    assert judge(run("read", [[read]])) == PASSED
    assert judge(run("read", [[read, read]])).why == "called without need: Read"
    assert judge(run("read", [[call("Read", {"path": "b" * 200})]])).why.startswith(
        'not called: Read(path="a"); called: Read({"path": "bbb'
    )
    assert judge(run("read")).why == 'not called: Read(path="a"); called: nothing'
    assert judge(run("none")) == PASSED
    assert judge(run("other")).passed is None


SCENARIO = """
name: read
prompt: go
player: {script: [{text: done}]}
expect:
  calls: [{tool: Read, arguments: {path: a}}]
  final_text: done
"""


def test_a_scenario_of_the_tasks_name_judges(tmp_path: Path) -> None:
    (tmp_path / "read.yaml").write_text(SCENARIO)
    judge = JudgeSpec("scenarios", tmp_path).make()
    assert judge(run("read", [[call("Read", {"path": "a"})]])) == PASSED
    failed = judge(run("read", [[call("Read", {"path": "b"})]]))
    assert failed.passed is False
    assert "Read" in failed.why
    assert judge(run("write")).passed is None
    (tmp_path / "read.yaml").write_text(SCENARIO + "  files: {a: x}\n")
    unsure = JudgeSpec("scenarios", tmp_path / "read.yaml").make()(run("read", [[call("Read", {"path": "a"})]]))
    assert unsure.passed is None
    assert "files" in unsure.why
    (tmp_path / "again.yaml").write_text(SCENARIO)
    with pytest.raises(InputError, match="the name read is there twice"):
        JudgeSpec("scenarios", tmp_path).make()


def test_a_function_judges() -> None:
    here = f"{__name__}:"
    judge = JudgeSpec(f"{here}read_only").make()
    assert judge(run("t", [[call("Read")]])) == PASSED
    assert judge(run("t", [[call("Bash")]])).passed is False
    assert judge(run("t")).passed is None
    asserts = JudgeSpec(f"{here}asserting").make()
    assert asserts(run("t")) == PASSED
    assert "only the first trial counts" in asserts(run("t", number=1)).why
    assert JudgeSpec(f"{here}explaining").make()(run("t")) == Judgement(passed=False, why="too slow")
    with pytest.raises(InputError, match=r"broken of t #0: KeyError: 'x'"):
        JudgeSpec(f"{here}broken").make()(run("t"))
    with pytest.raises(InputError, match="gave float for t #0"):
        JudgeSpec(f"{here}odd").make()(run("t"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (JudgeSpec("rewards"), "'rewards' is no judge"),
        (JudgeSpec("no.such.module:f"), "cannot be imported"),
        (JudgeSpec(f"{__name__}:nothing"), "has no function nothing"),
        (JudgeSpec("scenarios"), "which scenarios"),
        (JudgeSpec("scenarios", Path("no/such/folder")), "no such file or folder"),
        (JudgeSpec("calls", Path("no/such/file")), "cannot be read"),
    ],
)
def test_a_judge_that_does_not_exist_is_refused(spec: JudgeSpec, message: str) -> None:
    with pytest.raises(InputError, match=message):
        spec.make()
