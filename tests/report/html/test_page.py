from __future__ import annotations

import base64
import json
import re
import shutil
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from harness.judge.verdict import Case, Check, Verdict
from harness.report.html import page as page_module
from harness.report.html.page import LARGEST, render_page
from harness.trace.folder import save_run
from harness.trace.run import Lane, Run
from tests.report.html.runs import HOSTILE, call, saved_cases, step


class Elements(HTMLParser):
    """What a reader of HTML sees: elements with their attributes, and the content of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.contents:
            self.contents[self._open].append(data)


def island(html: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Elements(html).contents["script"][0])
    return data


def test_the_page_is_the_same_wherever_its_folder_stands(tmp_path: Path) -> None:
    first = render_page(saved_cases(tmp_path / "a"), "t").html
    assert first == render_page(saved_cases(tmp_path / "a"), "t").html
    assert first == render_page(saved_cases(tmp_path / "elsewhere" / "b"), "t").html
    assert str(tmp_path) not in first


def test_nothing_is_requested_and_only_the_pages_own_script_may_run(tmp_path: Path) -> None:
    elements = Elements(render_page(saved_cases(tmp_path), "t").html)
    for name, attributes in elements.found:
        assert name not in ("link", "img", "iframe", "object", "base"), name
        assert not {"src", "style", "srcset"} & attributes.keys()
        assert not [key for key in attributes if key.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    [policy] = [
        attributes["content"] for _, attributes in elements.found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]  # fmt: skip
    [style], [_, script] = elements.contents["style"], elements.contents["script"]
    for text in (style, script):
        assert f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'" in (policy or "")
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
    assert "default-src 'none'" in (policy or "")
    assert "unsafe" not in (policy or "")


def test_hostile_texts_are_texts(tmp_path: Path) -> None:
    plain = Elements(render_page(saved_cases(tmp_path / "a"), "t").html)
    html = render_page(saved_cases(tmp_path / "b", HOSTILE), HOSTILE).html
    hostile = Elements(html)
    assert [name for name, _ in hostile.found] == [name for name, _ in plain.found]
    assert "\u202e" not in html
    assert "\u2028" not in html
    assert any("</script>" in text for text in island(html)["texts"] if isinstance(text, str))


def test_rows_come_from_the_frames_with_what_did_not_pass_first(tmp_path: Path) -> None:
    page = render_page(saved_cases(tmp_path), "Nightly")
    assert re.findall(r'<tr id="(case-\d+)"', page.html) == ["case-1", "case-2", "case-0"]
    assert list(page.frames) == ["cases", "checks", "runs", "steps", "calls"]
    assert page.frames["calls"]["beside"].tolist() == [1, 1, 0] * 2
    assert page.frames["calls"]["permission"].tolist()[0::3] == ["allow", "allow"]
    assert "<title>FAIL: Nightly</title>" in page.html
    documents = island(page.html)["cases"]
    assert [sorted(document) for document in documents] == [
        ["about", "checks", "folder", "run"], ["checks", "folder", "run"], ["checks"],
    ]  # fmt: skip
    assert documents[0]["folder"] == "runs/good"


def test_no_cases_are_no_pass() -> None:
    html = render_page([], "t").html
    assert "nothing has passed" in html
    assert "<title>INCONCLUSIVE: t</title>" in html


def test_a_run_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    cases = saved_cases(tmp_path)
    shutil.rmtree(cases[0].run_folder)
    assert island(render_page(cases, "t").html)["cases"][0]["left_out"] == "it cannot be read: there is no run here"


def large_run(number: int) -> Run:
    steps = [
        step(index, (call(index, observation=f"{number} {index} " + "text " * 900),), exchange=None)
        for index in range(15)
    ]
    return Run(f"task-{number}", "scenario", "s", [Lane("main", [*steps, step(15, exchange=None)], "answered")])


def test_two_hundred_large_tasks_stay_under_three_megabytes(tmp_path: Path) -> None:
    cases = [
        Case(f"task-{number}", "scenario", f"s/task-{number}.yaml", (Check("files", Verdict.PASS),) * 5, Verdict.PASS,
             run_folder=str(save_run(large_run(number), tmp_path / str(number))))
        for number in range(200)
    ]  # fmt: skip
    html = render_page(cases, "t").html
    assert 1_000_000 < len(html.encode()) <= LARGEST < 3_000_000
    data = island(html)
    assert not [document for document in data["cases"] if "left_out" in document]
    cut = [text for text in data["texts"] if not isinstance(text, str)]
    assert len(cut) == 3000
    assert all(size > 4_500 > len(head) + len(tail) for head, tail, size in cut)


def test_where_even_cut_texts_are_too_much_runs_of_passed_cases_are_left_out_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "LARGEST", 0)
    monkeypatch.setattr(page_module, "_LEAST_ROOM", 20_000)
    cases = [
        Case(f"task-{number}", "scenario", "", (), Verdict.FAIL if number == 5 else Verdict.PASS,
             run_folder=str(save_run(large_run(number), tmp_path / str(number))))
        for number in range(6)
    ]  # fmt: skip
    html = render_page(cases, "t").html
    kept = [number for number, document in enumerate(island(html)["cases"]) if "run" in document]
    assert 5 in kept
    assert len(kept) < 6
    assert "are left out to keep this page small" in html


def test_trials_are_counted_apart_from_tests(tmp_path: Path) -> None:
    trial = Case("t #0 (m)", "trial", "", (), Verdict.FAIL, "the recorded reward is 0, not 1")
    html = render_page([trial, saved_cases(tmp_path)[0]], "t").html
    assert "<title>PASS: t</title>" in html
    assert "1 recorded trial: 0 passed, 1 failed" in html
    assert re.findall(r'<tr id="(case-\d+)"', html) == ["case-1", "case-0"]
