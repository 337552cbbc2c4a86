from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.wire.exchange import Exchange, header

PYDANTIC_AI = """\
interactions:
- request:
    headers:
      content-length:
      - '812'
      content-type:
      - application/json
      x-date: 2024-10-01
      x-switch: on
    method: POST
    parsed_body:
      messages:
      - content: 'yes'
        role: user
      - content: 2024-10-01
        role: user
      model: fern-1
      n: 1
      stream: false
      temperature: 1.0e-05
      tools: []
      stop: null
      'on': true
    uri: https://garden.example/v1/chat/completions
  response:
    headers:
      content-type:
      - application/json
    parsed_body:
      choices:
      - finish_reason: stop
        message:
          content: grün
          role: assistant
      usage:
        prompt_tokens: 123456789012345678901234567890
    status:
      code: 200
      message: OK
- request:
    body: ''
    headers: {}
    method: GET
    uri: https://garden.example/leaf.png
  response:
    body:
      string: !!binary |
        iVBORw==
    headers: {}
    status: {code: 200, message: OK}
- request:
    headers: {}
    method: POST
    parsed_body: {stream: true}
    uri: https://garden.example/v1/chat/completions
  response:
    body:
      string: |+
        data: {"choices":[]}

        data: [DONE]

    headers: {}
    status: {code: 200, message: OK}
version: 1
"""


def load(tmp_path: Path, content: str | bytes, name: str = "garden.yaml") -> tuple[Exchange, ...]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    cassette = load_cassette(path)
    assert cassette.dialect == "pydantic-ai"
    return cassette.exchanges


def test_json_kept_as_data_becomes_compact_json_in_the_order_of_the_file(tmp_path: Path) -> None:
    first, *_ = load(tmp_path, PYDANTIC_AI)
    assert first.request.body == (
        b'{"messages":[{"content":"yes","role":"user"},{"content":"2024-10-01","role":"user"}],"model":"fern-1","n":1,'
        b'"stream":false,"temperature":1e-05,"tools":[],"stop":null,"on":true}'
    )
    assert (
        first.response.body
        == (
            '{"choices":[{"finish_reason":"stop","message":{"content":"grün","role":"assistant"}}],'
            '"usage":{"prompt_tokens":123456789012345678901234567890}}'
        ).encode()
    )
    assert first.turn().content == "grün"


def test_outside_of_such_bodies_scalars_stay_text(tmp_path: Path) -> None:
    first, *_ = load(tmp_path, PYDANTIC_AI)
    assert header(first.request.headers, "x-date") == "2024-10-01"
    assert header(first.request.headers, "x-switch") == "on"
    assert (first.response.status, first.response.reason) == (200, "OK")


def test_other_bodies_are_read_as_in_vcrpy(tmp_path: Path) -> None:
    _, image, stream = load(tmp_path, PYDANTIC_AI)
    assert (image.request.body, image.response.body) == (b"", b"\x89PNG")
    assert not image.is_chat
    assert stream.response.body == b'data: {"choices":[]}\n\ndata: [DONE]\n\n'
    assert stream.response.streamed


def test_the_version_may_be_missing_and_the_file_packed_or_json(tmp_path: Path) -> None:
    exchanges = load(tmp_path, PYDANTIC_AI)
    assert load(tmp_path, PYDANTIC_AI.replace("version: 1\n", "")) == exchanges
    assert load(tmp_path, gzip.compress(PYDANTIC_AI.encode()), "garden.yaml.gz") == exchanges
    request = {"method": "POST", "uri": "https://h/chat/completions", "parsed_body": {"n": 1.5, "b": "1.5", "a": True}}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": ""}}
    document = {"version": 1, "interactions": [{"request": request, "response": response}]}
    (exchange,) = load(tmp_path, json.dumps(document), "garden.json")
    assert exchange.request.body == b'{"n":1.5,"b":"1.5","a":true}'


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("null", b"null"),
        ("~", b"null"),
        ("'null'", b'"null"'),
        ("0x1F", b"31"),
        (".nan", b"NaN"),
        ("[1, '1', 1.0, 1e5]", b'[1,"1",1.0,"1e5"]'),
        ("{a: &list [on, off], b: *list}", b'{"a":[true,false],"b":[true,false]}'),
        ("|\n        12", b'"12\\n"'),
        (">-\n        true", b'"true"'),
    ],
)
def test_scalars_are_what_the_recorders_own_loader_makes_of_them(tmp_path: Path, value: str, body: bytes) -> None:
    changed = PYDANTIC_AI.replace("parsed_body: {stream: true}", f"parsed_body: {value}")
    assert load(tmp_path, changed)[2].request.body == body


def test_data_that_is_no_json_is_named_with_its_place(tmp_path: Path) -> None:
    for broken in ("{a: !!binary AAAA}", "{a: !!set {b}}", "&self [*self]"):
        with pytest.raises(InputError, match="the body cannot be written as JSON") as caught:
            load(tmp_path, PYDANTIC_AI.replace("parsed_body: {stream: true}", f"parsed_body: {broken}"))
        assert caught.value.where is not None
        assert caught.value.where.startswith(f"{tmp_path / 'garden.yaml'}, interaction 3")


def test_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a pydantic-ai cassette of version 2"):
        load(tmp_path, PYDANTIC_AI.replace("version: 1", "version: 2"))


DATA_IN_BODY = """\
interactions:
- request:
    body: {messages: [], model: fern-1, stream: false, n: 2}
    headers: {content-type: [application/json]}
    method: POST
    uri: https://garden.example/v1/chat/completions
  response: {body: {string: '{}'}, headers: {}, status: {code: 200, message: OK}}
version: 1
"""


def test_vcrpy_keeps_what_a_client_was_given_as_json_as_data(tmp_path: Path) -> None:
    path = tmp_path / "garden.yaml"
    path.write_text(DATA_IN_BODY)
    cassette = load_cassette(path)
    assert cassette.dialect == "vcrpy"
    assert cassette.exchanges[0].request.body == b'{"messages":[],"model":"fern-1","stream":false,"n":2}'
    with_parsed = DATA_IN_BODY.replace("{body: {string: '{}'}", "{parsed_body: {}")
    assert load(tmp_path, with_parsed)[0].request.body == cassette.exchanges[0].request.body
    path.write_text(DATA_IN_BODY.replace("application/json", "application/x-www-form-urlencoded"))
    with pytest.raises(InputError, match="neither string nor base64_string"):
        load_cassette(path)
