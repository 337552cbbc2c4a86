"""A unified diff fits where it leads from one content to the other, whoever wrote it and wherever its parts stand."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.scenario.expected_diff import diff_problem, leads, read_diff, unified
from tests.scenario.scenarios import scenario

BEFORE = b"one\ntwo\nthree\nfour\n"
AFTER = b"one\n2\nthree\nfour\nfive\n"

GIT = """\
diff --git a/f.txt b/f.txt
index 3db7e1c..6a2b1f0 100644
--- a/f.txt
+++ b/f.txt
@@ -1,4 +1,5 @@
 one
-two
+2
 three
 four
+five
"""


@pytest.mark.parametrize("diff", [GIT, "-two\n+2\n+five\n", "+2\n-two\n+five\n", " one\n-two\n+2\n+five"])
def test_context_headers_and_numbers_do_not_matter(diff: str) -> None:
    assert diff_problem(diff) == ""
    assert leads(diff, BEFORE, AFTER)


@pytest.mark.parametrize(
    "diff",
    [
        "-two\n+2\n",  # leaves something out
        "-two\n+2\n+five\n+six\n",  # more than there is
        "-two\n+3\n+five\n",
        "+five\n-two\n+2\n",  # another order
        " three\n-two\n+2\n+five\n",  # context in another place
    ],
)
def test_a_diff_that_does_not_lead_there(diff: str) -> None:
    assert not leads(diff, BEFORE, AFTER)


def test_a_newline_at_the_end_is_part_of_a_line() -> None:
    assert leads("-a\n+a\n\\ No newline at end of file\n", b"a\n", b"a")
    assert not leads("-a\n+a\n", b"a\n", b"a")
    assert unified(b"a\n", b"a") == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"


def test_lines_that_look_like_headers_are_lines_where_a_hunk_has_begun() -> None:
    assert read_diff("@@ -1 +1 @@\n--- old\n+++ new\n") == [("-", "-- old\n"), ("+", "++ new\n")]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8)


@given(before=LINES, after=LINES, context=st.integers(0, 3))
def test_the_diff_of_another_program_always_leads_from_one_to_the_other(
    before: list[str], after: list[str], context: int
) -> None:
    diff = "".join(difflib.unified_diff(before, after, "a/f", "b/f", n=context))
    assert leads(diff, "".join(before).encode(), "".join(after).encode())


@given(before=LINES, after=LINES, other=LINES)
def test_a_diff_leads_to_one_content_where_its_context_is_whole(
    before: list[str], after: list[str], other: list[str]
) -> None:
    if before == after:
        return
    diff = "".join(difflib.unified_diff(before, after, n=100))
    assert leads(diff, "".join(before).encode(), "".join(other).encode()) == (other == after)


def test_many_equal_lines_are_no_trouble() -> None:
    many = b"same\n" * 3000
    assert leads("+new\n", many, many + b"new\n")
    assert not leads("-other\n+new\n", many, many + b"new\n")


@pytest.mark.parametrize(("diff", "why"), [(" only context\n", "it changes nothing"), ("*x\n", "begins neither with")])
def test_a_text_that_is_no_diff_is_refused(diff: str, why: str) -> None:
    assert why in diff_problem(diff)
    with pytest.raises(InputError) as caught:
        scenario(f"prompt: a\nplayer: {{script: []}}\nexpect:\n  files:\n    a.txt: {{diff: {diff!r}}}\n")
    assert "no unified diff" in str(caught.value)
    assert "test.yaml:5" in str(caught.value)
