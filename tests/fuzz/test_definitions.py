from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.fuzz.definitions import definitions_in

SCHEMA = {"type": "object"}


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ([{"type": "function", "function": {"name": "a", "parameters": SCHEMA}}], [("a", SCHEMA)]),
        ({"model": "m", "tools": [{"type": "function", "function": {"name": "a"}}]}, [("a", None)]),
        ({"name": "a", "inputSchema": SCHEMA}, [("a", SCHEMA)]),
        ([{"name": "a", "input_schema": SCHEMA}, {"name": "b", "parameters": {}}], [("a", SCHEMA), ("b", {})]),
        ({"id": "x", "question": [], "function": [{"name": "a", "parameters": SCHEMA}]}, [("a", SCHEMA)]),
        ({"messages": []}, []),
        ([1, None], []),
    ],
)
def test_definitions_are_found_in_each_layout(document: object, found: list[object], tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps(document))
    assert [(one.name, one.parameters) for one in definitions_in(file)] == found


def test_lines_are_documents(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"name": "a"}\n\n{"function": [{"name": "b"}, {"name": "c"}]}\n')
    assert [(one.where, one.name) for one in definitions_in(file)] == [
        ("t.json:1", "a"),
        ("t.json:2", "b"),
        ("t.json:2", "c"),
    ]


def test_a_cassette_has_the_tools_of_its_requests(tmp_path: Path) -> None:
    body = json.dumps({"model": "m", "messages": [], "tools": [{"type": "function", "function": {"name": "a"}}]})
    file = tmp_path / "t.yaml"
    file.write_text(
        json.dumps(
            {
                "version": 1,
                "interactions": [
                    {
                        "request": {"method": "POST", "uri": "http://h/chat/completions", "body": body, "headers": {}},
                        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}},
                    }
                ],
            }
        )
    )
    assert [(one.where, one.name) for one in definitions_in(file)] == [("t.yaml#0", "a")]


def test_what_is_no_json_is_an_input_error(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text("tools: []")
    with pytest.raises(InputError, match=r"t\.json: no JSON"):
        definitions_in(file)
    with pytest.raises(InputError, match="cannot be read"):
        definitions_in(tmp_path / "missing.json")
