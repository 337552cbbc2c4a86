from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cassette.cassette import Cassette
from harness.cassette.matching import Matcher
from harness.wire.exchange import Exchange, Request, Response

CHAT = "http://h/v1/chat/completions"
PATHS = {"/tmp/recorded": "<workspace>", "/tmp/live/": "<workspace>", "/home/me": "<home>"}


def call(arguments: str, name: str = "Read") -> dict[str, Any]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


BODY: dict[str, Any] = {
    "model": "m",
    "temperature": 0,
    "tools": [{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}],
    "messages": [
        {"role": "system", "content": "You work in /tmp/recorded."},
        {"role": "user", "content": "Read a.txt"},
        {"role": "assistant", "tool_calls": [call('{"file": "/tmp/recorded/a.txt", "limit": 3}')]},
        {"role": "tool", "tool_call_id": "call_1", "content": '{"text": "hi", "stats": {"time_ms": 12}}'},
    ],
}


def request(body: Any, url: str = CHAT, method: str = "POST") -> Request:
    return Request(method, url, (), body if isinstance(body, bytes) else json.dumps(body).encode())


def cassette(*bodies: Any, url: str = CHAT) -> Cassette:
    answers = [Response(200, (), b"%d" % number) for number in range(len(bodies))]
    pairs = zip(bodies, answers, strict=True)
    return Cassette(
        Path("session.yaml"),
        "vcrpy",
        tuple(Exchange(request(body, url), answer, index) for index, (body, answer) in enumerate(pairs)),
    )


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    body = copy.deepcopy(BODY)
    change(body)
    return body


def matches(recorded: Any, live: Any) -> bool:
    return Matcher(cassette(recorded), PATHS).find(request(live)) is not None


def test_key_order_and_the_mount_point_do_not_count() -> None:
    turned = {name: BODY[name] for name in reversed(BODY)}
    matcher = Matcher(cassette(BODY))
    assert matcher.find(request(turned, "https://gateway.example/api/openai/v1/chat/completions?v=1")) is not None


@pytest.mark.parametrize(
    ("index", "field", "value"),
    [
        (0, "content", "You work in /tmp/live."),
        (0, "content", [{"type": "text", "text": "You work in /tmp/live."}]),
        (2, "content", None),
        (2, "content", ""),
        (2, "content", [{"type": "text", "text": ""}]),
        (2, "tool_calls", [call('{"limit":3,"file":"/tmp/live/a.txt"}')]),
        (3, "content", '{"text": "hi", "stats": {"time_ms": 4711.5}}'),
        (3, "content", [{"type": "text", "text": '{"text": "hi", "stats": {"time_ms": 0}}'}]),
    ],
)
def test_what_does_not_change_the_question_matches(index: int, field: str, value: Any) -> None:
    assert matches(BODY, changed(lambda body: body["messages"][index].update({field: value})))


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.update(model="n"),
        lambda body: body.update(temperature=1),
        lambda body: body.update(temperature=0.0),
        lambda body: body.update(temperature=False),
        lambda body: body.update(seed=None),
        lambda body: body.update(messages=body["messages"][:-1]),
        lambda body: body["messages"].reverse(),
        lambda body: body["messages"][0].update(content="You work in /tmp/recorded2."),
        lambda body: body["messages"][0].update(content="You work in /tmp/recorded.old"),
        lambda body: body["messages"][0].update(content="You work in /home/me."),
        lambda body: body["messages"][0].update(content=[{"type": "text", "text": "You work in "}] * 2),
        lambda body: body["messages"][1].update(content=None),
        lambda body: body["messages"][2].update(tool_calls=[call('{"file": "/tmp/recorded/a.txt", "limit": "3"}')]),
        lambda body: body["messages"][2].update(tool_calls=[call('{"file": "/tmp/recorded/a.txt", "limit": 3')]),
        lambda body: body["messages"][3].update(content='{"text":"hi", "stats": {"time_ms": 12}}'),
        lambda body: body["messages"][3].update(content='{"text": "hi", "stats": {"time_s": 12}}'),
    ],
)
def test_what_changes_the_question_does_not(change: Callable[[dict[str, Any]], object]) -> None:
    assert not matches(BODY, changed(change))


def test_durations_count_outside_the_json_of_a_content() -> None:
    for one, other in [
        ('took "time_ms": 1 today', 'took "time_ms": 2 today'),
        ('{"note": "\\"time_ms\\": 1"}', '{"note": "\\"time_ms\\": 2"}'),
    ]:
        messages = [[{"role": "tool", "content": text}] for text in (one, other)]
        assert not matches({"messages": messages[0]}, {"messages": messages[1]})
    assert not matches({"timeout_ms": 1}, {"timeout_ms": 2})


def test_of_two_known_paths_the_longer_one_counts() -> None:
    paths = {"/a": "<home>", "/a/b": "<workspace>", "/x/y": "<workspace>", "/x": "<home>"}
    matcher = Matcher(cassette({"text": "/a/b/c /a/bc /a"}), paths)
    assert matcher.find(request({"text": "/x/y/c /x/bc /x"})) is not None


def test_the_root_folder_is_no_placeholder() -> None:
    with pytest.raises(ValueError, match="root"):
        Matcher(cassette(), {"/": "<workspace>"})


def test_repeats_come_in_recorded_order_and_once_each() -> None:
    matcher = Matcher(cassette({"a": 1}, {"b": 2}, {"a": 1}))
    found = [matcher.find(request({"a": 1})) for _ in range(3)]
    assert [one and one.index for one in found] == [0, 2, None]
    assert [one.index for one in matcher.unused] == [1]
    assert "recorded 2 times (exchange 1, 3)" in matcher.explain_miss(request({"a": 1}))


def test_unused_names_chat_exchanges_only() -> None:
    assert Matcher(cassette({"a": 1}, url="http://h/v1/embeddings")).unused == ()


def test_bodies_that_are_not_json_match_as_text_or_bytes() -> None:
    other = "http://h/upload"
    for recorded, live, expected in [
        (b"", b"", True),
        (b"in /tmp/recorded", b"in /tmp/live", True),
        (b"\xff\x00", b"\xff\x00", True),
        (b"\xff\x00", b"\xff\x01", False),
        (b"[1]", b"[2]", False),
        (b'{"a":' * 900 + b"1" + b"}" * 900, b'{"a":' * 900 + b"1" + b"}" * 900, True),
        (b'{"a":' * 900 + b"1" + b"}" * 900, b'{"a":' * 900 + b"2" + b"}" * 900, False),
    ]:
        matcher = Matcher(cassette(recorded, url=other), PATHS)
        assert (matcher.find(request(live, other)) is not None) is expected
        assert matcher.explain_miss(request(live, other))
    assert Matcher(cassette(b"", url=other)).find(request(b"", other, "GET")) is None


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=8,
)
messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "tool"])}, optional={"content": json_values, "tool_calls": json_values}
    ),
    max_size=4,
)


@given(first=messages, second=messages, other=json_values)
def test_every_request_finds_itself_and_every_miss_is_explained(first: Any, second: Any, other: Any) -> None:
    bodies = [{"messages": first, "x": other}, {"messages": second}, {"messages": other}, other]
    matcher = Matcher(cassette(*bodies), PATHS)
    for body in bodies:
        assert matcher.find(request(body)) is not None
    for body in [*bodies, {"messages": first, "y": other}, {"messages": [*second, *first]}]:
        assert matcher.find(request(body)) is None
        assert "no recorded answer in session.yaml for POST /v1/chat/completions" in matcher.explain_miss(request(body))


def test_a_miss_names_the_nearest_exchange_the_place_and_both_values() -> None:
    title = {"model": "small", "messages": [{"role": "user", "content": "Name this"}]}
    first = changed(lambda body: body.update(messages=body["messages"][:2]))
    live = changed(lambda body: body["messages"][3].update(content='{"text": "ho", "stats": {"time_ms": 9}}'))
    text = Matcher(cassette(title, first, BODY), PATHS).explain_miss(request(live))
    assert text.startswith(
        "no recorded answer in session.yaml for POST /v1/chat/completions: "
        "history changed at $.messages[3].content, compared with exchange 3 of 3\n"
    )
    assert text.splitlines()[1:] == [
        r'  recorded: "{\"text\": \"hi\", \"stats\": {\"time_ms\": \"<ms>\"}}"',
        r'  now:      "{\"text\": \"ho\", \"stats\": {\"time_ms\": \"<ms>\"}}"',
        "  if the change is meant, record the session again (harness record)",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.update(model="n"), ["model changed at $.model,", '"m"', '"n"']),
        (lambda body: body.update(seed=7), ["parameters changed at $.seed,", "(absent)", "7"]),
        (lambda body: body["tools"].pop(), ["tools changed at $.tools[0],", '"Read"', "(absent)"]),
        (
            lambda body: body["messages"][0].update(content="x" * 500 + "y"),
            ["system changed at $.messages[0].content,", '"You work in <workspace>."', '"xxx', "…"],
        ),
        (
            lambda body: body["messages"][2].update(tool_calls=[call('{"file": "/tmp/live/a.txt", "limit": 4}')]),
            ["history changed at $.messages[2].tool_calls[0].function.arguments.limit,", "recorded: 3", "now:      4"],
        ),
        (lambda body: body["messages"].append({"role": "user"}), ["history changed at $.messages[4],", "(absent)"]),
        (
            lambda body: (body.update(model="n"), body["messages"].pop()),
            ["model changed at $.model,", "also different: messages"],
        ),
    ],
)
def test_the_class_of_a_difference(change: Callable[[dict[str, Any]], object], words: list[str]) -> None:
    text = Matcher(cassette({"model": "o", "messages": []}, BODY), PATHS).explain_miss(request(changed(change)))
    assert "compared with exchange 2 of 2" in text
    for word in words:
        assert word in text


def test_with_another_system_prompt_the_neighbour_has_the_same_rest() -> None:
    short = changed(lambda body: body.update(messages=body["messages"][:2]))
    live = changed(lambda body: body["messages"][0].update(content="Be terse."))
    assert "exchange 2 of 3" in Matcher(cassette(short, BODY, short)).explain_miss(request(live))


def test_a_cassette_with_nothing_of_the_kind() -> None:
    assert "no chat exchanges (0 in all)" in Matcher(cassette()).explain_miss(request({}))
    text = Matcher(cassette(BODY)).explain_miss(request({}, "http://h/v1/embeddings"))
    assert "no exchanges with this path (1 in all)" in text
