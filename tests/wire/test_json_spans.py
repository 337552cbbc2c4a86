from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness.wire.json_spans import EACH, character_offsets, document_start, find, items, member_span, members

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=3), values, max_size=4)
layouts = st.sampled_from([(None, (",", ":")), (2, (" ,", " : ")), (None, (", ", ": "))])


@given(objects, layouts, st.booleans(), st.sampled_from(["", " \n"]))
def test_members_and_items_lie_where_they_are_said_to(
    value: dict[str, Any], layout: tuple[int | None, tuple[str, str]], ascii_only: bool, before: str
) -> None:
    text = before + json.dumps(value, indent=layout[0], separators=layout[1], ensure_ascii=ascii_only)
    start = document_start(text)
    found = {member.key: json.loads(text[member.value.start : member.value.end]) for member in members(text, start)}
    assert found == value
    assert list(items(text, start)) == []
    for key, inner in value.items():
        (span,) = find(text, start, key)
        assert json.loads(text[span.start : span.end]) == inner
        if isinstance(inner, list):
            parts = [json.loads(text[part.start : part.end]) for part in find(text, start, key, EACH)]
            assert parts == inner
        gone = member_span(text, start, key)
        assert gone is not None
        rest = json.loads(text[: gone.start] + text[gone.end :])
        assert list(rest.items()) == [(name, other) for name, other in value.items() if name != key]
    assert member_span(text, start, "not there") is None


@given(st.text(max_size=12), st.booleans())
def test_a_character_begins_where_its_escape_does(value: str, ascii_only: bool) -> None:
    literal = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
    offsets = character_offsets(literal)
    assert len(offsets) == len(value) + 1
    for number in range(len(value) + 1):
        assert json.loads(f'"{literal[: offsets[number]]}"') == value[:number]
