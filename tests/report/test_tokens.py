from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from harness.errors import InputError
from harness.judge.tokens import Measured
from harness.measure.against import compare_tools, sent_tools, tool_set
from harness.measure.overhead import measure_task
from harness.measure.prices import bill
from harness.report import frame_files
from harness.report import tokens as report
from harness.report.tokens_frames import steps_frame, tools_frame
from harness.report.tokens_picture import task_svg
from tests.measure.talks import session_of, talk, tool

SVG = "{http://www.w3.org/2000/svg}"
TOOLS = [tool("read", "Reads | a <file>."), tool("edit", "Changes a file. " * 12)]
USAGE = {"prompt_tokens": 200, "completion_tokens": 10, "total_tokens": 210}


def measured(turns: int = 4, files: int = 1, name: str = "") -> Measured:
    found = Measured()
    for number in range(files):
        calls = [[("read", f"text {n} é"), ("read", "more é")] for n in range(turns - 1)]
        session = session_of(talk([*calls, []], TOOLS, USAGE))
        session.file = session.tasks[0].file = name or f"talk{number}.yaml"
        found.sessions.append(session)
        found.tasks.append(measure_task(session.tasks[0]))
        found.bills.append(bill(session.tasks[0].steps))
    return found


def printed(found: Measured, *, quiet: bool = False, terminal: bool = False, width: int = 160) -> str:
    stream = io.StringIO()
    report.print_tokens(
        found, Console(file=stream, force_terminal=terminal, width=width, color_system=None), quiet=quiet
    )
    return stream.getvalue()


def test_frames_hold_every_step_and_tool() -> None:
    found = measured(files=2)
    steps, tools = steps_frame(found), tools_frame(found)
    assert list(steps["step"]) == [1, 2, 3, 4] * 2
    assert list(steps["task"]) == [1] * 4 + [2] * 4
    kinds = ["system", "tools", "history_user", "history_assistant", "history_tool", "history_other", "other"]
    assert (steps[kinds].sum(axis="columns") == steps["counted"]).all()
    assert list(tools["name"]) == ["edit", "read"]
    assert list(tools["unused_tokens"] > 0) == [True, False]
    assert steps["price_usd"].notna().all()


def test_frames_of_nothing_have_their_columns() -> None:
    assert list(steps_frame(Measured()).columns) == list(steps_frame(measured()).columns)
    assert list(tools_frame(Measured()).columns) == list(tools_frame(measured()).columns)


def test_what_was_not_reported_is_missing_in_the_frame() -> None:
    found = Measured()
    (task,) = session_of(talk([[]], [])).tasks
    found.tasks.append(measure_task(task))
    frame = steps_frame(found)
    assert frame["recorded_prompt"].isna().all()
    assert frame["counted"].notna().all()


@pytest.mark.parametrize("steps", [1, 4, 40, 200])
def test_the_picture_is_one_valid_svg_with_axes_and_a_legend(steps: int) -> None:
    found = measured(steps)
    text = task_svg(found.tasks[0], 'A <title> & "more"')
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    words = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert 'A <title> & "more"' in words
    assert "prompt tokens" in words
    tools = sum(step.tools for step in found.tasks[0].steps)
    assert any(word.startswith(f"tools {tools:,} (") for word in words)
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(bars) >= 3 * steps if steps <= 90 else not bars
    for element in root.iter():
        assert "href" not in "".join(element.attrib)
    numbers = [float(value) for value in re.findall(r" (?:x|y|cx|cy|height)='(-?[\d.]+)'", text)]
    assert all(0 <= number <= 760 for number in numbers)


def test_the_bars_stand_on_each_other_and_reach_the_total() -> None:
    found = measured(3)
    root = ET.fromstring(task_svg(found.tasks[0], "t"))
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    heights: dict[str, float] = {}
    for bar in bars:
        heights[bar.attrib["x"]] = heights.get(bar.attrib["x"], 0) + float(bar.attrib["height"])
    totals = [step.total for step in found.tasks[0].steps]
    ratios = [height / total for height, total in zip(heights.values(), totals, strict=True)]
    assert max(ratios) == pytest.approx(min(ratios), rel=0.02)


def test_files_are_written_and_old_pictures_removed(tmp_path: Path) -> None:
    (tmp_path / "task-9.svg").write_text("old")
    summary = report.write_tokens(measured(files=2), tmp_path, parquet=True)
    assert summary == tmp_path / "summary.md"
    names = {path.name for path in tmp_path.iterdir()}
    expected = {"summary.md", "task-1.svg", "task-2.svg"}
    assert names == expected | {f"{name}.{kind}" for name in ("steps", "tools") for kind in ("csv", "parquet")}
    steps = pd.read_csv(tmp_path / "steps.csv")
    assert len(steps) == 8
    assert list(pd.read_parquet(tmp_path / "steps.parquet")["counted"]) == list(steps["counted"])


def test_without_pyarrow_parquet_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_files, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pyarrow"):
        report.write_tokens(measured(), tmp_path, parquet=True)


def test_markdown_links_the_pictures_and_escapes_names() -> None:
    text = report.tokens_markdown(measured(name="a|b<c>.yaml"))
    assert "![prompt tokens by step](task-1.svg)" in text
    assert "a\\|b&lt;c&gt;.yaml" in text
    assert "<c>" not in text
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in {8, 11, 13}


def test_the_terminal_shows_few_tasks_step_by_step_and_many_as_a_row_each() -> None:
    few, many = printed(measured()), printed(measured(files=5))
    assert "Task 1: talk0.yaml" in few
    assert "sent and never called" in few
    assert "parallel calls saved 3 round trips" in few
    assert "single requests without the history" in few
    assert "price: $" in few
    assert "Task 1:" not in many
    assert "talk4.yaml" in many
    assert printed(measured(), quiet=True).count("\n") == 1


def test_a_narrow_terminal_and_hostile_names_are_no_trouble() -> None:
    text = printed(measured(name="[red]\x1b[2J\u202e.yaml"), terminal=True, width=60)
    assert "\x1b[2J" not in text
    assert "[red]" in text


def test_a_change_of_tools_is_shown_with_sign_and_sum() -> None:
    found = measured()
    after = sent_tools(task.task for task in found.tasks)
    assert after is not None
    found.against = compare_tools(tool_set(TOOLS[:1], "gpt-4o"), after, [task.task for task in found.tasks])
    text = printed(found)
    assert re.search(r"edit +added +\d+ +\+\d+", text)
    assert f"per request +{found.against.delta}" in text
    assert "over 4 requests of 1 task" in text
    assert "Change of the definitions" in report.tokens_markdown(found)
