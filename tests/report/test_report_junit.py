from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from harness.judge.verdict import Attribution, Case, Check, Verdict
from harness.report.junit import junit_xml

PASSED = Case("short", "replay", "cassettes/v1.2/short.yaml", (), Verdict.PASS, facts={"steps": 3, "model": None})
FAILED = Case(
    "edit",
    "scenario",
    "scenarios/edit.yaml",
    (
        Check("finished", Verdict.PASS),
        Check("files", Verdict.FAIL, "a.txt differs", "one\ntwo\nthree", "one\n2\nthree", "a.txt"),
        Check("calls", Verdict.FAIL, "wrong tool", "Edit", "Bash <rm>", "step 3"),
    ),
    Verdict.FAIL,
    "a.txt: a.txt differs",
    run_folder="runs/edit",
)


def text_of(check: Check) -> str:
    case = Case("c", "scenario", "c.yaml", (check,), Verdict.FAIL, "first")
    return ET.fromstring(junit_xml([case])).findtext(".//failure") or ""


def test_the_document_is_what_continuous_integration_reads() -> None:
    assert junit_xml([PASSED, FAILED]).decode() == (
        """\
<?xml version='1.0' encoding='utf-8'?>
<testsuites>
  <testsuite name="harness" tests="2" failures="1" errors="0" skipped="0" time="0">
    <testcase classname="replay.cassettes.v1_2" name="short" file="cassettes/v1.2/short.yaml" time="0">
      <properties>
        <property name="steps" value="3" />
        <property name="model" value="" />
      </properties>
    </testcase>
    <testcase classname="scenario.scenarios" name="edit" file="scenarios/edit.yaml" time="0">
      <failure message="a.txt: a.txt differs" type="FAIL">a.txt: a.txt differs

FAIL files
    where: a.txt
    a.txt differs
    expected   actual
    one        one
    two      ≠ 2
    three      three

FAIL calls
    where: step 3
    wrong tool
    expected: Edit
    actual:   Bash &lt;rm&gt;

run: runs/edit</failure>
    </testcase>
  </testsuite>
</testsuites>
"""
    )


@pytest.mark.parametrize(
    ("verdict", "tag", "failures", "errors"),
    [
        (Verdict.FAIL, "failure", "1", "0"),
        (Verdict.INCONCLUSIVE, "failure", "1", "0"),
        (Verdict.ERROR, "error", "0", "1"),
    ],
)
def test_nothing_but_pass_is_green(verdict: Verdict, tag: str, failures: str, errors: str) -> None:
    suite = ET.fromstring(junit_xml([Case("c", "scenario", "-", (), verdict)]))[0]
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (failures, errors, "0")
    (outcome,) = suite[0]
    assert (outcome.tag, outcome.get("type"), outcome.get("message")) == (tag, verdict, verdict)


def test_cases_of_one_name_in_one_folder_stay_apart() -> None:
    cases = [Case("x", "replay", path, (), Verdict.PASS) for path in ("a/x.yaml", "a/x.json", "b/x.yaml", "a/x.json")]
    found = [(c.get("classname"), c.get("name")) for c in ET.fromstring(junit_xml(cases)).iter("testcase")]
    assert found == [
        ("replay.a", "x (a/x.yaml)"),
        ("replay.a", "x (a/x.json)"),
        ("replay.b", "x"),
        ("replay.a", "x (a/x.json) #2"),
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("-", "replay"), ("../up/x.yaml", "replay.up"), ("/root/x.yaml", "replay.root"), ("a\\b\\x.yaml", "replay.a.b")],
)
def test_class_names_come_from_kind_and_folder(path: str, expected: str) -> None:
    case = ET.fromstring(junit_xml([Case("x", "replay", path, (), Verdict.PASS)])).find(".//testcase")
    assert case is not None
    assert case.get("classname") == expected


def test_what_cannot_be_seen_is_written_out() -> None:
    text = text_of(Check("bytes", Verdict.FAIL, "null \x00 escape \x1b[31m", "a\r\nb", "a\nb\ud800\ufffe"))
    assert "null \\x00 escape \\x1b[31m" in text
    assert "a\\r" in text
    assert "b\\ud800\\ufffe" in text


def test_a_late_difference_in_long_values_is_in_view() -> None:
    text = text_of(Check("long", Verdict.FAIL, "", "x" * 50_000 + "old" + "y" * 50_000, "x" * 50_000 + "new"))
    assert "(47,500 characters that are the same) …x" in text
    assert "xold" in text
    assert text.endswith("xnew")
    assert "y… (42,503 more characters)" in text
    assert len(text) < 25_000


def test_a_difference_in_white_space_is_drawn() -> None:
    assert "expected: two·words\n    actual:   two→words" in text_of(
        Check("s", Verdict.FAIL, "", "two words", "two\twords")
    )


def test_facts_that_are_no_text_become_json() -> None:
    case = Case("c", "replay", "c", (), Verdict.PASS, facts={"by_model": {"b": 1, "a": [True]}, "tags": {"y", "x"}})
    values = [element.get("value") for element in ET.fromstring(junit_xml([case])).iter("property")]
    assert values == ['{"a": [true], "b": 1}', '["x", "y"]']


def test_a_failure_says_on_which_line_and_whose_doing_it_is() -> None:
    bad = Case(
        "b",
        "scenario",
        "b.yaml",
        (),
        Verdict.FAIL,
        "differs",
        attribution=Attribution.PROVIDER,
        evidence="HTTP 400",
        line=9,
    )
    (case,) = ET.fromstring(junit_xml([bad])).iter("testcase")
    assert case.get("line") == "9"
    assert {entry.get("name"): entry.get("value") for entry in case.iter("property")} == {"attribution": "provider"}
    assert "attributed to: provider (HTTP 400)" in (case.findtext("failure") or "")
