"""Scenarios written from live sessions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.scrubbing import Scrubber
from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Case, Verdict
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from harness.scenario.copying import INLINE_FILES, copied
from harness.scenario.format import load_scenario
from harness.scenario.runner import run_scenario
from harness.scenario.scripting import Session, demand_free, drafted
from harness.scenario.source import parse_source
from harness.scenario.yaml_text import to_yaml

KEY = "sk-test0123456789abcdefghijklmnopqrstuv"


def turn(*calls: tuple[str, object]) -> ScriptedTurn:
    made = tuple(
        ScriptedCall(name, given if isinstance(given, str) else json.dumps(given), f"c{number}")
        for number, (name, given) in enumerate(calls)
    )
    return ScriptedTurn(calls=made, finish_reason="tool_calls")


def recorded(tmp_path: Path, turns: Sequence[ScriptedTurn], **options: Any) -> tuple[Path, list[Path], list[str]]:
    """The scenario, what was placed, and the notes."""
    target = tmp_path / "made" / "new.yaml"
    session = Session(**{"prompts": ["Do it."], "model": "m", **options})
    with LoopbackServer(ScriptPlayer(turns)) as server, drafted(session, target, server.base_url, KEY) as draft:
        assert not target.parent.exists()
        placed = draft.place(target)
    return target, placed, list(draft.notes)


def judged(path: Path) -> Case:
    return judge_scenario(run_scenario(load_scenario(path)), str(path))


def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a = 1\nb = 2\n")
    (folder / "old.txt").write_text("x")
    return folder


def test_a_session_becomes_a_scenario_that_passes(tmp_path: Path) -> None:
    turns = [
        turn(("Read", {"path": "src/a.py"}), ("Glob", {"pattern": "*"})),
        turn(("Edit", {"path": "src/a.py", "old_string": "a = 1", "new_string": "a = 10"})),
        turn(("Bash", {"command": "mv old.txt new.txt"})),
        ScriptedTurn(text="Done:\n\n- a is 10"),
    ]
    folder = project(tmp_path)
    target, placed, _ = recorded(tmp_path, turns, workspace=folder, ask="allow", system="Be brief.", stream=True)
    assert [path.name for path in placed] == ["new.yaml", "new.cassette.jsonl"]
    assert sorted(path.name for path in target.parent.iterdir()) == ["new.cassette.jsonl", "new.yaml"]
    scenario = load_scenario(target)
    assert scenario.expect is not None
    assert [call.tool for call in scenario.expect.calls or ()] == ["Read", "Glob", "Edit", "Bash"]
    assert scenario.expect.final_text == "Done:\n\n- a is 10"
    assert scenario.expect.steps == 4
    assert scenario.expect.changed == ["new.txt", "old.txt", "src/a.py"]
    assert scenario.expect.files["src/a.py"] == "a = 10\nb = 2\n"
    case = judged(target)
    assert case.verdict is Verdict.PASS, case.first_line
    assert (folder / "src" / "a.py").read_text() == "a = 1\nb = 2\n"
    text = target.read_text()
    assert "      a = 1\n      b = 2\n" in text
    assert "- {tool: Glob, arguments: {pattern: '*'}, status: success}" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("prompt: Do it.", "prompt: Do it now."),
        ("final_text: Yes.", "final_text: No."),
        ("arguments: {path: src/a.py}", "arguments: {path: src/b.py}"),
        ("steps: 2", "steps: 3"),
        ("a = 1", "a = 2"),
    ],
)
def test_each_part_of_what_was_written_is_judged(tmp_path: Path, old: str, new: str) -> None:
    turns = [turn(("Read", {"path": "src/a.py"})), ScriptedTurn(text="Yes.")]
    target, _, _ = recorded(tmp_path, turns, workspace=project(tmp_path))
    assert judged(target).verdict is Verdict.PASS
    text = target.read_text()
    assert old in text
    target.write_text(text.replace(old, new, 1))
    assert judged(target).verdict is Verdict.FAIL


def test_several_prompts_bad_arguments_and_a_run_that_does_not_answer(tmp_path: Path) -> None:
    turns = [
        turn(("Read", '{"path": "a'), ("Teleport", {"$to": 1}), ("Read", "[1]")),
        ScriptedTurn(text="First."),
        turn(("Glob", {"pattern": "*"})),
        turn(("Glob", {"pattern": "?"})),
    ]
    target, _, _ = recorded(tmp_path, turns, prompts=["One.", "Two."], step_limit=2)
    scenario = load_scenario(target)
    assert [one.text for one in scenario.user_turns] == ["One.", "Two."]
    assert scenario.expect is not None
    assert [call.arguments for call in scenario.expect.calls or ()] == [
        '{"path": "a', '{"$to": 1}', "[1]", {"pattern": "*"}, {"pattern": "?"},
    ]  # fmt: skip
    case = judged(target)
    assert case.verdict is Verdict.PASS, case.first_line


def test_a_large_workspace_is_copied_beside_the_scenario(tmp_path: Path) -> None:
    folder = project(tmp_path)
    for number in range(INLINE_FILES):
        (folder / f"f{number}").write_bytes(bytes([255, number]))
    (folder / "run").write_text("x")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("run")
    target, placed, _ = recorded(tmp_path, [ScriptedTurn(text="Yes.")], workspace=folder)
    assert [path.name for path in placed] == ["new.yaml", "new.cassette.jsonl", "new.workspace"]
    kept = target.parent / "new.workspace"
    assert sorted(path.name for path in kept.rglob("*")) == sorted(path.name for path in folder.rglob("*"))
    assert (kept / "link").is_symlink()
    assert (kept / "run").stat().st_mode & 0o111
    assert judged(target).verdict is Verdict.PASS


def test_secrets_reach_no_file_and_the_scenario_passes(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    turns = [turn(("Read", {"path": ".env"})), ScriptedTurn(text="I see it.")]
    target, _, notes = recorded(tmp_path, turns, workspace=folder, prompts=[f"Use {KEY}."])
    assert all(KEY not in path.read_text() for path in target.parent.iterdir())
    assert "<openai-key-1>" in target.read_text()
    assert notes == ["2 secrets in the prompt and the workspace are replaced by placeholders"]
    case = judged(target)
    assert case.verdict is Verdict.PASS, case.first_line


def test_git_and_what_the_harness_keeps_are_left_out(tmp_path: Path) -> None:
    folder = project(tmp_path)
    for name in (".git", ".harness"):
        (folder / name).mkdir()
        (folder / name / "x").write_text("x")
    _, _, notes = recorded(tmp_path, [ScriptedTurn(text="Yes.")], workspace=folder)
    assert notes == ["the workspace's .git is left out: workspace.git writes a git state down"]
    assert {file.path for file in copied(folder, Scrubber()).files} == {"old.txt", "src/a.py"}


@pytest.mark.parametrize("turns", [[], [ScriptedTurn(error_status=500, error_message="no")]])
def test_nothing_is_left_of_a_session_that_failed(tmp_path: Path, turns: list[ScriptedTurn]) -> None:
    with pytest.raises(InputError, match=r"made/new\.yaml: m at \S+ gave no usable answer"):
        recorded(tmp_path, turns, workspace=project(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["project"]


def test_what_was_not_placed_is_gone(tmp_path: Path) -> None:
    target = tmp_path / "new.yaml"
    player = ScriptPlayer([ScriptedTurn(text="Yes.")])
    with (
        LoopbackServer(player) as server,
        drafted(Session(["x"], "m"), target, server.base_url, "none") as draft,
    ):
        assert draft.scenario.exists()
    assert list(tmp_path.iterdir()) == []


def test_placing_takes_the_place_of_all_that_was_there(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "new.workspace").mkdir(parents=True)
    (made / "new.workspace" / "x").write_text("x")
    for name in ("new.yaml", "new.cassette.jsonl"):
        (made / name).write_text("old")
    target = made / "new.yaml"
    with pytest.raises(InputError, match=r"new\.yaml is there already \(--force replaces it\)"):
        demand_free(target, force=False)
    demand_free(target, force=True)
    with (
        LoopbackServer(ScriptPlayer([ScriptedTurn(text="Yes.")])) as server,
        drafted(Session(["x"], "m"), target, server.base_url, "none") as draft,
    ):
        draft.place(target)
    assert sorted(path.name for path in made.iterdir()) == ["new.cassette.jsonl", "new.yaml"]
    assert judged(target).verdict is Verdict.PASS


def test_a_name_that_is_no_scenarios_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in \.yaml"):
        demand_free(tmp_path / "new.json", force=True)
    (tmp_path / "x.yaml").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        demand_free(tmp_path / "x.yaml", force=True)
    with pytest.raises(InputError, match="no such folder"):
        copied(tmp_path / "nowhere", Scrubber())


texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.text("a: -#|>'\"\n\t {}[]&*!%@`yes1.e", max_size=30)
documents = st.dictionaries(
    texts,
    st.recursive(
        texts | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=10,
    ),
    max_size=4,
)


@given(documents)
def test_what_is_written_as_yaml_is_read_as_the_same(document: dict[str, Any]) -> None:
    assert parse_source(Path("t.yaml"), to_yaml(document)).data == document


def test_half_a_surrogate_pair_is_written_as_an_escape(tmp_path: Path) -> None:
    turns = [turn(("Read", '{"path": "a\ud83d"}')), ScriptedTurn("done \ud83d")]
    target, _, _ = recorded(tmp_path, turns)
    assert r'final_text: "done \uD83D"' in target.read_text("utf-8")
    assert judged(target).verdict is Verdict.PASS
