"""Whether texts are JSON, also while they grow."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire import json_text
from harness.wire.json_text import GrowingObject, first_object_end, is_json, is_json_object

_VALUES = st.recursive(
    st.none() | st.integers() | st.text('a"\\{}[] ', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\}', max_size=3), inner, max_size=3),
    max_leaves=8,
)
_PIECES = st.lists(
    st.sampled_from(["{", "}", "{}", '"a":', '"', "\\", "[", "]", ",", "1", " ", "\n", "\u00a0"])
    | _VALUES.map(json.dumps),
    max_size=10,
)


@given(pieces=_PIECES)
def test_a_text_that_grows_is_judged_as_the_joined_text_is(pieces: list[str]) -> None:
    growing = GrowingObject()
    fragments: list[str] = []
    for piece in pieces:
        fragments.append(piece)
        assert growing.is_whole(fragments) == is_json_object("".join(fragments))
        assert growing.is_whole(fragments) == is_json_object("".join(fragments))


@given(value=st.dictionaries(st.text(max_size=3), _VALUES, max_size=3), size=st.integers(1, 5))
def test_an_object_in_pieces_is_whole_at_its_end_and_not_before(value: dict[str, object], size: int) -> None:
    text = json.dumps(value)
    growing = GrowingObject()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert [growing.is_whole(pieces[: n + 1]) for n in range(len(pieces))] == [False] * (len(pieces) - 1) + [True]


def test_many_questions_parse_a_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def watched(text: str) -> bool:
        parsed.append(text)
        return is_json(text)

    monkeypatch.setattr(json_text, "is_json", watched)
    growing, fragments = GrowingObject(), ['{"a":[{}']
    for piece in [",{}"] * 50 + ["]}", " ", "\n"]:
        fragments.append(piece)
        growing.is_whole(fragments)
    assert len(parsed) == 1


@given(value=st.dictionaries(st.text(max_size=3), _VALUES, max_size=3), rest=st.text(max_size=5))
def test_the_first_object_ends_where_it_ends_whatever_follows(value: dict[str, object], rest: str) -> None:
    text = json.dumps(value)
    assert first_object_end(" \n" + text + rest) == len(text) + 2


@pytest.mark.parametrize("text", ["", " ", "[]", '"a"', "{", '{"a":1', "x{}", '{"a":' * 5000 + "1"])
def test_where_a_text_begins_with_no_object_there_is_no_end(text: str) -> None:
    assert first_object_end(text) is None
    assert not is_json_object(text)


def test_json_is_told_strictly() -> None:
    assert [is_json(text) for text in ("1", "null", "{}", "NaN", "", "{} {}")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
