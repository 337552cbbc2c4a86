from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from harness.report.html.texts import LONGEST, Texts

# Lone surrogates are wanted here: model output has them.
ANY = st.text(st.characters(), max_size=40)


def test_a_text_is_kept_once() -> None:
    texts = Texts(10)
    assert [texts.add("a"), texts.add("b"), texts.add("a"), texts.add("x" * 5000), texts.add("x" * 5000)] == [
        0, 1, 0, 2, 2,
    ]  # fmt: skip
    assert texts.document(10_000) == ["a", "b", "x" * 5000]


def test_a_long_text_keeps_both_ends_and_says_its_size() -> None:
    texts = Texts(10)
    texts.add("a" * 50_000 + "b" * 50_000)
    assert texts.document(1000) == [["a" * 750, "b" * 250, 100_000]]
    at_most = LONGEST * 3 // 4
    assert texts.document(10**9) == [["a" * at_most, "b" * (LONGEST - at_most), 100_000]]


@given(st.lists(ANY, max_size=6), st.lists(ANY, max_size=6), st.integers(1, 60))
def test_forgetting_restores_the_table_and_its_size(first: list[str], second: list[str], limit: int) -> None:
    texts = Texts(8)
    for text in first:
        texts.add(text)
    size, before, mark = texts.least_size, texts.document(limit), texts.mark()
    for text in second:
        texts.add(text)
    texts.back_to(mark)
    assert (texts.least_size, texts.document(limit)) == (size, before)
    assert len(orjson.dumps(texts.document(8))) <= max(2, texts.least_size + 1)
    numbers = [texts.add(text) for text in second]
    shown = texts.document(10_000)
    assert [texts.add(text) for text in second] == numbers
    assert all(isinstance(shown[number], str) for number in numbers)


def test_what_cannot_be_seen_is_written_out() -> None:
    texts = Texts(10)
    texts.add("a\u202eb\x1b[31m\ud800\n")
    assert texts.document(100) == ["a\\u202eb\\x1b[31m\\ud800\n"]
