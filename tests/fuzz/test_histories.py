from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings

from harness.fuzz import Action, FileHistory, FileStep, Outcome, RandomChoices, file_histories, happen_outside
from harness.fuzz.histories import PATHS, file_history
from harness.pipeline.executor import ToolExecutor
from harness.pipeline.result import ToolResult
from tests.pipeline.tools import builtin_executor


def agent_call(executor: ToolExecutor, step: FileStep) -> ToolResult:
    if step.action is Action.READ:
        return executor.execute("Read", {"path": step.path})
    return executor.execute("Edit", {"path": step.path, "old_string": step.old, "new_string": step.new})


def play(history: FileHistory, root: Path) -> None:
    """The history on the built-in tools, each outcome compared."""
    for path, content in history.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    executor = builtin_executor(root)
    for step in history.steps:
        if step.outcome is None:
            happen_outside(step, root)
            continue
        result = agent_call(executor, step)
        said = str(result.error_code) if result.error_code else "success"
        assert said == step.outcome, (step, result.text)
    left = {path: (root / path).read_text() for path in PATHS if (root / path).is_file()}
    assert left == history.end


@settings(max_examples=60)
@given(file_histories())
def test_the_built_in_lock_says_what_the_rules_say(history: FileHistory) -> None:
    with tempfile.TemporaryDirectory() as folder:
        play(history, Path(folder).resolve())


def test_every_action_and_outcome_comes() -> None:
    choices = RandomChoices.seeded(1)
    steps = [step for _ in range(300) for step in file_history(choices).steps]
    assert {step.action for step in steps} == set(Action)
    edits = {step.outcome for step in steps if step.action is Action.EDIT}
    assert edits == set(Outcome)
    assert all((step.outcome is None) == (step.action not in (Action.READ, Action.EDIT)) for step in steps)


def test_a_history_stays_within_its_length() -> None:
    choices = RandomChoices.seeded(1)
    lengths = {len(file_history(choices, most=3).steps) for _ in range(100)}
    assert lengths <= {1, 2, 3}
    assert max(lengths) == 3


def test_a_write_can_keep_size_and_time(tmp_path: Path) -> None:
    """What E14 is about: only the content tells that the file is another."""
    file = tmp_path / "a.txt"
    file.write_text("w0001\n")
    before = file.stat()
    for action in (Action.WRITE, Action.REPLACE):
        happen_outside(FileStep(action, "a.txt", new="w0002\n", same_time=True), tmp_path)
        after = file.stat()
        assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert file.read_text() == "w0002\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_call_of_the_agent_does_not_happen_outside(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a call of the agent"):
        happen_outside(FileStep(Action.READ, "a.txt"), tmp_path)
