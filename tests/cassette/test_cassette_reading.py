from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.errors import InputError
from harness.wire.exchange import Chunk, header

VCRPY = """\
interactions:
- request:
    body: '{"model":"m","messages":[]}'
    headers:
      accept: [application/json]
      x-date: 2024-10-01
      x-version: 1.10
      x-switch: on
    method: POST
    uri: https://api.example/v1/chat/completions
  response:
    body:
      string: |+
        data: {"a":1}

    chunks:
    - {end: 6, t: 0.25}
    - {end: 15, t: 1}
    headers:
      Set-Cookie:
      - a=1
      - b=2
      content-type: text/event-stream
    status: {code: 200, message: OK}
- request: {body: null, headers: null, method: GET, uri: 'https://files.example/a'}
  response:
    body: {string: !!binary H4sIAAAA}
    headers: {}
    status: {code: 404, message: Not Found}
version: 1
"""

GO_VCR = """\
---
version: 2
interactions:
- id: 0
  request:
    proto: HTTP/1.1
    content_length: 2
    body: '{}'
    headers:
      Accept: [application/json]
    url: https://api.example/v1/chat/completions#stream
    method: POST
  response:
    uncompressed: true
    body: "data: \\u00e9\\n\\n"
    headers:
      Content-Type: [text/event-stream]
    status: 429 Too Many Requests
    code: 429
    duration: 1.5s
"""


def write(tmp_path: Path, content: str | bytes, name: str = "session.yaml") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_vcrpy_as_its_recorder_wrote_it(tmp_path: Path) -> None:
    cassette = load_cassette(write(tmp_path, VCRPY))
    assert cassette.dialect == "vcrpy"
    first, second = cassette.exchanges
    assert first.request.body == b'{"model":"m","messages":[]}'
    assert first.response.body == b'data: {"a":1}\n\n'
    assert first.response.chunks == (Chunk(6, 0.25), Chunk(15, 1.0))
    assert first.response.headers == (
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("content-type", "text/event-stream"),
    )
    assert second.request.body == b""
    assert second.response.body == b"\x1f\x8b\x08\x00\x00\x00"
    assert (second.response.status, second.response.reason) == (404, "Not Found")
    assert [exchange.index for exchange in cassette.exchanges] == [0, 1]
    assert cassette.chat_exchanges == (first,)


def test_unquoted_header_values_stay_the_text_they_were(tmp_path: Path) -> None:
    headers = load_cassette(write(tmp_path, VCRPY)).exchanges[0].request.headers
    assert header(headers, "x-date") == "2024-10-01"
    assert header(headers, "x-version") == "1.10"
    assert header(headers, "x-switch") == "on"


def test_vcrpy_in_json_with_base64_and_the_old_layout_for_httpx(tmp_path: Path) -> None:
    request = {"method": "POST", "uri": "http://h/v1/chat/completions", "body": {"string": "é"}, "headers": {"a": 1}}
    responses = [
        {"status": {"code": 200, "message": None}, "body": {"base64_string": base64.b64encode(b"\xff\x00").decode()}},
        {"status_code": 201, "http_version": "HTTP/1.1", "headers": {"b": "x"}, "content": "text"},
    ]
    document = {"version": 1, "interactions": [{"request": request, "response": one} for one in responses]}
    cassette = load_cassette(write(tmp_path, json.dumps(document), "session.json"))
    assert cassette.exchanges[0].request.body == "é".encode()
    assert cassette.exchanges[0].request.headers == (("a", "1"),)
    assert cassette.exchanges[0].response.body == b"\xff\x00"
    assert (cassette.exchanges[1].response.status, cassette.exchanges[1].response.body) == (201, b"text")


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_go_vcr(tmp_path: Path, version: int) -> None:
    cassette = load_cassette(write(tmp_path, GO_VCR.replace("version: 2", f"version: {version}")))
    assert cassette.dialect == "go-vcr"
    (exchange,) = cassette.exchanges
    assert exchange.is_chat
    assert exchange.response.body == "data: é\n\n".encode()
    assert (exchange.response.status, exchange.response.reason) == (429, "Too Many Requests")
    assert exchange.response.chunks == ()


def test_go_vcr_with_a_status_code_under_another_name_or_only_in_the_status(tmp_path: Path) -> None:
    named = GO_VCR.replace("    code: 429", "    status_code: 429")
    assert load_cassette(write(tmp_path, named)).exchanges[0].response.status == 429
    assert load_cassette(write(tmp_path, GO_VCR.replace("    code: 429\n", ""))).exchanges[0].response.status == 429


def test_a_body_of_go_vcr_that_is_no_text_or_missing(tmp_path: Path) -> None:
    first = GO_VCR.replace('body: "data: \\u00e9\\n\\n"', "body: !!binary H4sIAAAA").replace("    body: '{}'\n", "")
    (exchange,) = load_cassette(write(tmp_path, first)).exchanges
    assert (exchange.request.body, exchange.response.body) == (b"", b"\x1f\x8b\x08\x00\x00\x00")


@pytest.mark.parametrize("dialect", ["vcrpy", "go-vcr"])
def test_a_stream_without_content_type_and_blanks_before_json(tmp_path: Path, dialect: str) -> None:
    """Exchanges after each other: a stream that nothing announces, JSON after blank lines, an empty body."""
    url, code = ("uri", "status: {code: 200, message: OK}") if dialect == "vcrpy" else ("url", "code: 200")
    bodies = ('"\\n: hello\\n\\ndata: {\\"choices\\": []}\\n\\n"', '"\\n\\n  {\\"choices\\": []}"', "''")
    entries = [
        f"- request: {{{url}: 'https://h/v1/chat/completions', method: POST, body: '{{}}'}}\n"
        f"  response: {{body: {body if dialect == 'go-vcr' else f'{{string: {body}}}'}, headers: {{}}, {code}}}\n"
        for body in bodies
    ]
    cassette = load_cassette(write(tmp_path, "interactions:\n" + "".join(entries) + "version: 1\n"))
    assert cassette.dialect == dialect
    stream, spaced, empty = cassette.exchanges
    assert [exchange.response.streamed for exchange in cassette.exchanges] == [True, False, False]
    assert stream.turn().status == spaced.turn().status == "incomplete"
    assert empty.response.body == b""


@pytest.mark.parametrize("text", [VCRPY, GO_VCR])
def test_packed_with_gzip_whatever_the_name(tmp_path: Path, text: str) -> None:
    plain = load_cassette(write(tmp_path, text))
    packed = load_cassette(write(tmp_path, gzip.compress(text.encode()), "session.yaml.gz"))
    assert packed.exchanges == plain.exchanges
    assert load_cassette(write(tmp_path, gzip.compress(text.encode()), "odd.yaml")).exchanges == plain.exchanges


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("", "", "empty"),
        ("\n \n", "", "empty"),
        ("# nothing but a comment\n", "", "not a cassette: it holds nothing"),
        ("just some prose", "", "not a cassette: it holds text"),
        ("a: 1\nb: [2\nc: 3\n", ":3", "broken YAML"),
        ("a: 1\n--- \nb: 2\n", ":2", "broken YAML"),
        ("a: !!python/object:os.system {}\n", ":1", "broken YAML"),
        (b"a: \xff\xfe\x00", "", "broken YAML"),
        (
            "log: {entries: []}\n",
            "",
            "a mapping with the keys log (the dialects read are vcrpy, go-vcr, ruby-vcr, pydantic-ai",
        ),
        ("interactions: 3\n", "", "interactions is not a list but text"),
        ("- request: {}\n", "", "before 1.0"),
        ("http_interactions: {}\n", "", "http_interactions is not a list but an empty mapping"),
        (VCRPY.replace("version: 1", "version: 7"), "", "version 7"),
        (b"\x1f\x8b\x08broken", "", "damaged gzip"),
        ("[" * 5000, ":1", "broken YAML"),
    ],
)
def test_what_is_no_cassette_is_refused_with_the_place(
    tmp_path: Path, content: str | bytes, place: str, words: str
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InputError) as caught:
        load_cassette(path)
    assert caught.value.where == f"{path}{place}"
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("method: GET, uri: 'https://files.example/a'", "method: GET", "uri is missing"),
        ("body: {string: !!binary H4sIAAAA}", "body: {strings: x}", "neither string nor base64_string"),
        ("status: {code: 404, message: Not Found}", "status: {code: many}", "'many' is no status code"),
        ("    headers: {}", "    headers: [a]", "headers are not a mapping but a list of 1"),
        ("    headers: {}", "    headers: {a: {b: c}}", "the header a is not text"),
        (
            "    headers: {}",
            "    headers: {}\n    chunks: [{end: 2, t: 0}]",
            "the chunks end at byte 2, the body has 6",
        ),
        ("    headers: {}", "    headers: {}\n    chunks: [{end: 9, t: 0}, {end: 6, t: 0}]", "do not grow"),
        ("    headers: {}", "    headers: {}\n    chunks: [{stop: 2}]", "a chunk is {end: bytes, t: seconds}"),
    ],
)
def test_a_broken_interaction_is_named_with_its_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in VCRPY
    path = write(tmp_path, VCRPY.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_cassette(path)
    assert caught.value.where == f"{path}, interaction 2 (line 25)"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{request: {uri: x, method: GET}}", "the interaction has no response"),
        ("{response: {}}", "the interaction has no request"),
        ("{request: {uri: x}, response: text}", "response is not a mapping but text"),
        ("null", "this is nothing"),
    ],
)
def test_an_interaction_without_both_sides(tmp_path: Path, entry: str, words: str) -> None:
    path = write(tmp_path, f"version: 1\ninteractions:\n- {entry}\n")
    with pytest.raises(InputError, match=words) as caught:
        load_cassette(path)
    assert caught.value.where == f"{path}, interaction 1 (line 3)"


def test_broken_json_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, '{"version": 1,\n "interactions": [}\n', "session.json")
    with pytest.raises(InputError, match="broken JSON") as caught:
        load_cassette(path)
    assert caught.value.where == f"{path}:2"


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_cassette(tmp_path / "missing.yaml")
    with pytest.raises(InputError, match="a folder"):
        load_cassette(tmp_path)
