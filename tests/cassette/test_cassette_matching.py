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
from harness.cassette.differences import differing_words
from harness.cassette.matching import Matcher
from harness.cassette.volatile import VolatileRules
from harness.errors import InputError
from harness.wire.exchange import Exchange, Request, Response

CHAT = "http://h/v1/chat/completions"
RECORDED = {"workspace": "/tmp/recorded", "home": "/home/me"}
LIVE = {"workspace": "/tmp/live/", "home": "/home/me"}


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


def moved(body: Any) -> Any:
    """The body as it is sent from the live workspace."""
    if isinstance(body, bytes):
        return body
    return json.loads(json.dumps(body).replace("/tmp/recorded", "/tmp/live"))


def matcher_of(recorded: Cassette) -> Matcher:
    return Matcher(recorded, LIVE, recorded=RECORDED)


def matches(recorded: Any, live: Any) -> bool:
    return matcher_of(cassette(recorded)).find(request(moved(live))) is not None


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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"time_ms": 1}', '{"time_ms": 2.5}', True),
        ('{"a": {"file_mtime_ms": 17000}, "time_ms":0', '{"a": {"file_mtime_ms": 18000}, "time_ms":1', True),
        (r'{"note": "{\"time_ms\": 1}"}', r'{"note": "{\"time_ms\": 2}"}', True),
        ("Process Group PGID: 13880", "Process Group PGID: 2", True),
        ("took 1 ms", "took 2 ms", False),
        ("time_ms: 1", "time_ms: 2", False),
        ('{"time_s": 1}', '{"time_s": 2}', False),
        ('{"time_ms": "1"}', '{"time_ms": "2"}', False),
        ("pages PG: 1", "pages PG: 2", False),
    ],
)
def test_numbers_are_left_out_of_account_only_under_named_keys_and_labels(one: str, other: str, same: bool) -> None:
    messages = [[{"role": "tool", "content": text}] for text in (one, other)]
    assert matches({"messages": messages[0]}, {"messages": messages[1]}) is same


def test_numbers_in_arguments_count_unless_their_key_is_named() -> None:
    def asked(arguments: str) -> dict[str, Any]:
        return {"messages": [{"role": "assistant", "tool_calls": [call(arguments)]}]}

    assert matches(asked('{"expected_mtime_ms": 5}'), asked('{"expected_mtime_ms": 6}'))
    assert not matches(asked('{"limit": 5}'), asked('{"limit": 6}'))
    assert not matches(asked('{"wait_ms": true}'), asked('{"wait_ms": false}'))


def test_numbers_of_parameters_and_tools_count_whatever_their_name() -> None:
    assert not matches({"timeout_ms": 1}, {"timeout_ms": 2})
    tools = [[{"type": "function", "function": {"name": "a", "description": f'{{"t_ms": {n}}}'}}] for n in (1, 2)]
    assert not matches({"tools": tools[0]}, {"tools": tools[1]})


VOLATILE = {
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "00000000-e89b-12d3-a456-42661417400f"),
    "hex": ("d3d109ac9a7042ce86c46d40f09695f7", "263fa7fe779a4cae86a6aff2a0282c32"),
    "time": ("2026-11-30T18:21:41Z", "2026-11-30T18:22:44Z"),
    "clock": ("18:21:41", "07:00:02.5"),
    "date": ("2026-11-30", "2027-01-02"),
    "date in words": ("Mon Nov 30 2026", "Saturday, January 2, 2027"),
    "id": ("call_A1b2C3d4E5f6G7h8", "call_Z9y8X7w6V5u4T3s2"),
}


@pytest.mark.parametrize("kind", VOLATILE)
def test_volatile_values_may_differ_as_long_as_they_stay_equal_or_different(kind: str) -> None:
    one, other = VOLATILE[kind]

    def asked(*values: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": f"at <{value}>."} for value in values]}

    assert matches(asked(one), asked(other))
    assert matches(asked(one, one), asked(other, other))
    assert matches(asked(one, other), asked(other, one))
    assert not matches(asked(one, one), asked(one, other))
    assert not matches(asked(one, other), asked(one, one))
    assert not matches(asked(one), asked("something else"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("deadbeefcafe", "deadbeefcaff"),
        ("1234567890123456", "1234567890123457"),
        ("version 1.2.3", "version 1.2.4"),
        ("call_handler", "call_dispatcher"),
        ("a.py:12:30", "a.py:12:31"),
        ("in 2026", "in 2027"),
        ("\ue001hex\ue001", "d3d109ac9a7042ce86c46d40f09695f7"),
        ("<workspace>", "/tmp/recorded"),
    ],
)
def test_what_only_looks_volatile_counts(one: str, other: str) -> None:
    def asked(text: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text}]}

    assert not matches(asked(one), asked(other))


def test_the_users_own_rules_come_on_top() -> None:
    rules = VolatileRules(keys=("*_ms", "tokens"), labels=("seed",), patterns=(r"run-\d+",))

    def found(one: str, other: str) -> bool:
        bodies = [{"messages": [{"role": "user", "content": text}]} for text in (one, other)]
        return Matcher(cassette(bodies[0]), rules=rules).find(request(bodies[1])) is not None

    assert found('{"tokens": 5}', '{"tokens": 6}')
    assert found("seed: 1", "seed: 2")
    assert found("run-1 and run-1", "run-2 and run-2")
    assert not found("run-1 and run-1", "run-2 and run-3")
    with pytest.raises(InputError, match="not a regular expression"):
        VolatileRules(patterns=("(",))


def test_what_a_match_left_out_of_account_is_listed() -> None:
    body = {"messages": [{"role": "user", "content": "in /tmp/recorded/a at 10:00:00, /tmp/recorded"}]}
    live = {"messages": [{"role": "user", "content": "in /tmp/live/a at 11:00:00, /tmp/live"}]}
    matcher = matcher_of(cassette(body))
    match = matcher.match(request(live))
    assert match is not None
    assert matcher.replaced(match.exchange, request(live)) == [
        ("time", "10:00:00", "11:00:00", 1),
        ("workspace (path)", "/tmp/recorded", "/tmp/live", 2),
    ]
    same = Matcher(cassette(body))
    assert same.replaced(same.cassette.exchanges[0], request(body)) == []


def test_allowed_drift_takes_the_next_exchange_that_is_equal_in_all_else_and_says_what_differs() -> None:
    other = changed(lambda body: body["messages"][0].update(content="You work hard."))
    allowed = Matcher(cassette(BODY, BODY), allow_drift=["system", "tools"])
    exact, drifted, none = (allowed.match(request(body)) for body in (BODY, other, other))
    assert exact is not None
    assert (exact.exchange.index, exact.drift) == (0, ())
    assert drifted is not None
    assert drifted.exchange.index == 1
    assert [(drift.kind, drift.path) for drift in drifted.drift] == [("system", "$.messages[0].content")]
    assert none is None
    assert allowed.match(request(changed(lambda body: body.update(temperature=1)))) is None
    assert Matcher(cassette(BODY)).match(request(other)) is None


def test_allowed_history_drift_still_holds_the_rest() -> None:
    longer = changed(lambda body: body["messages"].append({"role": "user", "content": "go on"}))
    allowed = Matcher(cassette(BODY), allow_drift=["history"])
    match = allowed.match(request(longer))
    assert match is not None
    assert [drift.kind for drift in match.drift] == ["history"]
    system = changed(lambda body: body["messages"][0].update(content="Other."))
    assert Matcher(cassette(BODY), allow_drift=["history"]).match(request(system)) is None


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
        matcher = matcher_of(cassette(recorded, url=other))
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
    matcher = matcher_of(cassette(*bodies))
    for body in bodies:
        assert matcher.find(request(body)) is not None
    for body in [*bodies, {"messages": first, "y": other}, {"messages": [*second, *first]}]:
        assert matcher.find(request(body)) is None
        assert "no recorded answer in session.yaml for POST /v1/chat/completions" in matcher.explain_miss(request(body))


def test_a_miss_names_the_nearest_exchange_the_place_the_cause_and_both_values() -> None:
    title = {"model": "small", "messages": [{"role": "user", "content": "Name this"}]}
    first = changed(lambda body: body.update(messages=body["messages"][:2]))
    live = changed(lambda body: body["messages"][3].update(content='{"text": "ho", "stats": {"time_ms": 9}}'))
    text = Matcher(cassette(title, first, BODY)).explain_miss(request(live))
    assert text.splitlines() == [
        (
            'the result of Read changed (history at $.messages[3].content, exchange 3 of 3): "hi" is now "ho"; '
            "no recorded answer in session.yaml for POST /v1/chat/completions"
        ),
        r'  recorded: "{\"text\": \"hi\", \"stats\": {\"time_ms\": <number>}}"',
        r'  now:      "{\"text\": \"ho\", \"stats\": {\"time_ms\": <number>}}"',
        "  if the change is meant, record the session again (harness record)",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda body: body.update(model="n"), ["the model changed (model at $.model,", '"m"', '"n"']),
        (lambda body: body.update(seed=7), ["the parameter seed is new (parameters at $.seed,", "(absent)", "7"]),
        (lambda body: body.pop("temperature"), ["the parameter temperature is gone (parameters at $.temperature,"]),
        (lambda body: body.update(temperature=1), ["the parameter temperature changed", "recorded: 0", "now:      1"]),
        (lambda body: body["tools"].pop(), ["the tool Read is gone (tools at $.tools[0],"]),
        (lambda body: body["tools"].append({"function": {"name": "B"}}), ["the tool B is new (tools at $.tools[1],"]),
        (
            lambda body: body["tools"][0]["function"].update(description="x"),
            ["the description of the tool Read changed (tools at $.tools[0].function.description,"],
        ),
        (
            lambda body: body["tools"][0]["function"]["parameters"].update(properties={"p": {"type": "string"}}),
            ["of the tool Read changed (tools at $.tools[0].function.parameters.properties,"],
        ),
        (
            lambda body: body["messages"][0].update(content="x" * 500 + "y"),
            ["the system prompt changed (system at $.messages[0].content,", '"You work in <workspace>."', '"xxx', "…"],
        ),
        (
            lambda body: body["messages"][1].update(content="Read b.txt"),
            ["user message 1 changed (history at $.messages[1].content,"],
        ),
        (
            lambda body: body["messages"][2].update(tool_calls=[call('{"file": "/tmp/live/a.txt", "limit": 4}')]),
            ["the arguments of the call 1 of Read changed (history at $.messages[2].tool_calls[0].function.arguments"],
        ),
        (lambda body: body["messages"].append({"role": "user"}), ["user message 2 is new (history at $.messages[4],"]),
        (lambda body: body["messages"].pop(), ["the result of Read is gone (history at $.messages[3],"]),
        (
            lambda body: (body.update(model="n"), body["messages"].pop()),
            ["the model changed", "also: the result of Read is gone (history at $.messages[3])"],
        ),
    ],
)
def test_the_class_and_the_cause_of_a_difference(change: Callable[[dict[str, Any]], object], words: list[str]) -> None:
    matcher = matcher_of(cassette({"model": "o", "messages": []}, BODY))
    text = matcher.explain_miss(request(moved(changed(change))))
    assert "exchange 2 of 2" in text.splitlines()[0]
    for word in words:
        assert word in text


def test_results_in_another_order_are_told_as_such() -> None:
    other = {"role": "tool", "tool_call_id": "c9", "content": "other"}
    body = changed(lambda body: (body["messages"][2]["tool_calls"].append(call("{}") | {"id": "c9"}),
                                 body["messages"].append(other)))  # fmt: skip
    live = copy.deepcopy(body)
    live["messages"][3:5] = reversed(live["messages"][3:5])
    first = Matcher(cassette(body)).explain_miss(request(live)).splitlines()[0]
    assert (
        "the order changed: the result of Read stands where the result of Read was (history at $.messages[3]" in first
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Read a.txt", "Read b.txt", '"a.txt" is now "b.txt"'),
        ("Read a.txt", "Read the a.txt", '"the" is new'),
        ("Read it at once", "Read it", '"at once" is gone'),
        ("", "Go", '"Go" is new'),
        ("Go now", "Go  now", "only white space differs"),
        ("see src/a/x.py, now", "see src/b/x.py, now", '"src/a/x.py" is now "src/b/x.py"'),
        ("a" * 500, "b" * 500, f'"{"a" * 59}… is now "{"b" * 59}…'),
        ("one\ntwo", "one\nthree", '"two" is now "three"'),
    ],
)
def test_the_first_line_tells_the_words_that_changed(old: str, new: str, told: str) -> None:
    recorded, live = ({"messages": [{"role": "user", "content": text}]} for text in (old, new))
    first = Matcher(cassette(recorded)).explain_miss(request(live)).splitlines()[0]
    assert f"exchange 1 of 1): {told}; no recorded answer" in first


@given(st.text(" ab.,", max_size=12), st.text(" ab.,", max_size=12))
def test_what_differs_in_two_texts_is_whole_words_of_both(old: str, new: str) -> None:
    one, other = differing_words(old, new)
    assert one in old
    assert other in new
    assert (old.split() == new.split()) or one != other


def test_a_long_text_is_shown_as_a_diff_around_the_change() -> None:
    lines = [f"line {number} " + "word " * 60 for number in range(40)]
    one = {"messages": [{"role": "user", "content": "\n".join(lines)}]}
    lines[20] = lines[20][:250] + "CHANGED" + lines[20][250:]
    other = {"messages": [{"role": "user", "content": "\n".join(lines)}]}
    text = Matcher(cassette(one)).explain_miss(request(other))
    assert "CHANGED" in text
    assert len(text.splitlines()) < 12
    assert max(map(len, text.splitlines())) < 200


def test_the_nearest_of_several_sessions_is_the_one_with_the_most_alike_text() -> None:
    system = {"role": "system", "content": "s"}
    sessions = [
        {"messages": [system, {"role": "user", "content": f"please {verb} the file now"}]}
        for verb in ("read", "write", "remove", "rename")
    ]
    live = {"messages": [system, {"role": "user", "content": "please remove that file now"}]}
    assert Matcher(cassette(*sessions)).miss(request(live)).nearest == 2


def test_with_another_system_prompt_the_neighbour_has_the_same_rest() -> None:
    short = changed(lambda body: body.update(messages=body["messages"][:2]))
    live = changed(lambda body: body["messages"][0].update(content="Be terse."))
    assert "exchange 2 of 3" in Matcher(cassette(short, BODY, short)).explain_miss(request(live))


def test_a_cassette_with_nothing_of_the_kind() -> None:
    assert "no chat exchanges (0 in all)" in Matcher(cassette()).explain_miss(request({}))
    text = Matcher(cassette(BODY)).explain_miss(request({}, "http://h/v1/embeddings"))
    assert "no exchanges with this path (1 in all)" in text


def test_half_a_surrogate_pair_counts_as_any_other_character() -> None:
    def saying(text: str) -> dict[str, Any]:
        return changed(lambda body: body["messages"][1].update(content=text))

    assert matches(saying("a \ud83d"), saying("a \ud83d"))
    assert not matches(saying("a \ud83d"), saying("a \ude00"))
    assert not matches(saying("a \ud83d"), saying("a \ufdd0d83d"))
    keyed = {**BODY, "\ud83d": ["\ud83d"]}
    assert matches(keyed, keyed)
    assert not matches(keyed, BODY)
    arguments = changed(lambda body: body["messages"][2].update(tool_calls=[call('{"file": "\ud83d"}')]))
    assert matches(arguments, arguments)
    assert not matches(arguments, BODY)


def test_a_miss_tells_half_a_pair_as_an_escape() -> None:
    recorded = cassette(changed(lambda body: body["messages"][1].update(content="say \ud83d now")))
    asked = request(moved(changed(lambda body: body["messages"][1].update(content="say \ude00 now"))))
    told = str(matcher_of(recorded).explain_miss(asked))
    assert r"\ud83d" in told
    assert r"\ude00" in told
    told.encode()
