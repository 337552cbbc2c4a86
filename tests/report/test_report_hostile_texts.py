"""Whatever text stands in whatever field, no report loses its form."""

from __future__ import annotations

import io
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from harness.judge.verdict import Case, Check, Verdict
from harness.report.frames import cases_frame, checks_frame
from harness.report.junit import junit_xml
from harness.report.markdown import summary
from harness.report.terminal import print_cases
from harness.report.text import contrast, one_line, shortened, visible

# Surrogates and noncharacters are wanted here: file names and model output have them.
MARKS = r"| \| \ ` ``` ~~~ # - --- = :- 1. > < <!-- --> <b> </td> &amp; &#124; ]]> * ** _ [x](y) ![ $ [red] [/]"
UNSEEN = (
    " ",
    "\r\n",
    "\n",
    "\n\n",
    "\t",
    "\x0b",
    "\x1c",
    "\x85",
    "\u2028",
    "\u202e",
    "\x00",
    "\x1b[31m",
    "\ufffe",
    "\ud800",
)
TEXTS = st.lists(st.characters() | st.sampled_from([*MARKS.split(), *UNSEEN, "\u8a9e"]), max_size=8).map("".join)
VERDICTS = st.sampled_from(Verdict)
CHECKS = st.builds(Check, TEXTS, VERDICTS, TEXTS, TEXTS, TEXTS, TEXTS)
FACTS = st.dictionaries(
    st.sampled_from(["steps", "calls", "tool_calls", "name"]) | TEXTS,
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(TEXTS, max_size=2),
    max_size=4,
)
CASES = st.lists(
    st.builds(
        Case,
        name=TEXTS,
        kind=st.sampled_from(["replay", "scenario"]) | TEXTS,
        path=TEXTS,
        checks=st.lists(CHECKS, max_size=3).map(tuple),
        verdict=VERDICTS,
        first_line=TEXTS,
        description=TEXTS,
        facts=FACTS,
        run_folder=TEXTS,
    ),
    max_size=5,
)
properties = settings(deadline=None)
RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


@properties
@given(cases=CASES, name=TEXTS)
def test_junit_parses_back_with_the_right_counts(cases: list[Case], name: str) -> None:
    suite = ET.fromstring(junit_xml(cases, name))[0]
    verdicts = [case.verdict for case in cases]
    bad = verdicts.count(Verdict.FAIL) + verdicts.count(Verdict.INCONCLUSIVE)
    assert suite.get("name") == one_line(name)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (
        str(len(cases)), str(bad), str(verdicts.count(Verdict.ERROR)),
    )  # fmt: skip
    elements = suite.findall("testcase")
    assert len({(element.get("classname"), element.get("name")) for element in elements}) == len(cases)
    for case, element in zip(cases, elements, strict=True):
        assert len(element.findall("properties/property")) == len(case.facts)
        outcomes = [child for child in element if child.tag != "properties"]
        assert [(child.tag, child.get("type")) for child in outcomes] == {
            Verdict.PASS: [],
            Verdict.FAIL: [("failure", "FAIL")],
            Verdict.INCONCLUSIVE: [("failure", "INCONCLUSIVE")],
            Verdict.ERROR: [("error", "ERROR")],
        }[case.verdict]
        for check in case.checks:
            if outcomes and check.verdict is not Verdict.PASS:
                assert visible(check.name).strip() in (outcomes[0].text or "")


@properties
@given(cases=CASES, title=TEXTS)
def test_the_markdown_table_has_a_row_a_case(cases: list[Case], title: str) -> None:
    tokens = RENDERER.parse(summary(cases, title))
    kinds = [token.type for token in tokens]
    assert kinds.count("table_open") == bool(cases)
    assert kinds.count("tr_open") == (len(cases) + 1 if cases else 0)
    assert kinds.count("td_open") == 6 * len(cases)
    cells = [tokens[at + 1].content for at, kind in enumerate(kinds) if kind == "td_open"]
    assert sorted(cells[0::6]) == sorted(case.verdict for case in cases)


@properties
@given(cases=CASES, title=TEXTS)
def test_markdown_texts_make_no_structure_of_their_own(cases: list[Case], title: str) -> None:
    tokens = RENDERER.parse(summary(cases, title))
    kinds = [token.type for token in tokens]
    bad = [case for case in cases if case.verdict is not Verdict.PASS]
    checks = [check for case in bad for check in case.checks if check.verdict is not Verdict.PASS]
    values = [side for check in checks if check.expected or check.actual for side in contrast_of(check) if side]
    assert kinds.count("heading_open") == 1 + len(bad)
    assert [token.content for token in tokens if token.type == "fence"] == [value + "\n" for value in values]
    blocks = {"heading_open", "paragraph_open", "fence", "inline"}
    assert {kind for kind in kinds if not kind.endswith("_close")} - blocks <= {
        "table_open", "thead_open", "tbody_open", "tr_open", "th_open", "td_open",
    }  # fmt: skip
    spans = [child for token in tokens for child in token.children or () if token.type == "inline"]
    assert {span.type for span in spans} <= {
        "text", "text_special", "strong_open", "strong_close", "code_inline", "softbreak", "html_inline",
    }  # fmt: skip
    assert {span.content for span in spans if span.type == "html_inline"} <= {"<br>"}


def contrast_of(check: Check) -> tuple[str, str]:
    return contrast(check.expected, check.actual, 2_000, 60)


@properties
@given(cases=CASES, terminal=st.booleans(), quiet=st.booleans())
def test_the_terminal_gets_no_codes_from_texts(cases: list[Case], terminal: bool, quiet: bool) -> None:
    console = Console(file=io.StringIO(), width=60, force_terminal=terminal, color_system=None, legacy_windows=False)
    print_cases(cases, console, quiet=quiet)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert visible(text) == text
    assert text.encode().endswith(b"\n")


@properties
@given(cases=CASES)
def test_frames_have_a_row_a_case_and_a_row_a_check(cases: list[Case]) -> None:
    frame = cases_frame(cases)
    assert len(frame) == len(cases)
    assert frame.columns.is_unique
    assert len(frame.columns) == 7 + len({key for case in cases for key in case.facts})
    assert len(checks_frame(cases)) == sum(len(case.checks) for case in cases)


@given(text=TEXTS, limit=st.integers(1, 20), lines=st.none() | st.integers(1, 3))
def test_what_is_missing_is_counted(text: str, limit: int, lines: int | None) -> None:
    short = shortened(text, limit, lines)
    if short != text:
        kept, _, note = short.rpartition("… (")
        assert text.startswith(kept)
        assert len(text) - len(kept) == int(note.split()[0])


@given(same=TEXTS, expected=TEXTS, actual=TEXTS, limit=st.integers(8, 40))
def test_texts_that_differ_are_shown_differently(same: str, expected: str, actual: str, limit: int) -> None:
    one, other = contrast(same * 20 + expected, same * 20 + actual, limit)
    # Only an escape that was spelled out in the text can look like one that was made.
    if expected != actual and "\\" not in one + other:
        assert one != other
