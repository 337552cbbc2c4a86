"""JSON with half surrogate pairs: read and written as orjson does, but for the halves."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.wire.half_pairs import dumps, is_whole, loads, rejoined, without_halves

HALF, OTHER_HALF = "\ud83d", "\ude00"

texts = st.text(st.characters(categories=["Cs", "L", "Cn"]) | st.sampled_from('\ufdd0"\\/u d83\n'), max_size=12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
OPTIONS = st.sampled_from([None, orjson.OPT_INDENT_2, orjson.OPT_SORT_KEYS])


def meant(value: Any) -> Any:
    """What the value is for a reader: two halves side by side are a character, and of equal keys the last counts."""
    return json.loads(json.dumps(value))


@given(value=values, option=OPTIONS)
def test_what_is_written_is_read_back(value: Any, option: int | None) -> None:
    text = dumps(value, option)
    assert loads(text) == loads(text.decode()) == json.loads(text) == meant(value)


@given(value=values, ascii_only=st.booleans())
def test_what_others_write_is_read(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "backslashreplace")
    assert loads(text) == meant(value)


@given(value=values)
def test_without_halves_the_bytes_are_those_of_orjson(value: Any) -> None:
    whole = without_halves(value)
    assert dumps(whole) == orjson.dumps(whole)
    assert loads(dumps(whole)) == whole


def test_only_halves_are_escaped() -> None:
    assert dumps({"é\ud83d": ["😀\ufdd0", "\udfff"]}) == '{"é\\ud83d":["😀\\ufdd0","\\udfff"]}'.encode()
    assert dumps(["😀\ufdd0é"]) == '["😀\ufdd0é"]'.encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\uD83D"', HALF),
        (r'"\ude00\ud83d"', OTHER_HALF + HALF),
        (r'"\ud83d\ud83d\ude00"', HALF + "😀"),
        (r'"\ud83d\u0041"', HALF + "A"),
        (r'"\\ud83d\ud83d"', r"\ud83d" + HALF),
        (r'"\\\ud83d"', "\\" + HALF),
        (r'"\ud83d\\ude00"', HALF + r"\ude00"),
        (r'"\ud83d \ufdd0\uFDD0d83d"', HALF + " \ufdd0\ufdd0d83d"),
        ('"\ufdd0d83d\\ud83d"', "\ufdd0d83d" + HALF),
        (r'{"\ud83d": 1, "a": 2, "\ud83d": 3}', {HALF: 3, "a": 2}),
        (r' ["\ud83d", 123456789012345678901, -0, 1e2] ', [HALF, 123456789012345680000.0, 0, 100.0]),
    ],
)
def test_escapes_are_told_apart(text: str, value: Any) -> None:
    assert loads(text) == loads(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        b"", b"nonsense", b'{"a": 1,}', b'{"a": NaN}', b'["\\ud83d', b'["\\ud83d", NaN]', b'["\\ud83d", 1e999]',
        b'["\\ud83d"] x', b'["\\ud83d\n"]', b'["\\ud83d", "\xff"]', b'["\\ud83d", "\xed\xa0\xbd"]', b'"\xed\xa0\xbd"',
        b'\xef\xbb\xbf["\\ud83d"]', b'["\\ud83d", 01]', b'["\\ud83d", "\\x"]', b'["\\ud83"]', b"\\ud83d", b'"\\ud83d',
        b'["\\ud83d"' + b"[" * 2000, '"\ud83d"', '["\\ud83d", "\ud83d"]',
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_in_the_words_of_orjson(text: bytes | str) -> None:
    with pytest.raises(orjson.JSONDecodeError) as expected:
        orjson.loads(text)
    with pytest.raises(orjson.JSONDecodeError) as found:
        loads(text)
    assert str(found.value) == str(expected.value)
    assert found.value.doc == expected.value.doc


@given(text=st.lists(st.sampled_from(['"', "\\", "u", "d83d", "ude00", "{", "}", ":", "[", "]", ",", "1", "a"])))
@example(text=list(r'"\ud83d\ud83d\u'))
def test_anything_is_json_exactly_if_it_is_with_whole_characters(text: list[str]) -> None:
    joined = "".join(text)
    try:
        value = loads(joined)
    except orjson.JSONDecodeError:
        with pytest.raises(ValueError):  # noqa: PT011  any refusal
            json.loads(joined, parse_int=float)
    else:
        assert value == json.loads(joined)


def test_what_has_no_json_is_refused_in_the_words_of_orjson() -> None:
    deep: Any = HALF
    for _ in range(400):
        deep = [deep]
    deeper: Any = HALF
    for _ in range(5000):
        deeper = [deeper]
    for value, words in ((object(), "not JSON"), ([HALF, object()], "not JSON"), (2**70, "64-bit"), (deep, "ecursion")):
        with pytest.raises(orjson.JSONEncodeError, match=words):
            dumps(value)
    with pytest.raises(orjson.JSONEncodeError):
        dumps(deeper)


def test_nesting_is_read_as_deeply_as_orjson_does() -> None:
    value = loads(b"[" * 1000 + b'"\\ud83d"' + b"]" * 1000)
    for _ in range(1000):
        (value,) = value
    assert value == HALF


@given(text=st.text(max_size=20), sizes=st.lists(st.integers(1, 4), max_size=20))
def test_halves_that_come_in_two_pieces_become_a_character(text: str, sizes: list[int]) -> None:
    units = text.encode("utf-16-le")
    codes = [chr(int.from_bytes(units[at : at + 2], "little")) for at in range(0, len(units), 2)]
    pieces = []
    for size in sizes:
        pieces.append("".join(codes[:size]))
        codes = codes[size:]
    assert rejoined([*pieces, "".join(codes)]) == text


def test_halves_that_make_no_pair_stay() -> None:
    assert rejoined([OTHER_HALF, "é", HALF, "x", HALF]) == OTHER_HALF + "é" + HALF + "x" + HALF


@given(value=values)
def test_a_copy_without_halves_can_be_sent(value: Any) -> None:
    assert is_whole(json.dumps(without_halves(value), ensure_ascii=False))


def test_each_half_becomes_one_replacement_character() -> None:
    assert without_halves({"a\ud83d": ("\ude00\ud83d", 1), "b": None}) == {"a\ufffd": ["\ufffd\ufffd", 1], "b": None}
    assert is_whole("é😀")
    assert not is_whole("é\ude00")
