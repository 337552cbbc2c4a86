"""The harness's own cassette format: what is written is read back, and nothing is stored twice."""

from __future__ import annotations

import gzip
import json
import pickle
from copy import deepcopy
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.own import NAME, dump_cassette
from harness.cassette.own.styles import STYLES, render
from harness.errors import InputError
from harness.wire.exchange import Chunk, Exchange, Request, RequestParts, Response
from tests.cassette.conversations import CHAT, chat, sessions

in_tmp_path = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
NAME_OF_FILE = "session.cassette.jsonl"
SYSTEM = {"role": "system", "content": "Be brief."}


def cassette(*exchanges: Exchange, **fields: Any) -> Cassette:
    return Cassette(Path(NAME_OF_FILE), NAME, tuple(replace(one, index=n) for n, one in enumerate(exchanges)), **fields)


def written(folder: Path, *exchanges: Exchange, **fields: Any) -> Path:
    path = folder / NAME_OF_FILE
    path.write_bytes(dump_cassette(cassette(*exchanges, **fields)))
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def growing(turns: int, system: bool = False) -> list[Exchange]:
    """A conversation; ``system`` has a system prompt that changes with each request."""
    history: list[Any] = [SYSTEM]
    exchanges = []
    for turn in range(turns):
        history = [*history, user(f"question {turn}"), {"role": "assistant", "content": f"answer {turn}"}]
        first = {"role": "system", "content": f"It is {turn} o'clock."} if system else SYSTEM
        exchanges.append(chat([first, *history[1:-1]], tools=[{"type": "function"}]))
    return exchanges


@in_tmp_path
@given(recorded=sessions())
def test_what_is_written_is_read_back(tmp_path: Path, recorded: list[Exchange]) -> None:
    path = written(tmp_path, *recorded)
    loaded = load_cassette(path)
    assert loaded.exchanges == tuple(recorded)
    assert loaded.notes == ()
    for ours, theirs in zip(loaded.exchanges, recorded, strict=True):
        assert ours.request.body == theirs.request.body
        assert ours.request.parts() == theirs.request.parts()
    assert dump_cassette(loaded) == path.read_bytes()


@in_tmp_path
@given(recorded=sessions())
def test_parts_are_known_without_building_bodies(tmp_path: Path, recorded: list[Exchange]) -> None:
    for ours, theirs in zip(load_cassette(written(tmp_path, *recorded)).exchanges, recorded, strict=True):
        assert ours.request.parts() == theirs.request.parts()


def test_folders_are_kept_where_they_are_known(tmp_path: Path) -> None:
    loaded = load_cassette(written(tmp_path, chat([SYSTEM]), workspace="/srv/shop", home="/home/kim"))
    assert (loaded.dialect, loaded.workspace, loaded.home) == ("harness", "/srv/shop", "/home/kim")
    assert load_cassette(written(tmp_path)).workspace is None


def test_a_reviewer_can_read_it(tmp_path: Path) -> None:
    first = chat([SYSTEM, user("Hé?")], b'{"ok":1}', tools=[{"type": "function"}])
    second = chat([SYSTEM, user("Hé?"), user("Yes")], b"\xff", tools=[{"type": "function"}])
    other = Exchange(Request("GET", "https://h/v1/models", (("accept", "*/*"),)), Response(404))
    path = written(tmp_path, first, second, other, workspace="/w")
    asked = f'"request":{{"method":"POST","url":"{CHAT}","parameters":1,"tools":1,"messages":'
    answered = '"response":{"status":200,"reason":"OK",'
    models = '"request":{"method":"GET","url":"https://h/v1/models","headers":[["accept","*/*"]]}'
    assert path.read_text("utf-8").splitlines() == [
        '{"format":"harness-cassette","version":1,"workspace":"/w"}',
        '{"parameters":1,"value":{"model":"m","messages":null,"tools":null}}',
        '{"tools":1,"value":[{"type":"function"}]}',
        '{"message":1,"value":{"role":"system","content":"Be brief."}}',
        '{"message":2,"value":{"role":"user","content":"Hé?"}}',
        f'{{"exchange":1,{asked}[1,2]}},{answered}"body":"{{\\"ok\\":1}}","chunk_ends":[8],"chunk_times":[0.25]}}}}',
        '{"message":3,"value":{"role":"user","content":"Yes"}}',
        f'{{"exchange":2,{asked}[1,2,3]}},{answered}"base64":"/w==","chunk_ends":[1],"chunk_times":[0.25]}}}}',
        f'{{"exchange":3,{models},"response":{{"status":404}}}}',
    ]


@pytest.mark.parametrize("changing", [False, True])
def test_a_file_grows_with_the_new_messages(tmp_path: Path, changing: bool) -> None:
    path = written(tmp_path, *growing(200, changing))
    sizes = [len(orjson.dumps(line)) for line in lines(path) if "exchange" in line]
    assert max(sizes) < sizes[0] + 40
    messages = [json.dumps(line["value"]) for line in lines(path) if "message" in line]
    assert len(messages) == len(set(messages)) == 2 * 200 - 1 + (200 if changing else 1)
    assert sum("tools" in line for line in lines(path)) == 1


def test_mixed_lanes_cost_no_more_than_each_alone(tmp_path: Path) -> None:
    main = growing(60)
    other = [chat([SYSTEM, *one.request.json()["messages"][1:], user("aside")], tools=[{"type": "x"}]) for one in main]
    path = written(tmp_path, *(one for pair in zip(main, other, strict=True) for one in pair))
    sizes = [len(line["request"]["messages"]) for line in lines(path) if "exchange" in line]
    assert max(sizes) <= 4


def test_equal_messages_are_one_object(tmp_path: Path) -> None:
    first, second = load_cassette(written(tmp_path, *growing(2))).exchanges
    one, other = first.request.parts(), second.request.parts()
    assert one is not None
    assert other is not None
    assert one.messages is not None
    assert other.messages is not None
    assert len(other.messages) == len(one.messages) + 2
    assert all(left is right for left, right in zip(one.messages, other.messages, strict=False))
    assert one.tools is other.tools
    assert one.rest is other.rest
    assert one.rest == {"model": "m"}


@pytest.mark.parametrize("style", STYLES)
def test_bodies_come_back_as_their_client_wrote_them(tmp_path: Path, style: str) -> None:
    body = render(style, {"z": 1.5, "messages": [user("é <a href> & \u2028")], "a": {}, "tools": []})
    path = written(tmp_path, Exchange(Request("POST", CHAT, (), body), Response(200)))
    assert '"parameters":1' in path.read_text("utf-8")
    assert load_cassette(path).exchanges[0].request.body == body


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not JSON",
        b'{"messages":[],"messages":[1]}',
        b'{"n":1e5}',
        b'{"n":123456789012345678901234567890}',
        b'{"a": 1,"b":2}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\/"}',
        b"\x00\xff{}",
        b"\xef\xbb\xbf{}",
        b' {"a":1}\n',
        b"[1]",
        gzip.compress(b"{}", mtime=0),
        b'{"a":' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_bodies_that_no_client_wrote_are_kept_too(tmp_path: Path, body: bytes) -> None:
    (loaded,) = load_cassette(written(tmp_path, Exchange(Request("POST", CHAT, (), body), Response(200)))).exchanges
    assert loaded.request.body == body


def test_a_deferred_request_is_like_any_other(tmp_path: Path) -> None:
    plain = chat([SYSTEM, user("hi")]).request
    stored = load_cassette(written(tmp_path, chat([SYSTEM, user("hi")]))).exchanges[0].request
    assert repr(stored) == repr(plain)
    assert stored == plain
    assert hash(stored) == hash(plain)
    assert stored.json() == plain.json()
    assert replace(stored, url="https://other/").body == plain.body
    for copied in (pickle.loads(pickle.dumps(stored)), deepcopy(stored)):
        assert copied == plain
    with pytest.raises(FrozenInstanceError):
        stored.body = b""  # type: ignore[misc]
    with pytest.raises(AttributeError, match="parsed"):
        stored.parsed  # type: ignore[attr-defined] # noqa: B018
    json_of_stored = stored.json()
    json_of_stored["messages"][0]["content"] = "changed by a caller"
    assert stored.json() == plain.json()


def test_a_deferred_response_is_like_any_other(tmp_path: Path) -> None:
    plain = chat([], b"data: x\n\n").response
    stored = load_cassette(written(tmp_path, chat([], b"data: x\n\n"))).exchanges[0].response
    assert stored == plain
    assert stored.chunks == (Chunk(9, 0.25),)
    assert stored.streamed
    assert pickle.loads(pickle.dumps(stored)) == plain
    with pytest.raises(AttributeError):
        stored.text  # type: ignore[attr-defined] # noqa: B018


def test_parts_of_any_request() -> None:
    request = Request("POST", CHAT, (), b'{"tools":null,"model":"m","messages":[1]}')
    assert request.parts() == RequestParts({"tools": None, "model": "m"}, [1], None)
    packed = Request("POST", CHAT, (("content-encoding", "gzip"),), gzip.compress(request.body))
    assert packed.parts() == request.parts()
    for body in (b"", b"[]", b"text", b"\xff"):
        assert Request("POST", CHAT, (), body).parts() is None


def test_packed_files_and_other_names_are_read(tmp_path: Path) -> None:
    data = dump_cassette(cassette(*growing(3)))
    for name, content in (("a.cassette.jsonl.gz", gzip.compress(data)), ("b.txt", data), ("c.jsonl", data)):
        (tmp_path / name).write_bytes(content)
        assert len(load_cassette(tmp_path / name).exchanges) == 3


def test_line_ends_of_another_system_and_a_missing_last_one_do_no_harm(tmp_path: Path) -> None:
    data = dump_cassette(cassette(*growing(2)))
    path = tmp_path / NAME_OF_FILE
    for changed in (data.replace(b"\n", b"\r\n"), data.removesuffix(b"\n"), data.replace(b"\n", b"\n\n")):
        path.write_bytes(changed)
        loaded = load_cassette(path)
        assert (len(loaded.exchanges), loaded.notes) == (2, ())


def test_a_torn_end_is_left_out_and_said(tmp_path: Path) -> None:
    path = written(tmp_path, *growing(2))
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    loaded = load_cassette(path)
    assert loaded.exchanges == cassette(*growing(1)).exchanges
    assert loaded.notes == ("line 9 is torn and was left out: the recorder was stopped while writing it",)
    path.write_bytes(b"".join(data.splitlines(keepends=True)[:-1]))
    assert load_cassette(path).notes == (
        "the last 2 lines belong to no exchange: the recorder was stopped while writing it",
    )


@pytest.mark.parametrize("data", [b"", b"{", b'{"format":"harness-cassette","vers', b"\0\0\0"])
def test_a_recorder_that_was_stopped_before_the_first_exchange(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / NAME_OF_FILE
    path.write_bytes(data)
    loaded = load_cassette(path)
    assert loaded.exchanges == ()
    assert len(loaded.notes) == 1


EXCHANGE = '{"exchange":1,"request":%s,"response":%s}'
ASKED = '{"method":"GET","url":"u"}'
ANSWERED = '{"status":200}'


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"message":1,"val', "broken"),
        ("[]", "a line is a JSON object"),
        ("{}", "no known kind"),
        ('{"message":2,"value":{}}', "message 2 stands where message 1 is due"),
        ('{"message":1}', "no value"),
        ('{"parameters":1,"value":[]}', "parameters are a JSON object"),
        ('{"parameters":1,"value":{"tools":[]}}', "in parameters only null"),
        ('{"exchange":2}', "exchange 2 stands where exchange 1 is due"),
        ('{"exchange":1}', "a request and a response"),
        (EXCHANGE % ('{"method":"GET"}', ANSWERED), "url is missing"),
        (EXCHANGE % ('{"method":1,"url":"u"}', ANSWERED), "method is not text"),
        (EXCHANGE % (ASKED, "{}"), "no status"),
        (EXCHANGE % (ASKED, '{"status":200,"reason":1}'), "reason is not text"),
        (EXCHANGE % (ASKED, '{"status":200,"body":1}'), "body is neither text"),
        (EXCHANGE % (ASKED, '{"status":200,"body":[1]}'), "before, parts, after"),
        (EXCHANGE % (ASKED, '{"status":200,"base64":"?"}'), "base64"),
        (EXCHANGE % (ASKED, '{"status":200,"headers":{}}'), "headers are not"),
        (EXCHANGE % (ASKED, '{"status":200,"headers":[["a"]]}'), "headers are not"),
        (EXCHANGE % (ASKED, '{"status":200,"body":"ab","chunk_ends":[1],"chunk_times":[0]}'), "2 bytes"),
        (EXCHANGE % (ASKED, '{"status":200,"body":"ab","chunk_ends":[2]}'), "same length"),
        (EXCHANGE % (ASKED, '{"status":200,"body":"ab","chunk_ends":[2],"chunk_times":["0"]}'), "are numbers"),
        (EXCHANGE % ('{"method":"GET","url":"u","parameters":1}', ANSWERED), "no parameters 1"),
        (EXCHANGE % ('{"method":"GET","url":"u","messages":[1]}', ANSWERED), "no message 1"),
        (EXCHANGE % ('{"method":"GET","url":"u","messages":[[1,1,1]]}', ANSWERED), "no messages of an exchange"),
        (EXCHANGE % ('{"method":"GET","url":"u","messages":{}}', ANSWERED), "messages is not a list"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / NAME_OF_FILE
    path.write_text(f'{{"format":"harness-cassette","version":1}}\n{line}\n', "utf-8")
    with pytest.raises(InputError, match=what) as caught:
        load_cassette(path)
    assert caught.value.where == f"{path}:2"


def test_references_and_styles_are_checked(tmp_path: Path) -> None:
    data = dump_cassette(cassette(*growing(2))).decode()
    path = tmp_path / NAME_OF_FILE
    for old, new, what in (
        ('"tools":1,"messages":[1,2]', '"tools":2,"messages":[1,2]', "no tools 2"),
        ('"parameters":1,"tools":1,"messages"', '"style":"odd","parameters":1,"tools":1,"messages"', "no style 'odd'"),
        ('{"model":"m","messages":null,', '{"model":"m",', "no place for"),
    ):
        assert old in data
        path.write_text(data.replace(old, new, 1), "utf-8")
        with pytest.raises(InputError, match=what):
            load_cassette(path)


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ('{"format":"harness-cassette","version":2}', "version 2"),
        ('{"format":"harness-cassette"}', "version None"),
        ('{"format":"harness-cassette","version":1,"home":1}', "home is not text"),
        ('{"format":"other","version":1}', "not a cassette"),
        ("interactions: []", "broken"),
    ],
)
def test_other_headers_are_refused(tmp_path: Path, header: str, what: str) -> None:
    path = tmp_path / NAME_OF_FILE
    path.write_text(header + "\n", "utf-8")
    with pytest.raises(InputError, match=what) as caught:
        load_cassette(path)
    assert caught.value.where == f"{path}:1"


def test_a_foreign_file_under_our_name_is_not_taken_for_torn(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    path.write_text("interactions:", "utf-8")
    with pytest.raises(InputError, match="not a cassette"):
        load_cassette(path)


def test_text_that_is_no_unicode_cannot_be_stored() -> None:
    with pytest.raises(InputError, match="exchange 1 is no valid Unicode"):
        dump_cassette(cassette(Exchange(Request("GET", "\ud800"), Response(200))))


@pytest.mark.parametrize("style", ["compact", "compact-ascii", "spaced-ascii"])
def test_half_a_surrogate_pair_is_stored_in_parts_as_clients_write_it(tmp_path: Path, style: str) -> None:
    """JavaScript escapes halves and nothing else, Python's ``json`` all that is beyond ASCII."""
    body = render(style, {"model": "é", "messages": [user("\ud83d é"), user("x"), user("\ud83d é")]})
    assert b"\\ud83d" in body
    path = written(tmp_path, Exchange(Request("POST", CHAT, (), body), Response(200, (), b'{"a": "\\ud83d"}')))
    stored = lines(path)
    assert [line["value"]["content"] for line in stored if "message" in line] == ["\ud83d é", "x"]
    (loaded,) = load_cassette(path).exchanges
    assert (loaded.request.body, loaded.response.body) == (body, b'{"a": "\\ud83d"}')
    parts = loaded.request.parts()
    assert parts is not None
    assert list(parts.messages or ()) == [user("\ud83d é"), user("x"), user("\ud83d é")]
    assert dump_cassette(load_cassette(path)) == path.read_bytes()
