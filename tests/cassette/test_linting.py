"""Each fault of a recording is named with its place; recordings without fault are left in peace."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.linting import Finding, Severity, lint_cassette
from harness.wire.exchange import Exchange, Headers, Request, Response

CHAT = "https://models.example/v1/chat/completions"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
ANSWER = json.dumps({"choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]}).encode()
USER = {"role": "user", "content": "How are the ferns?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "measure",
        "description": "Measure a place.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Which one."},
                "depth": {"$ref": "#/$defs/depth"},
                "when": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Until when."},
            },
            "required": ["place"],
            "$defs": {"depth": {"type": "number"}},
        },
    },
}


def lint(*exchanges: Exchange, patterns: tuple[str, ...] = ()) -> list[Finding]:
    return lint_cassette(Cassette(Path("ferns.yaml"), "vcrpy", tuple(exchanges)), patterns)


def exchange(
    body: Any = None,
    answer: bytes = ANSWER,
    *,
    headers: Headers = JSON,
    said: Headers = JSON,
    status: int = 200,
    url: str = CHAT,
    method: str = "POST",
    index: int = 0,
) -> Exchange:
    content = body if isinstance(body, bytes) else json.dumps(body or {"model": "m", "messages": [USER]}).encode()
    return Exchange(Request(method, url, headers, content), Response(status, said, answer), index)


def offering(*tools: Any, index: int = 0) -> Exchange:
    return exchange({"model": "m", "messages": [USER], "tools": list(tools)}, index=index)


def tool(**function: Any) -> dict[str, Any]:
    return {**TOOL, "function": {**TOOL["function"], **function}}  # type: ignore[dict-item]


def with_schema(**schema: Any) -> Exchange:
    parameters = TOOL["function"]["parameters"]  # type: ignore[index]
    return offering(tool(parameters={**parameters, **schema}))


def codes(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity.value) for finding in findings]


def assert_only(findings: list[Finding], code: str, severity: str, path: str) -> None:
    assert codes(findings) == [(code, severity)], findings
    assert findings[0].path == path
    assert findings[0].what
    assert findings[0].todo


def test_a_recording_without_fault_has_no_findings() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    packed = gzip.compress(ANSWER)
    assert (
        lint(
            offering(TOOL),
            exchange(answer=stream, said=SSE),
            exchange(answer=packed, said=(*JSON, ("content-encoding", "gzip"), ("content-length", str(len(packed))))),
            exchange(answer=zlib.compress(ANSWER), said=(*JSON, ("content-encoding", "deflate"))),
            exchange(
                b"",
                b"<html>",
                method="GET",
                url="https://x.example/",
                headers=(),
                said=(("content-type", "text/html"),),
            ),
        )
        == []
    )


# --- headers that lie


def test_h03_a_packed_body_without_its_header_is_an_error() -> None:
    found = lint(exchange(answer=gzip.compress(ANSWER)))
    assert_only(found, "content_encoding", "error", "response header content-encoding")


def test_h03_the_header_of_a_body_that_the_recorder_decoded_is_an_error() -> None:
    found = lint(exchange(said=(*JSON, ("Content-Encoding", "br"))))
    assert_only(found, "content_encoding", "error", "response header content-encoding")
    assert "remove the header" in found[0].todo


def test_h03_what_cannot_be_read_is_said() -> None:
    found = lint(exchange(answer=b"\x0b\x02\x80abc", said=(*JSON, ("content-encoding", "br"))))
    assert_only(found, "encoding_unknown", "warning", "response header content-encoding")


def test_h04_the_finding_names_file_and_exchange(tmp_path: Path) -> None:
    path = tmp_path / "packed.yaml"
    path.write_text(
        "interactions:\n"
        "- request: {method: GET, uri: 'http://x/', body: null, headers: {}}\n"
        "  response:\n"
        "    status: {code: 200, message: OK}\n"
        "    headers: {Content-Encoding: [gzip], Content-Type: [application/json]}\n"
        "    body: {string: '{\"ok\": 1}'}\n"
        "version: 1\n",
        "utf-8",
    )
    (found,) = lint_cassette(load_cassette(path))
    assert (found.file, found.exchange) == (str(path), 0)
    assert (found.code, found.severity) == ("content_encoding", Severity.ERROR)


def test_h27_an_empty_body_agrees_with_every_header() -> None:
    said = (*JSON, ("content-encoding", "gzip"), ("content-length", "120"))
    assert lint(exchange(b"", b"", method="HEAD", said=said)) == []
    assert lint(exchange(b"", b"", method="GET", url="https://x.example/", said=said[:2])) == []


def test_a_damaged_body_is_an_error() -> None:
    found = lint(exchange(answer=gzip.compress(ANSWER * 9)[:-20], said=(*JSON, ("content-encoding", "gzip"))))
    assert_only(found, "body_damaged", "error", "response header content-encoding")


def test_a_wrong_length_is_a_warning() -> None:
    found = lint(exchange(said=(*JSON, ("Content-Length", "7"))))
    assert_only(found, "content_length", "warning", "response header content-length")
    assert lint(exchange(said=(*JSON, ("Content-Length", "-1")))) == []


# --- bodies and streams


def test_bodies_that_are_no_json() -> None:
    assert_only(lint(exchange(b"{")), "request_not_json", "error", "request body")
    assert_only(lint(exchange(answer=b"<html>")), "response_not_json", "error", "response body")
    assert_only(lint(exchange(answer=b"")), "response_empty", "error", "response body")


@pytest.mark.parametrize(
    ("body", "code", "severity", "path"),
    [
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', "stream_incomplete", "error", "response stream"),
        (b"data: {broken}\n\ndata: [DONE]\n\n", "event_not_json", "error", "response event 0"),
        (b"\xef\xbb\xbfdata: [DONE]\n\n", "stream_bom", "warning", "response stream"),
        (b"data: [DONE]", "event_not_terminated", "warning", "response event 0"),
        (b'data: {"error":{"message":"busy"}}\n\n', "error_answer", "warning", "response stream"),
    ],
)
def test_broken_streams(body: bytes, code: str, severity: str, path: str) -> None:
    assert_only(lint(exchange(answer=body, said=SSE)), code, severity, path)


def test_a_stream_that_calls_itself_json() -> None:
    found = lint(exchange(answer=b"data: [DONE]\n\n"))
    assert_only(found, "stream_type", "warning", "response header content-type")


@pytest.mark.parametrize(
    ("status", "answer", "path"),
    [
        (503, b"", "response status"),
        (500, b'{"error": {"message": "down"}}', "response status"),
        (200, b'{"error": {"message": "down", "code": 502}}', "response $.error"),
    ],
)
def test_answers_that_are_errors(status: int, answer: bytes, path: str) -> None:
    assert_only(lint(exchange(answer=answer, status=status)), "error_answer", "warning", path)


def test_h22_a_rate_limit_in_a_recording_is_pointed_out() -> None:
    limited = exchange(answer=b'{"error": {"message": "slow down"}}', status=429, said=(*JSON, ("retry-after", "20")))
    found = lint(limited, exchange(index=1))
    assert_only(found, "error_answer", "warning", "response status")
    assert found[0].exchange == 0
    assert found[0].what == "HTTP 429: slow down, retry after 20 s (a replay does not wait)"


# --- histories


def called(*answered: str) -> list[dict[str, Any]]:
    calls = [
        {"id": f"call_{name}", "type": "function", "function": {"name": "measure", "arguments": "{}"}} for name in "ab"
    ]
    results = [{"role": "tool", "tool_call_id": f"call_{name}", "content": "7"} for name in answered]
    return [USER, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def test_unpaired_calls_are_one_finding_however_often_they_are_sent() -> None:
    bodies = [{"model": "m", "messages": [*called("a"), *[USER] * more]} for more in range(3)]
    found = lint(*(exchange(body, index=number + 4) for number, body in enumerate(bodies)))
    assert_only(found, "result_missing", "error", "request $.messages[1]")
    assert found[0].exchange == 4
    assert found[0].what.endswith("(also in 2 more)")
    assert codes(lint(exchange({"messages": called("a", "b", "c")}))) == [("result_without_call", "error")]
    assert codes(lint(exchange({"messages": called("b", "a")}))) == [("results_out_of_order", "warning")]
    assert lint(exchange({"messages": called("a", "b")})) == []


# --- tools


@pytest.mark.seed("K02")
@pytest.mark.parametrize("description", [None, "", "  \n"])
def test_k02_missing_and_empty_descriptions_are_pointed_out(description: str | None) -> None:
    """Descriptions decide whether and how a tool is called."""
    found = lint(offering(tool(description=description)))
    assert_only(found, "tool_description", "warning", "request $.tools[0].function.description")
    place = {"type": "string", "description": description}
    found = lint(with_schema(properties={"place": place if description is not None else {"type": "string"}}))
    path = "request $.tools[0].function.parameters.properties.place.description"
    assert_only(found, "parameter_description", "warning", path)
    assert "'place' of 'measure'" in found[0].what


@pytest.mark.parametrize(
    ("schema", "code", "severity", "below"),
    [
        ({"properties": []}, "object_became_array", "error", ".properties"),
        ({"properties": {"place": []}}, "object_became_array", "error", ".properties.place"),
        ({"type": "array", "items": {}}, "parameters_not_an_object", "error", ".type"),
        ({"properties": {"place": {"description": "d"}}}, "type_missing", "warning", ".properties.place"),
        (
            {"properties": {"place": {"type": "dict", "description": "d"}}},
            "type_unknown",
            "error",
            ".properties.place.type",
        ),
        (
            {"properties": {"place": {"type": "array", "description": "d"}}},
            "items_missing",
            "warning",
            ".properties.place",
        ),
        ({"properties": {"place": {"$ref": "#/$defs/gone"}}}, "ref_dangling", "error", ".properties.place.$ref"),
        ({"properties": {"place": {"$ref": "x.json#/a"}}}, "ref_dangling", "error", ".properties.place.$ref"),
        ({"required": "place"}, "required_not_a_list", "error", ".required"),
        ({"required": ["place", "gone"]}, "required_unknown", "warning", ".required"),
    ],
)
def test_faults_of_schemas(schema: dict[str, Any], code: str, severity: str, below: str) -> None:
    assert_only(lint(with_schema(**schema)), code, severity, f"request $.tools[0].function.parameters{below}")


@pytest.mark.parametrize(
    "reference", ["#", "#/$defs/depth", "#/properties/place", "#/%24defs/depth", "#deep", "#/$defs/a~1b/anyOf/1"]
)
def test_references_that_lead_somewhere(reference: str) -> None:
    definitions = {
        "depth": {"type": "number", "$anchor": "deep"},
        "a/b": {"anyOf": [{"type": "null"}, {"type": "string"}]},
    }
    properties = {"place": {"type": "string", "description": "d"}, "other": {"$ref": reference}}
    assert lint(with_schema(properties=properties, **{"$defs": definitions})) == []


def test_names_of_tools() -> None:
    assert codes(lint(offering(tool(name="a b")))) == [("tool_name", "error")]
    assert codes(lint(offering(TOOL, TOOL))) == [("tool_name_taken", "error")]
    assert codes(lint(offering(TOOL, tool(name="Mea_sure")))) == [("tool_name_similar", "warning")]
    many = [tool(name=f"tool{number}") for number in range(129)]
    assert codes(lint(offering(*many))) == [("too_many_tools", "error")]
    assert lint(offering(*many[:128])) == []


def test_a_tools_array_in_fifty_requests_is_told_of_once() -> None:
    found = lint(*(offering(tool(description=""), index=number) for number in range(50)))
    assert_only(found, "tool_description", "warning", "request $.tools[0].function.description")
    assert found[0].exchange == 0


def test_odd_tools_crash_nothing() -> None:
    odd: list[Any] = [{}, "x", 5, [None], [[]], [{}], [{"function": []}], [{"type": "web_search"}]]
    for tools in odd:
        lint(exchange({"messages": [USER], "tools": tools}))
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        deep = {"items": deep}
    lint(with_schema(properties={"place": deep}))


# --- secrets


def key() -> str:
    return "sk-" + "a1B2c3D4e5F6g7H8i9J0" * 2


def test_secrets_are_named_by_place_and_kind_and_never_shown() -> None:
    events = [{"choices": [{"delta": {"content": part}}]} for part in ("Hi ", key()[:5], key()[5:])]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"
    found = lint(
        exchange({"messages": [{"role": "user", "content": f"ü {key()}"}]}),
        exchange(answer=stream, said=SSE, index=1),
        exchange(url=f"{CHAT}?key=abc", index=2),
        exchange(headers=(*JSON, ("AUTHORIZATION", f"Bearer {key()}"), ("Cookie", "id=7")), index=3),
        exchange(said=(*JSON, ("Location", f"/x?token={key()}")), index=4),
    )
    assert {(finding.code, finding.severity) for finding in found} == {("secret_left", Severity.ERROR)}
    assert [(finding.exchange, finding.path) for finding in found] == [
        (0, "request $.messages[0].content"),
        (1, "response event 1"),
        (2, "request url"),
        (3, "request header authorization"),
        (3, "request header cookie"),
        (4, "response header location"),
    ]
    assert "openai-key" in found[0].what
    assert "a1B2" not in repr(found)


def test_names_of_accounts_and_cookies_of_networks_are_warnings() -> None:
    said = (*JSON, ("openai-organization", "greenhouse"), ("Set-Cookie", "__cf_bm=abc; path=/; HttpOnly"))
    found = lint(exchange(said=said))
    assert codes(found) == [("account_left", "warning"), ("cookie_left", "warning")]


@pytest.mark.parametrize("value", ["Bearer [REDACTED]", "<API_KEY>", "Bearer test_key", "***", "Bearer <openai-key-1>"])
def test_what_only_stands_for_a_secret_is_none(value: str) -> None:
    assert lint(exchange(headers=(*JSON, ("authorization", value)))) == []


def test_patterns_of_the_user() -> None:
    found = lint(exchange({"messages": [{"role": "user", "content": "PLANT-7"}]}), patterns=(r"PLANT-\d",))
    assert_only(found, "secret_left", "error", "request $.messages[0].content")
