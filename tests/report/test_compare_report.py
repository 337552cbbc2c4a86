"""The report of a comparison: tables, Markdown with links, files and frames."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from harness.judge.compare import compare
from harness.judge.comparison import Comparison
from harness.report.compare import comparison_markdown, print_comparison, write_comparison
from harness.report.compare_frames import comparison_frames
from tests.judge.trials import FIGURES, result, results

DOCS = Path(__file__).resolve().parents[2] / "docs" / "comparing.md"


@pytest.fixture
def comparison() -> Comparison:
    old = results("old", {str(n): "++-" if n % 3 else "---" for n in range(9)})
    better = results("new", {str(n): "++" if n % 3 or not n else "--" for n in range(9)})
    new = [replace(each, figures=replace(FIGURES, steps=5)) for each in better]
    broken = result("old", "1", 5, passed=None, infrastructure="disk | full <b>")
    return compare([*old, *new, broken, result("new", "2", 4, passed=None)])


def printed(comparison: Comparison, *, quiet: bool = False) -> str:
    console = Console(file=io.StringIO(), width=80)
    print_comparison(comparison, console, quiet=quiet)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_terminal_shows_all_tables_and_the_conclusion_last(comparison: Comparison) -> None:
    text = printed(comparison)
    titles = ["Tasks solved", "A trial on average", "Pairs", "What a trial takes", "Tasks that differ", "Ended by"]
    assert [text.index(title) for title in titles] == sorted(text.index(title) for title in titles)
    assert "1 trial ended by the infrastructure and left out of every figure; the first: old, 1: disk | full" in text
    assert "1 trial could not be judged: no" in text
    assert text.splitlines()[-1].startswith("too few tasks to compare new with old: 1 of 9 tasks only by new")
    assert printed(comparison, quiet=True).splitlines() == [text.splitlines()[-1]]


def test_one_model_and_none_are_told_too() -> None:
    assert printed(compare(results("m", {"1": "+", "2": "-"})), quiet=True).startswith("m solves 50.0% of 2 tasks (9.")
    assert printed(compare([])) == "no trial was judged\n"


def test_markdown_links_a_run_of_each_model_and_escapes_texts(comparison: Comparison, tmp_path: Path) -> None:
    text = comparison_markdown(comparison, Path("out/compare"))
    assert text.startswith("# harness compare\n\n- **too few tasks")
    assert "[runs/old--0--0](<../../runs/old--0--0>) | [runs/new--0--0](<../../runs/new--0--0>)" in text
    assert "| 0 of 3 | 2 of 2 |" in text
    assert r"disk \| full &lt;b&gt;" in text
    assert "<b>" not in text
    odd = replace(comparison.results[0], folder=Path("a b/<x>|y"), passed=True)
    linked = comparison_markdown(compare([odd, replace(odd, model="z", passed=False)]), tmp_path)
    assert re.search(r"\[a b/&lt;x&gt;\\\|y\]\(<[^<>| ]*/a%20b/%3Cx%3E%7Cy>\)", linked)


def test_files_hold_the_document_and_the_frames(comparison: Comparison, tmp_path: Path) -> None:
    summary = write_comparison(comparison, tmp_path / "compare", parquet=True)
    assert summary.read_text("utf-8") == comparison_markdown(comparison, tmp_path / "compare")
    names = {path.name for path in (tmp_path / "compare").iterdir()}
    frames = comparison_frames(comparison)
    tables = {f"{name}.{kind}" for name in frames for kind in ("csv", "parquet")}
    assert names == {"summary.md", "comparison.json", "report.html", "results.jsonl"} | tables
    document = json.loads((tmp_path / "compare" / "comparison.json").read_text("utf-8"))
    assert document == json.loads(json.dumps(comparison.document()))
    for name, frame in frames.items():
        read = pd.read_csv(tmp_path / "compare" / f"{name}.csv")
        assert list(read.columns) == list(frame.columns)
        assert len(read) == len(frame) > 0
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "compare" / f"{name}.parquet"), frame)


def test_the_frames_say_what_the_document_says(comparison: Comparison) -> None:
    frames = comparison_frames(comparison)
    trials = frames["trials"]
    assert len(trials) == len(comparison.results)
    assert trials["infrastructure"].notna().sum() == 1
    usable = trials[trials["infrastructure"].isna() & trials["passed"].notna()]
    by_task = usable.astype({"passed": "float"}).groupby(["model", "task"])["passed"].mean().groupby("model").mean()
    first = frames["pass_k"].query("k == 1").set_index("model")["pass_hat"]
    assert by_task.to_dict() == pytest.approx(first.to_dict())
    (pair,) = comparison.pairs
    tasks = frames["tasks"]
    assert (tasks["solved_b"] & ~tasks["solved_a"]).sum() == pair.evidence.only_b == 1
    assert frames["pairs"].loc[0, "conclusion"] == "too few tasks"
    assert set(frames["resources"]["resource"]) == set(pair.resources)


def test_no_trials_still_make_frames_with_their_columns() -> None:
    for name, frame in comparison_frames(compare([])).items():
        assert len(frame) == 0, name
        assert len(frame.columns) > 5, name


def test_every_column_is_documented(comparison: Comparison) -> None:
    text = DOCS.read_text("utf-8")
    for name, frame in comparison_frames(comparison).items():
        section = text.split(f"### {name}.csv", 1)[1].split("\n#", 1)[0]
        for column in frame.columns:
            assert f"`{column}`" in section, f"{name}: {column}"
