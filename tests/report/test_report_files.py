from __future__ import annotations

from pathlib import Path

import pytest

from harness.judge.results import load_results
from harness.judge.verdict import Case, Verdict
from harness.report.files import write_reports
from harness.report.html.page import render_page
from harness.report.junit import junit_xml
from harness.report.markdown import summary

CASES = [Case("ünï", "scenario", "s.yaml", (), Verdict.ERROR, "no server")]


def test_reports_are_written_with_the_same_bytes_every_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "reports"
    written = write_reports(CASES, folder, "title")
    assert written == {name: folder / name for name in ("junit.xml", "summary.md", "results.jsonl", "report.html")}
    assert sorted(folder.iterdir()) == sorted(written.values())
    assert written["junit.xml"].read_bytes() == junit_xml(CASES, "title")
    assert written["summary.md"].read_bytes() == summary(CASES, "title").encode()
    assert load_results(folder) == CASES
    assert written["report.html"].read_text("utf-8") == render_page(CASES, "title").html
    before = {path: path.read_bytes() for path in written.values()}
    write_reports(CASES, folder, "title")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_reports(CASES, tmp_path / "file", "title")
