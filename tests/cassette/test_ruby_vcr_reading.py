from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.wire.exchange import Exchange, header

RUBY_VCR = """\
---
http_interactions:
- request:
    method: post
    uri: "<GARDEN_API_BASE>/chat/completions"
    body:
      encoding: UTF-8
      string: '{"model":"fern-1","messages":[{"role":"user","content":"Grün?"}]}'
    headers:
      Authorization:
      - Bearer <GARDEN_API_KEY>
      Content-Type:
      - application/json
  response:
    status:
      code: 200
      message: OK
    headers:
      Content-Type: application/json
      Set-Cookie:
      - "<COOKIE>"
      - "<COOKIE>"
      Openai-Version: 2020-10-01
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        ICB7ImNob2ljZXMiOltdLCJub3RlIjoiw7wifQ==
  recorded_at: Fri, 09 Jan 2026 14:13:43 GMT
- request:
    method: get
    uri: https://garden.example/v1/models
    body:
      encoding: US-ASCII
      string: ''
    headers: {}
  response:
    status:
      code: '404'
      message:
    headers: {}
    body:
      encoding: ISO-8859-1
      string: "für"
    http_version:
recorded_with: VCR 6.4.0
"""


def load(tmp_path: Path, content: str | bytes, name: str = "garden.yml") -> tuple[Exchange, ...]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    cassette = load_cassette(path)
    assert cassette.dialect == "ruby-vcr"
    return cassette.exchanges


def test_a_cassette_as_its_recorder_wrote_it(tmp_path: Path) -> None:
    first, second = load(tmp_path, RUBY_VCR)
    assert (first.request.method, first.request.url) == ("POST", "<GARDEN_API_BASE>/chat/completions")
    assert first.request.json()["messages"][0]["content"] == "Grün?"
    assert first.request.headers[0] == ("Authorization", "Bearer <GARDEN_API_KEY>")
    assert first.response.headers == (
        ("Content-Type", "application/json"),
        ("Set-Cookie", "<COOKIE>"),
        ("Set-Cookie", "<COOKIE>"),
        ("Openai-Version", "2020-10-01"),
    )
    assert first.response.body == '  {"choices":[],"note":"ü"}'.encode()
    assert (first.response.status, first.response.reason) == (200, "OK")
    assert (second.request.method, second.request.body) == ("GET", b"")
    assert (second.response.status, second.response.reason) == (404, "")


def test_a_placeholder_in_the_uri_hides_no_chat_request(tmp_path: Path) -> None:
    first, second = load(tmp_path, RUBY_VCR)
    assert (first.is_chat, second.is_chat) == (True, False)
    for base in ("https://<HOST>/v1", "https://[HOST]/v1", "http://<HOST>:<PORT>", "<BASE>/openai"):
        changed = RUBY_VCR.replace(
            "<GARDEN_API_BASE>/chat/completions", f"{base}/chat/completions?api-version=1#stream"
        )
        assert load(tmp_path, changed)[0].is_chat, base
    assert not load(tmp_path, RUBY_VCR.replace("/chat/completions", "/responses"))[0].is_chat


def test_a_text_goes_back_to_the_encoding_it_had(tmp_path: Path) -> None:
    assert load(tmp_path, RUBY_VCR)[1].response.body == b"f\xfcr"
    for label in ("ASCII-8BIT", "UTF-8", "US-ASCII", "no such encoding"):
        changed = RUBY_VCR.replace("ISO-8859-1", f'"{label}"')
        assert load(tmp_path, changed)[1].response.body == "für".encode(), label
    unlabelled = RUBY_VCR.replace("      encoding: ISO-8859-1\n", "")
    assert load(tmp_path, unlabelled)[1].response.body == "für".encode()


def test_a_stream_and_a_packed_body(tmp_path: Path) -> None:
    stream = 'data: {"choices":[]}\n\ndata: [DONE]\n\n'
    packed = base64.b64encode(gzip.compress(stream.encode(), mtime=0)).decode()
    old = "string: !binary |-\n        ICB7ImNob2ljZXMiOltdLCJub3RlIjoiw7wifQ=="
    assert old in RUBY_VCR
    untyped = RUBY_VCR.replace("      Content-Type: application/json\n      Set", "      Set")
    for body in (f"string: {json.dumps(stream)}", f"string: !binary {packed}", f"base64_string: |\n        {packed}"):
        first = load(tmp_path, untyped.replace(old, body))[0]
        assert header(first.response.headers, "content-type") is None
        assert first.response.streamed
        assert first.turn().status == "complete"


def test_the_json_form_and_a_packed_file(tmp_path: Path) -> None:
    entry: dict[str, Any] = {
        "request": {
            "method": "post",
            "uri": "https://h/chat/completions",
            "body": {"encoding": "UTF-8", "string": "ü"},
        },
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"base64_string": "/w==\n"}},
    }
    document = json.dumps({"http_interactions": [entry], "recorded_with": "VCR 6.4.0"})
    (exchange,) = load(tmp_path, document, "garden.json")
    assert (exchange.request.body, exchange.response.body) == ("ü".encode(), b"\xff")
    assert load(tmp_path, gzip.compress(document.encode()), "garden.json.gz") == (exchange,)
    assert load(tmp_path, gzip.compress(RUBY_VCR.encode()), "garden.yml.gz") == load(tmp_path, RUBY_VCR)


def test_a_cassette_without_interactions_is_empty(tmp_path: Path) -> None:
    assert load(tmp_path, "---\nhttp_interactions: []\nrecorded_with: VCR 6.4.0\n") == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    uri: https://garden.example/v1/models\n", "", "uri is missing"),
        ("      code: '404'\n", "      code: many\n", "'many' is no status code"),
        ("    headers: {}\n  response", "    headers: 5\n  response", "headers are not a mapping but text"),
        ("      string: ''\n", "      base64_string: A\n", "base64_string cannot be decoded"),
        ("      string: ''\n", "      text: ''\n", "neither string nor base64_string"),
    ],
)
def test_a_broken_interaction_is_named_with_its_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in RUBY_VCR
    with pytest.raises(InputError, match=words) as caught:
        load(tmp_path, RUBY_VCR.replace(old, new))
    assert caught.value.where == f"{tmp_path / 'garden.yml'}, interaction 2 (line 29)"
