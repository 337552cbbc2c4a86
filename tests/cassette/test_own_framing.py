"""A stream's text stored as runs of events."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.own.framing import framed, unframed

tokens = st.sampled_from(["a", "aa", "aaa", " the", "\n\n", "\n", "", "data: ", '{"x":"', '"}', "é"])


@given(text=st.one_of(st.lists(tokens, max_size=30).map("".join), st.text()))
def test_any_text_comes_back(text: str) -> None:
    assert unframed(framed(text)) == text


@given(
    words=st.lists(st.text(max_size=8), min_size=3, max_size=12),
    frame=st.tuples(st.text(min_size=20), st.text(min_size=20)),
)
def test_any_run_of_events_comes_back(words: list[str], frame: tuple[str, str]) -> None:
    text = "".join(f"{frame[0]}{word}{frame[1]}\n\n" for word in words)
    assert unframed(framed(text)) == text


def test_a_reviewer_reads_the_tokens() -> None:
    def event(delta: str) -> str:
        return f'data: {{"id":"x","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{{delta}}}}}]}}\n\n'

    words = ["The", " th", " quick", " brown", " fox"]
    first, last = event('"role":"assistant","content":""'), event("")
    text = first + "".join(event(f'"content":"{word}"') for word in words) + last + "data: [DONE]\n\n"
    start = 'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"'
    assert framed(text) == [
        first,
        {"before": start, "parts": words, "after": '"}}]}\n\n'},
        last,
        "data: [DONE]\n\n",
    ]


@pytest.mark.parametrize(
    "value",
    [1, None, [1], [{}], [{"before": "a", "parts": [], "after": ""}], [{"before": "", "parts": "x", "after": ""}]],
)
def test_what_is_no_body_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"body|parts"):
        unframed(value)
