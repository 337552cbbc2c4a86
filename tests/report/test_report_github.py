from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.verdict import Attribution, Case, Verdict
from harness.report.github import SHOWN, append_step_summary, case_annotations, checkout, in_github_actions, silenced

ROOT = Path("/checkout")
IN_GITHUB = {"GITHUB_ACTIONS": "true"}
COMMAND = re.compile(r"::(?P<kind>error|notice) (?P<properties>[^:]*)::(?P<message>.*)")
TEXTS = st.text(st.characters(), max_size=40)


def case(
    name: str = "c", verdict: Verdict = Verdict.FAIL, line: str = "it differs", path: str = "/checkout/s/c.yaml"
) -> Case:
    return Case(name, "scenario", path, (), verdict, line, line=7, attribution=Attribution.AGENT)


def test_an_annotation_stands_on_the_line_of_the_scenario() -> None:
    assert case_annotations([case(), case(verdict=Verdict.PASS)], ROOT) == [
        "::error file=s/c.yaml,line=7,title=FAIL%3A c (/checkout/s/c.yaml)::it differs [agent]"
    ]


def test_a_file_elsewhere_is_named_in_full_and_a_case_without_one_has_no_place() -> None:
    elsewhere, nowhere = case_annotations([case(path="/other/c.yaml"), case("d", path="")], ROOT)
    assert "file=/other/c.yaml,line=7" in elsewhere
    assert nowhere == "::error title=FAIL%3A d::it differs [agent]"


@pytest.mark.parametrize("path", ["\ud800.yaml", "a\0.yaml"])
def test_a_path_that_no_file_can_have_is_told_as_it_is(path: str) -> None:
    (line,) = case_annotations([case(path=path)], ROOT)
    assert line.startswith("::error file=")


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4))
def test_no_text_makes_a_second_command_or_property(texts: list[tuple[str, str, str]]) -> None:
    cases = [case(name, line=line, path=path) for name, line, path in texts]
    for line in case_annotations(cases, ROOT):
        assert "\n" not in line
        assert "\r" not in line
        found = COMMAND.fullmatch(line)
        assert found is not None, line
        keys = [entry.partition("=")[0] for entry in found["properties"].split(",")]
        assert keys in (["file", "line", "title"], ["title"])


def test_the_gravest_come_first_and_what_github_drops_is_counted() -> None:
    cases = [case(f"i{number}", Verdict.INCONCLUSIVE) for number in range(SHOWN)]
    found = case_annotations([*cases, case("e", Verdict.ERROR), case("f")], ROOT)
    assert len(found) == SHOWN + 1
    assert "title=FAIL" in found[0]
    assert "title=ERROR" in found[1]
    assert found[-1] == "::notice title=harness::2 more cases did not pass; the job's summary has them all"


def test_what_a_baseline_accepts_is_a_notice() -> None:
    (line,) = case_annotations([case()], ROOT, frozenset({"/checkout/s/c.yaml"}))
    assert line.startswith("::notice file=s/c.yaml")


def test_the_summary_is_added_to_what_is_there(tmp_path: Path) -> None:
    page = tmp_path / "summary"
    page.write_text("before\n")
    assert append_step_summary("# ünï \ud800", {"GITHUB_STEP_SUMMARY": str(page)})
    assert page.read_text("utf-8") == "before\n# ünï \\ud800\n"
    assert not append_step_summary("# x", {})


def test_between_stop_and_token_no_line_is_a_command() -> None:
    lines: list[str] = []
    with silenced(lines.append, IN_GITHUB, lambda: "abc"):
        lines.append("::error::from a model")
    assert lines == ["::stop-commands::abc", "::error::from a model", "::abc::"]


def test_the_token_is_there_also_after_an_error_and_never_twice_the_same() -> None:
    lines: list[str] = []
    for _ in range(2):
        with pytest.raises(ValueError, match="x"), silenced(lines.append, IN_GITHUB):
            raise ValueError("x")
    assert lines[1] == f"::{lines[0].removeprefix('::stop-commands::')}::"
    assert lines[0] != lines[2]


def test_elsewhere_nothing_is_written() -> None:
    lines: list[str] = []
    with silenced(lines.append, {"GITHUB_ACTIONS": "false"}):
        pass
    assert lines == []
    assert not in_github_actions({})


def test_the_checkout_is_githubs_or_the_working_folder() -> None:
    assert checkout({"GITHUB_WORKSPACE": "/w"}) == Path("/w")
    assert checkout({}) == Path()
