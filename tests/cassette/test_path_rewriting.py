"""Recorded answers for other folders, whatever the fragmentation."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import random
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassette.paths import KnownPaths, PathMap
from harness.cassette.rewriting import rewrite_response
from harness.wire.chat import ModelTurn
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response, decoded, header
from harness.wire.sse import SSEEvent, SSEParser

RECORDED = KnownPaths({"workspace": "/home/dev/w/x-1/repo", "home": "/home/dev/w/x-1"})
PRESENT = KnownPaths({"workspace": "/srv/run/2", "home": '/srv/caf\u00e9 \U0001f600/own "home"'})
PATHS = PathMap(RECORDED, PRESENT)
SAME = PathMap(RECORDED, RECORDED)
WORKSPACE = RECORDED.folders["workspace"]
HOME = RECORDED.folders["home"]
NEW_WORKSPACE = PRESENT.folders["workspace"]
NEW_HOME = PRESENT.folders["home"]
STREAM: Headers = (("content-type", "text/event-stream"),)
JSON: Headers = (("content-type", "application/json"),)
properties = settings(deadline=None)


def turn_of(response: Response) -> ModelTurn:
    return Exchange(Request("POST", "http://test/v1/chat/completions"), response).turn()


def events_of(body: bytes) -> list[SSEEvent]:
    parser = SSEParser()
    return [*parser.feed(body), *parser.close()]


def event(document: Any, **options: Any) -> bytes:
    return b"data: " + json.dumps(document, **options).encode() + b"\n\n"


def delta(delta: dict[str, Any], choice: int = 0) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [{"index": choice, "delta": delta}]}


def call_delta(arguments: str, index: int = 0, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    call: dict[str, Any] = {"index": index, "function": {"arguments": arguments}}
    if call_id:
        call |= {"id": call_id, "type": "function"}
    if name:
        call["function"]["name"] = name
    return delta({"tool_calls": [call]})


def end(reason: str = "tool_calls") -> bytes:
    return event({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}) + b"data: [DONE]\n\n"


def streamed(*documents: dict[str, Any], **options: Any) -> Response:
    return Response(200, STREAM, b"".join(event(document, **options) for document in documents) + end())


def arguments_in(*fragments: str, **options: Any) -> Response:
    first = call_delta(fragments[0], call_id="call_1", name="read")
    return streamed(first, *map(call_delta, fragments[1:]), **options)


def fragments_in(body: bytes) -> list[str]:
    found: list[str] = []
    for each in events_of(body):
        if each.data.startswith(b"{"):
            for choice in json.loads(each.data)["choices"]:
                calls = choice.get("delta", {}).get("tool_calls", ())
                found.extend(call["function"]["arguments"] for call in calls)
    return found


def completion(message: dict[str, Any], **options: Any) -> Response:
    document = {"id": "c1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {"n": 1}}
    return Response(200, JSON, json.dumps(document, **options).encode())


# --- plain answers


def test_content_reasoning_and_arguments_of_a_plain_answer() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": f'{{"p":  "{HOME}/a"}}'}}
    message = {"role": "assistant", "content": f"In {WORKSPACE}.", "reasoning": HOME, "tool_calls": [call]}
    new, changed = rewrite_response(completion(message), PATHS)
    assert changed
    found = turn_of(new).message
    assert found["content"] == f"In {NEW_WORKSPACE}."
    assert found["reasoning"] == NEW_HOME
    own = json.dumps(f"{NEW_HOME}/a", ensure_ascii=False)
    assert found["tool_calls"][0]["function"]["arguments"] == f'{{"p":  {own}}}'


def test_all_else_of_a_plain_answer_stays_byte_for_byte() -> None:
    body = (
        b'\n { "model" : "/home/dev/w/x-1/m", "n": 1.50e0, "choices":[ {"message" :{"content": "\\u00e9 '
        b'\\/home\\/dev\\/w\\/x-1\\/repo\\/a \\ud83d\\ude00 /home/dev/w/x-1/repo", "role":"assistant"} , "index":0}]}\t'
    )
    new, changed = rewrite_response(Response(200, JSON, body), PATHS)
    assert changed
    expected = body.replace(b"\\u00e9 \\/home\\/dev\\/w\\/x-1\\/repo", b"\\u00e9 \\/srv\\/run\\/2")
    assert new.body == expected.replace(b" /home/dev/w/x-1/repo", b" /srv/run/2")


def test_parts_structures_and_a_legacy_call() -> None:
    message = {
        "content": [{"type": "text", "text": WORKSPACE}, {"type": "image_url", "image_url": {"url": f"file://{HOME}"}}],
        "reasoning_details": [{"type": "reasoning.text", "text": f"see {WORKSPACE}/a", "id": WORKSPACE}],
        "function_call": {"name": "read", "arguments": json.dumps({WORKSPACE: [1, {"deep": f"{WORKSPACE}/b"}]})},
    }
    new, _ = rewrite_response(completion(message), PATHS)
    found = turn_of(new).message
    assert found["content"][0]["text"] == NEW_WORKSPACE
    assert found["content"][1]["image_url"]["url"] == "file:///srv/caf%C3%A9%20%F0%9F%98%80/own%20%22home%22"
    assert found["reasoning_details"][0] == {
        "type": "reasoning.text", "text": f"see {NEW_WORKSPACE}/a", "id": WORKSPACE
    }  # fmt: skip
    assert json.loads(found["function_call"]["arguments"]) == {NEW_WORKSPACE: [1, {"deep": f"{NEW_WORKSPACE}/b"}]}


def test_arguments_keep_their_own_escapes() -> None:
    arguments = r'{"a" : "\/home\/dev\/w\/x-1\/repo\/\u00e9", "b":"\ud83d\ude00\/home\/dev\/w\/x-1\n", "c":1e5}'
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    new, _ = rewrite_response(completion({"content": None, "tool_calls": [call]}), PATHS)
    expected = arguments.replace(r"\/home\/dev\/w\/x-1\/repo", r"\/srv\/run\/2")
    own_home = '\\/srv\\/caf\u00e9 \U0001f600\\/own \\"home\\"'
    assert turn_of(new).tool_calls[0].arguments == expected.replace(r"\/home\/dev\/w\/x-1", own_home)


def test_arguments_that_are_an_object() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": {"path": WORKSPACE}}}
    new, _ = rewrite_response(completion({"content": None, "tool_calls": [call]}), PATHS)
    assert json.loads(turn_of(new).tool_calls[0].arguments) == {"path": NEW_WORKSPACE}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (f'{{"path": "{HOME}', '{"path": "/srv/caf\u00e9 \U0001f600/own \\"home\\"'),
        (f"ls {WORKSPACE}", f"ls {NEW_WORKSPACE}"),
        (f'{{"path": "{WORKSPACE}",,}}', f'{{"path": "{NEW_WORKSPACE}",,}}'),
    ],
)
def test_arguments_that_are_no_json(arguments: str, expected: str) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    new, _ = rewrite_response(completion({"content": None, "tool_calls": [call]}), PATHS)
    assert turn_of(new).tool_calls[0].arguments == expected
    new, _ = rewrite_response(arguments_in(*arguments), PATHS)
    assert turn_of(new).tool_calls[0].arguments == expected


# --- streams


def test_a_path_over_fragments_is_cut_again_near_its_old_places() -> None:
    response = arguments_in('{"', "path", '":"/home', "/dev/w", "/x-1", "/repo/a", '.py"', "}")
    new, changed = rewrite_response(response, PATHS)
    assert changed
    assert fragments_in(new.body) == ['{"', "path", '":"/s', "rv/r", "un", "/2/a", '.py"', "}"]


def test_fragments_stay_filled_as_far_as_there_is_text() -> None:
    short = PathMap(RECORDED, KnownPaths({"workspace": "/abc"}))
    new, _ = rewrite_response(arguments_in('{"p":"', WORKSPACE[:5], *WORKSPACE[5:7], WORKSPACE[7:], '"}'), short)
    assert fragments_in(new.body) == ['{"p":"', "/", "a", "b", "c", '"}']
    response = arguments_in('{"p":"', *WORKSPACE, '"}')
    new, _ = rewrite_response(response, short)
    fragments = fragments_in(new.body)
    assert len(fragments) == len(fragments_in(response.body))
    assert "".join(fragments) == '{"p":"/abc"}'


def test_a_path_split_inside_of_an_escape() -> None:
    response = arguments_in('{"p":"\\/home\\', "/dev\\/w\\/x-1", "\\", "/repo\\", 'n"}')
    new, _ = rewrite_response(response, PATHS)
    assert "".join(fragments_in(new.body)) == '{"p":"\\/srv\\/run\\/2\\n"}'
    fragments = fragments_in(new.body)
    assert fragments[-2:] == ["2\\", 'n"}']  # an escape that named no folder stays cut as it was
    assert not any(fragment.endswith("\\") for fragment in fragments[:-2])
    assert all(fragments)


def test_parallel_calls_interleaved() -> None:
    first, second = json.dumps({"p": f"{WORKSPACE}/1"}), json.dumps({"p": f"{HOME}/2"})
    documents = [
        call_delta("", 0, "a", "read"), call_delta(first[:9], 0), call_delta("", 1, "b", "read"),
        call_delta(second[:14], 1), call_delta(first[9:15], 0), call_delta(second[14:20], 1),
        call_delta(second[20:], 1), call_delta(first[15:], 0),
    ]  # fmt: skip
    new, _ = rewrite_response(streamed(*documents), PATHS)
    calls = turn_of(new).tool_calls
    assert [json.loads(call.arguments)["p"] for call in calls] == [f"{NEW_WORKSPACE}/1", f"{NEW_HOME}/2"]


def test_each_choice_is_a_text_of_its_own() -> None:
    documents = [
        delta({"content": WORKSPACE[:7]}, 0), delta({"content": WORKSPACE[:12]}, 1),
        delta({"content": WORKSPACE[7:]}, 0), delta({"content": WORKSPACE[12:]}, 1),
    ]  # fmt: skip
    new, _ = rewrite_response(streamed(*documents), PATHS)
    texts: dict[int, str] = {}
    for each in events_of(new.body):
        for choice in json.loads(each.data)["choices"] if each.data.startswith(b"{") else ():
            texts[choice["index"]] = texts.get(choice["index"], "") + choice["delta"].get("content", "")
    assert texts == {0: NEW_WORKSPACE, 1: NEW_WORKSPACE}


def test_reasoning_in_texts_and_in_structures() -> None:
    halves = WORKSPACE[:9], WORKSPACE[9:]
    documents = [
        delta({"reasoning_content": half, "reasoning_details": [{"type": "t", "index": 0, "text": half}]})
        for half in halves
    ]
    new, _ = rewrite_response(streamed(*documents), PATHS)
    message = turn_of(new).message
    assert message["reasoning_content"] == NEW_WORKSPACE
    assert "".join(part["text"] for part in message["reasoning_details"]) == NEW_WORKSPACE


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_whatever_else_stands_in_a_stream_stays(line_end: str) -> None:
    lines = [
        "\ufeff: hello /home/dev/w/x-1",
        "",
        "event: message",
        "id: /home/dev/w/x-1",
        'data:{ "choices" : [',
        ": between",
        'data: {"index":0, "delta":{"content":"\u00e9 \\u00e9 /home/dev/w/x-1/"}}',
        'data: ], "x":1.0}',
        "",
        "data: {broken /home/dev/w/x-1",
        "",
        'data: {"choices":[{"index":0,"delta":{"content":"repo/a"}}]}',
        "",
        "data: [DONE]",
    ]
    body = line_end.join(lines).encode()
    new, changed = rewrite_response(Response(200, STREAM, body), PATHS)
    assert changed
    expected = body.replace(b"\\u00e9 /home/dev/w/x-1/", b"\\u00e9 /srv/run")
    assert new.body == expected.replace(b'"repo/a"', b'"/2/a"')
    assert turn_of(new).content == "\u00e9 \u00e9 /srv/run/2/a"


def test_cumulative_arguments_stay_cumulative() -> None:
    whole = json.dumps({"path": f"{WORKSPACE}/a", "n": 1})
    response = arguments_in(whole[:12], whole[:20], whole[:36], whole)
    assert [anomaly.code for anomaly in turn_of(response).anomalies] == ["arguments_cumulative"]
    new, _ = rewrite_response(response, PATHS)
    assert turn_of(new).anomalies == turn_of(response).anomalies
    assert json.loads(turn_of(new).tool_calls[0].arguments) == {"path": f"{NEW_WORKSPACE}/a", "n": 1}


def test_arguments_sent_again_in_full() -> None:
    whole = json.dumps({"path": f"{WORKSPACE}/a"})
    response = arguments_in(whole[:20], whole[20:], whole)
    new, _ = rewrite_response(response, PATHS)
    assert turn_of(new).anomalies == turn_of(response).anomalies
    assert json.loads(turn_of(new).tool_calls[0].arguments) == {"path": f"{NEW_WORKSPACE}/a"}


def test_calls_without_index_and_arguments_that_are_no_text() -> None:
    documents = [
        delta({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": f'{{"p":"{WORKSPACE[:8]}'}}]}),
        delta({"tool_calls": {"function": {"arguments": f'{WORKSPACE[8:]}"}}'}}}),
        delta({"tool_calls": [{"id": "b", "function": {"name": "f", "arguments": {"p": WORKSPACE}}}]}),
    ]
    response = streamed(*documents)
    new, _ = rewrite_response(response, PATHS)
    assert [json.loads(call.arguments) for call in turn_of(new).tool_calls] == [{"p": NEW_WORKSPACE}] * 2
    assert turn_of(new).anomalies == turn_of(response).anomalies


def test_chunks_end_at_the_same_places() -> None:
    response = streamed(delta({"content": f"a {WORKSPACE[:6]}"}), delta({"content": f"{WORKSPACE[6:]} b"}))
    cuts = [events_of(response.body)[0].end, events_of(response.body)[1].end - 3, len(response.body)]
    response = Response(200, STREAM, response.body, tuple(Chunk(cut, cut / 8) for cut in cuts))
    new, _ = rewrite_response(response, PATHS)
    assert [chunk.end for chunk in new.chunks] == [
        events_of(new.body)[0].end, events_of(new.body)[1].end - 3, len(new.body)
    ]  # fmt: skip
    assert [chunk.time for chunk in new.chunks] == [chunk.time for chunk in response.chunks]


# --- other bodies


def test_a_body_of_another_kind_is_a_text() -> None:
    body = f"<p>caf\u00e9 {WORKSPACE}/a</p>".encode()
    headers: Headers = (("Content-Type", "text/html"), ("Content-Length", str(len(body))))
    new, changed = rewrite_response(Response(200, headers, body, (Chunk(9, 0.5), Chunk(len(body), 1))), PATHS)
    assert changed
    assert new.body == f"<p>caf\u00e9 {NEW_WORKSPACE}/a</p>".encode()
    assert header(new.headers, "content-length") == str(len(new.body))
    assert new.chunks == (Chunk(9, 0.5), Chunk(len(new.body), 1))


@pytest.mark.parametrize("document", [{"error": {"message": f"no {WORKSPACE}"}}, {"text": WORKSPACE}, [WORKSPACE]])
def test_json_of_another_kind(document: object) -> None:
    new, changed = rewrite_response(Response(400, JSON, json.dumps(document).encode()), PATHS)
    assert changed
    assert new.body.decode() == json.dumps(document).replace(WORKSPACE, NEW_WORKSPACE)


@pytest.mark.parametrize("streamed_body", [False, True])
def test_the_strings_of_unknown_apis_stay_strings(streamed_body: bool) -> None:
    document = {"type": "x", "files": {f"{HOME}/a": 1}, "arguments": json.dumps({"p": f"{HOME}/b"})}
    body = event(document) * 2 if streamed_body else json.dumps(document).encode()
    new, changed = rewrite_response(Response(200, STREAM if streamed_body else JSON, body), PATHS)
    assert changed
    expected = {"type": "x", "files": {f"{NEW_HOME}/a": 1}, "arguments": {"p": f"{NEW_HOME}/b"}}
    for each in events_of(new.body) if streamed_body else [new.body]:
        found = json.loads(each if isinstance(each, bytes) else each.data)
        assert {**found, "arguments": json.loads(found["arguments"])} == expected


def test_structured_output_stays_json() -> None:
    text = json.dumps({"path": f"{HOME}/a", "more": [WORKSPACE]})
    response = streamed(*[delta({"content": text[start : start + 4]}) for start in range(0, len(text), 4)])
    for answer in (completion({"content": text}), response):
        new, _ = rewrite_response(answer, PATHS)
        assert json.loads(turn_of(new).content or "") == {"path": f"{NEW_HOME}/a", "more": [NEW_WORKSPACE]}


def test_an_error_inside_of_a_stream() -> None:
    new, _ = rewrite_response(streamed(delta({"content": "a"}), {"error": {"message": f"no {WORKSPACE}"}}), PATHS)
    assert turn_of(new).error == {"message": f"no {NEW_WORKSPACE}"}


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate)]
)
def test_a_compressed_body_is_given_decoded(encoding: str, pack: Any) -> None:
    body = streamed(*[delta({"content": f"{number} {WORKSPACE} "}) for number in range(200)]).body
    packed = pack(body)
    headers: Headers = (*STREAM, ("Content-Encoding", encoding), ("content-length", str(len(packed))))
    cuts = [4, 300, 500, len(packed)]
    response = Response(200, headers, packed, tuple(Chunk(cut, cut / 8) for cut in cuts))
    new, changed = rewrite_response(response, PATHS)
    assert changed
    assert header(new.headers, "content-encoding") is None
    assert header(new.headers, "content-length") == str(len(new.body))
    assert turn_of(new).content == "".join(f"{number} {NEW_WORKSPACE} " for number in range(200))
    ends = [chunk.end for chunk in new.chunks]
    assert ends == sorted(set(ends))
    assert ends[-1] == len(new.body)
    same = Response(200, headers, pack(b"data: {}\n\n"))
    assert rewrite_response(same, PATHS)[0] is same


def test_a_gzip_body_of_several_members_keeps_its_end() -> None:
    body = completion({"content": WORKSPACE}).body
    packed = gzip.compress(body[:20]) + gzip.compress(body[20:])
    response = Response(200, JSON, packed, (Chunk(30, 1), Chunk(len(packed), 2)))
    new, _ = rewrite_response(response, PATHS)
    assert turn_of(new).content == NEW_WORKSPACE
    assert new.chunks[-1] == Chunk(len(new.body), 2)


@pytest.mark.parametrize(
    "body", [b"", b"\x1f\x8b broken", b"\xff\xfe/home/dev/w/x-1/repo", b"data: \xff\n\n", b'{"choices":[{"message":']
)
def test_what_cannot_be_read_stays(body: bytes) -> None:
    for headers in (STREAM, JSON, (("content-encoding", "deflate"),), ()):
        response = Response(200, headers, body)
        assert rewrite_response(response, PATHS) == (response, False)


def test_deeply_nested_bodies() -> None:
    deep = b'{"choices":[{"index":0,"delta":{"x":' + b"[" * 900 + b'"/home/dev/w/x-1/repo"' + b"]" * 900 + b"}}]}"
    new, changed = rewrite_response(Response(200, STREAM, b"data: " + deep + b"\n\n"), PATHS)
    assert changed
    assert new.body == b"data: " + deep.replace(WORKSPACE.encode(), NEW_WORKSPACE.encode()) + b"\n\n"
    rewrite_response(Response(200, JSON, b"[" * 100_000), PATHS)


# --- properties

# Words stand apart, so that no fragment can look like a folder that the whole text does not name.
WORDS = st.sampled_from(
    ["a", "caf\u00e9", "\U0001f600", "\n", '"q"', "\\", "\u5728", "-", "/usr/lib", ":", "{}", "\x01"]
)
FOLDERS = st.sampled_from(
    [WORKSPACE, HOME, f"{WORKSPACE}/a.py", f"file://{WORKSPACE}", f"{HOME}/.q/-home-dev-w-x-1-repo/m"]
)
TEXTS = st.lists(WORDS | FOLDERS, max_size=6).map(" ".join)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["path", "text", "\u00e9"]), TEXTS | st.lists(TEXTS, max_size=2) | st.none()
)


class Streamed(NamedTuple):
    """A stream, and what it says: content, reasoning and the arguments texts of its calls."""

    response: Response
    content: str
    reasoning: str
    arguments: tuple[str, ...]


def cut(draw: st.DrawFn, text: str) -> list[str]:
    places = draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    return [text[start:stop] for start, stop in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def streams(draw: st.DrawFn) -> Streamed:
    content, reasoning = draw(TEXTS), draw(TEXTS)
    arguments = [
        json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
        for value in draw(st.lists(ARGUMENTS, max_size=3))
    ]
    arguments = [text.replace("/", "\\/") if draw(st.booleans()) else text for text in arguments]
    queues = [
        [delta({"content": piece}) for piece in cut(draw, content)],
        [delta({"reasoning_content": piece}) for piece in cut(draw, reasoning)],
        *(
            [call_delta(piece, index, f"call_{index}" if first else None, "f" if first else None)
             for piece, first in zip(pieces, [True] + [False] * len(pieces), strict=False)]
            for index, pieces in enumerate(cut(draw, text) for text in arguments)
        ),
    ]  # fmt: skip
    documents: list[dict[str, Any]] = []
    while queues := [queue for queue in queues if queue]:
        documents.append(draw(st.sampled_from(queues)).pop(0))
    options = {"ensure_ascii": draw(st.booleans())}
    body = b"".join(event(document, **options) for document in documents)
    body += draw(st.sampled_from([end(), b"", b"data: {broken\n\n" + end(), end("length")]))
    ends = draw(st.lists(st.integers(1, len(body)), max_size=12).map(lambda cuts: sorted({*cuts, len(body)})))
    chunks = tuple(Chunk(stop, number / 8) for number, stop in enumerate(ends))
    return Streamed(Response(200, STREAM, body, chunks), content, reasoning, tuple(arguments))


def rewritten(value: Any, paths: PathMap) -> Any:
    if isinstance(value, str):
        return paths.rewrite(value)
    if isinstance(value, list):
        return [rewritten(item, paths) for item in value]
    if isinstance(value, dict):
        return {paths.rewrite(key): rewritten(item, paths) for key, item in value.items()}
    return value


def parsed_arguments(message: dict[str, Any]) -> dict[str, Any]:
    message = copy.deepcopy(message)
    for call in message.get("tool_calls", ()):
        with contextlib.suppress(ValueError):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return message


@properties
@given(streams())
def test_equal_folders_change_nothing(stream: Streamed) -> None:
    new, changed = rewrite_response(stream.response, SAME)
    assert new is stream.response
    assert not changed


@properties
@given(streams())
def test_no_recorded_folder_is_left_anywhere(stream: Streamed) -> None:
    new, changed = rewrite_response(stream.response, PATHS)
    assert RECORDED.find(new.body.decode()) == []
    assert RECORDED.find(json.dumps(turn_of(new).message, ensure_ascii=False)) == []
    said = (stream.content, stream.reasoning, *stream.arguments)
    assert changed is any(RECORDED.find(text) for text in said)
    assert (new is stream.response) is not changed


@properties
@given(streams())
def test_the_assembled_message_is_the_rewritten_one(stream: Streamed) -> None:
    new, _ = rewrite_response(stream.response, PATHS)
    expected = rewritten(parsed_arguments(turn_of(stream.response).message), PATHS)
    assert parsed_arguments(turn_of(new).message) == expected


@properties
@given(streams())
def test_the_stream_reads_as_before(stream: Streamed) -> None:
    new, _ = rewrite_response(stream.response, PATHS)
    old_turn, new_turn = turn_of(stream.response), turn_of(new)
    assert len(events_of(new.body)) == len(events_of(stream.response.body))
    assert new_turn.anomalies == old_turn.anomalies
    assert new_turn.status == old_turn.status
    assert new_turn.finish_reason == old_turn.finish_reason


def fragment_texts(body: bytes) -> list[tuple[str, str]]:
    """Every fragment of a text in a stream, with the text it belongs to."""
    found: list[tuple[str, str]] = []
    for each in events_of(body):
        try:
            document = json.loads(each.data)
        except ValueError:
            continue
        for choice in document["choices"]:
            for key, value in choice["delta"].items():
                if isinstance(value, str):
                    found.append((key, value))
                else:
                    found += [(str(call["index"]), call["function"]["arguments"]) for call in value]
    return found


@properties
@given(streams())
def test_fragments_that_touch_no_folder_stay(stream: Streamed) -> None:
    new, _ = rewrite_response(stream.response, PATHS)
    before, after = fragment_texts(stream.response.body), fragment_texts(new.body)
    assert [channel for channel, _ in before] == [channel for channel, _ in after]
    for channel in {channel for channel, _ in before}:
        old = [text for own, text in before if own == channel]
        now = [text for own, text in after if own == channel]
        touched = touched_fragments(old, channel)
        for number, (was, is_now) in enumerate(zip(old, now, strict=True)):
            if number not in touched:
                assert is_now == was
            if not was:
                assert not is_now


def touched_fragments(fragments: Sequence[str], channel: str) -> set[int]:
    """The fragments that hold a part of a folder, found independently: by looking for where the texts differ."""
    text = "".join(fragments)
    spelled = [WORKSPACE, HOME, "home-dev-w-x-1-repo"]
    if channel.isdigit():
        spelled += [path.replace("/", "\\/") for path in spelled]
    covered = {
        place
        for path in spelled
        for found in re.finditer(re.escape(path), text)
        for place in range(found.start(), found.end())
    }
    touched: set[int] = set()
    position = 0
    for number, fragment in enumerate(fragments):
        if covered.intersection(range(position, position + len(fragment))):
            touched.add(number)
        position += len(fragment)
    return touched


@properties
@given(streams())
def test_chunks_cover_the_body_and_rise(stream: Streamed) -> None:
    new, _ = rewrite_response(stream.response, PATHS)
    old_chunks = stream.response.chunks
    ends = [chunk.end for chunk in new.chunks]
    assert [chunk.time for chunk in new.chunks] == [chunk.time for chunk in old_chunks]
    assert ends == sorted(ends)
    assert ends[-1:] == [len(new.body)]
    for old, chunk in zip(old_chunks, new.chunks, strict=True):
        if stream.response.body[: old.end].endswith(b"\n\n"):  # as many events as before have arrived
            assert new.body[: chunk.end].count(b"\n\n") == stream.response.body[: old.end].count(b"\n\n")
            assert new.body[: chunk.end].endswith(b"\n\n")


@properties
@given(streams())
def test_there_and_back_is_the_same_message(stream: Streamed) -> None:
    there, _ = rewrite_response(stream.response, PATHS)
    back, _ = rewrite_response(there, PATHS.reversed)
    assert parsed_arguments(turn_of(back).message) == parsed_arguments(turn_of(stream.response).message)
    assert turn_of(back).anomalies == turn_of(stream.response).anomalies


@properties
@given(TEXTS, TEXTS, ARGUMENTS, st.booleans(), st.sampled_from([None, 2]))
def test_plain_answers(content: str, reasoning: str, arguments: dict[str, Any], ascii_only: bool, indent: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": content, "reasoning": reasoning, "tool_calls": [call]}
    response = completion(message, ensure_ascii=ascii_only, indent=indent)
    new, _ = rewrite_response(response, PATHS)
    assert RECORDED.find(new.body.decode()) == []
    assert parsed_arguments(turn_of(new).message) == rewritten(parsed_arguments(message), PATHS)
    back, _ = rewrite_response(new, PATHS.reversed)
    assert parsed_arguments(turn_of(back).message) == parsed_arguments(message)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FOLDERS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "message", "tool_calls", "function", "arguments", "content", "error"])
            | st.sampled_from(["index", "id", "function_call", "reasoning_details", "text"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def codes_of(body: bytes) -> list[tuple[str, int]]:
    return [(anomaly.code, anomaly.at) for anomaly in parse_stream(body).anomalies]


@st.composite
def odd_bodies(draw: st.DrawFn) -> bytes:
    deltas = st.fixed_dictionaries({"choices": st.lists(st.fixed_dictionaries({"delta": JSON_VALUES}), max_size=2)})
    documents = draw(st.lists(JSON_VALUES | deltas, max_size=4))
    pieces = [b"data: " + json.dumps(document).encode() + b"\n\n" for document in documents]
    pieces += draw(st.lists(st.binary(max_size=6) | st.just(b"data: {\n\n"), max_size=2))
    body = b"".join(draw(st.permutations(pieces)))
    if draw(st.booleans()):
        body = body.removeprefix(b"data: ")
    return gzip.compress(body) if draw(st.booleans()) else body


@properties
@given(
    odd_bodies(), st.sampled_from([STREAM, JSON, (("content-encoding", "deflate"),), ()]), st.lists(st.integers(0, 99))
)
def test_no_body_makes_it_raise(body: bytes, headers: Headers, ends: list[int]) -> None:
    response = Response(200, headers, body, tuple(Chunk(stop, 0.0) for stop in ends))
    new, changed = rewrite_response(response, PATHS)
    assert (new is response) is not changed
    if changed:
        assert decoded(new.body, new.headers) == new.body
        old = decoded(body, headers)
        if response.streamed:
            assert len(events_of(new.body)) == len(events_of(old))
            assert codes_of(new.body) == codes_of(old)  # their details may name a folder


# --- recorded agents


def agents_of(shared_dir: Path) -> Iterable[tuple[str, Path, Path]]:
    for second in sorted((shared_dir / "agents").glob("*.2.jsonl")):
        name = second.name.removesuffix(".2.jsonl")
        yield name, second.with_name(f"{name}.jsonl"), second


def folders_of(name: str, text: str) -> dict[str, str]:
    """The folders in which a run was recorded; agents that were given none know none."""
    found = re.search(rf"/home/dev/w/{name}-[a-z0-9_]{{8}}", text)
    return {"workspace": f"{found.group()}/repo", "home": f"{found.group()}/home"} if found else {}


def said_in(path: Path) -> list[dict[str, Any]]:
    """The assistant's messages in the longest history that was sent."""
    histories = [json.loads(line)["body"].get("messages", []) for line in path.read_text().splitlines()]
    return [message for message in max(histories, key=len) if message["role"] == "assistant"]


def stream_of(message: dict[str, Any], source: random.Random) -> Response:
    """A message as a stream of random fragments, its calls interleaved."""

    def pieces(text: str) -> list[str]:
        cuts = sorted(source.randrange(len(text) + 1) for _ in range(source.randrange(12)))
        return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    queues = [[delta({"content": piece}) for piece in pieces(message.get("content") or "")]]
    for index, call in enumerate(message.get("tool_calls", ())):
        head = call_delta("", index, call["id"], call["function"]["name"])
        queues.append([head, *(call_delta(piece, index) for piece in pieces(call["function"]["arguments"]))])
    documents: list[dict[str, Any]] = []
    while queues := [queue for queue in queues if queue]:
        documents.append(source.choice(queues).pop(0))
    return streamed(*documents, ensure_ascii=source.random() < 0.5)


@pytest.mark.corpus
def test_answers_of_one_run_become_those_of_the_other(shared_dir: Path) -> None:
    source = random.Random(20)
    calls = with_paths = 0
    for name, first, second in agents_of(shared_dir):
        old_folders, new_folders = folders_of(name, first.read_text()), folders_of(name, second.read_text())
        paths = PathMap(KnownPaths(old_folders), KnownPaths(new_folders))
        for old, new in zip(said_in(first), said_in(second), strict=True):
            expected = [(call["function"]["name"], call["function"]["arguments"]) for call in new.get("tool_calls", ())]
            for _ in range(40):
                response = stream_of(old, source)
                answer, changed = rewrite_response(response, paths)
                found = turn_of(answer)
                assert [(call.name, call.arguments) for call in found.tool_calls] == expected, name
                assert (found.content or "") == (new.get("content") or ""), name
                assert paths.recorded.find(answer.body.decode()) == []
            plain, _ = rewrite_response(completion(old), paths)
            assert [(call.name, call.arguments) for call in turn_of(plain).tool_calls] == expected, name
            calls += len(expected)
            with_paths += changed
    if not calls:
        pytest.skip("no recorded pairs of agents beside this checkout")
    assert with_paths
