from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import InputError
from harness.scenario.source import parse_source, read_source

TEXT = """\
first: 1
list:
  - a: x
  - b: [1, 2]
"""


def test_data_is_plain_and_every_place_has_its_line() -> None:
    source = parse_source(Path("f.yaml"), TEXT)
    assert source.data == {"first": 1, "list": [{"a": "x"}, {"b": [1, 2]}]}
    assert source.line(("first",)) == 1
    assert source.line(("list", 1, "b")) == 4
    assert source.line(("list", 0, "a", "deeper", 3)) == 3
    assert source.where(("list",)) == "f.yaml:2"


def test_a_key_given_twice_is_named_with_its_line() -> None:
    with pytest.raises(InputError, match=r"f\.yaml:3: the key 'a' is given twice"):
        parse_source(Path("f.yaml"), "a: 1\nb: 2\na: 3\n")


@pytest.mark.parametrize("text", ["a: [1, 2", "a: b: c", "\tkey: 1", "a: 'open"])
def test_broken_yaml_is_an_input_error_with_a_line(text: str) -> None:
    with pytest.raises(InputError, match=r"f\.yaml:\d+: not valid YAML") as caught:
        parse_source(Path("f.yaml"), text)
    assert "\n" not in str(caught.value)


def test_two_documents_in_one_file_are_refused() -> None:
    with pytest.raises(InputError, match="not valid YAML"):
        parse_source(Path("f.yaml"), "a: 1\n---\nb: 2\n")


def test_tags_run_no_code() -> None:
    with pytest.raises(InputError, match="not valid YAML"):
        parse_source(Path("f.yaml"), "a: !!python/object/apply:os.system ['true']\n")


def test_an_empty_document_is_none() -> None:
    assert parse_source(Path("f.yaml"), "").data is None


def test_files_that_cannot_be_read_are_input_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_source(tmp_path / "missing.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        read_source(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(InputError, match="cannot be read"):
        read_source(tmp_path / "latin.yaml")


HALF = '"\\uD83D"'


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (f"a: {HALF}", {"a": "\ud83d"}),
        ('a: "x\\ude00y"', {"a": "x\ude00y"}),
        ('a: "\\U0000D83D"', {"a": "\ud83d"}),
        (f"{HALF}: [1, {HALF}]", {"\ud83d": [1, "\ud83d"]}),
        ("a: '\\uD83D'", {"a": "\\uD83D"}),
    ],
)
def test_half_a_surrogate_pair_is_an_escape(text: str, data: object) -> None:
    assert parse_source(Path("f.yaml"), text).data == data


def test_places_are_those_of_any_other_document() -> None:
    source = parse_source(Path("f.yaml"), TEXT + f"last: {HALF}\n")
    assert [source.line(place) for place in (("first",), ("list", 1, "b"), ("list", 0, "a"), ("last",))] == [1, 4, 3, 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"a: 1\nb: {HALF}\na: 2", "f.yaml:3: the key 'a' is given twice"),
        (f"a: 1\n b: {HALF}", "f.yaml:2: not valid YAML: mapping values are not allowed in this context"),
        (f"a: {HALF}\nb: [1\n", "f.yaml:3: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        (f"a: {HALF}\nb: !x 1", "f.yaml:2: not valid YAML: could not determine a constructor for the tag '!x'"),
        (f'a: 1\nb: ["\\U00110000", {HALF}]', "f.yaml:2: not valid YAML: found invalid Unicode character escape code"),
        (f'a: 1\nb: ["\\UFFFFFFFF", {HALF}]', "f.yaml:2: not valid YAML: found invalid Unicode character escape code"),
        ('a: "\\uZZZZ"', "f.yaml:1: not valid YAML: did not find expected hexdecimal number"),
    ],
)
def test_errors_beside_half_a_pair_name_their_line(text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_source(Path("f.yaml"), text)
    assert str(caught.value) == words
