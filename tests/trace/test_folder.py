"""A run on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import InputError
from harness.scenario.portable import portable
from harness.trace.folder import load_run, save_run
from harness.trace.run import FORMAT, VERSION, CallRecord, Lane, Run, Step, Trial
from harness.wire.exchange import Chunk, Exchange, Request, Response

FILES = ("events.jsonl", "exchanges.jsonl", "run.json")
SECRETS = {
    "Authorization": "Bearer sk-1",
    "Cookie": "session=sk-2",
    "api-key": "sk-3",
    "X-Api-Key": "sk-4",
    "x-goog-api-key": "sk-5",
    "Proxy-Authorization": "Basic sk-6",
    "OpenAI-Organization": "sk-7",
    "openai-project": "sk-8",
}


def example() -> Run:
    call = CallRecord(
        id="call_1",
        received_id=None,
        name="measure",
        arguments='{"place": "n',
        parse_error="arguments are not valid JSON",
        batch=0,
        concurrency_safe=False,
        executed=True,
        status="success",
        error_code=None,
        observation="säe\u2028 🌱 \x00",
        truncated_from_bytes=60_000,
        full_result="x" * 10,
    )
    step = Step(
        index=0,
        exchange=0,
        model="m",
        tools=("measure", "list_plants"),
        messages_sent=2,
        message={"role": "assistant", "content": None, "tool_calls": [{"id": "call_1"}]},
        finish_reason="tool_calls",
        status="complete",
        usage={"total_tokens": 7},
        anomalies=({"code": "id_missing", "at": 3, "detail": ""},),
        calls=(call,),
        error=None,
        notes=("a note",),
    )
    failed = Step(1, None, None, (), 4, None, None, "error", None, (), (), "no answer", ())
    run = Run("greenhouse", "replay", "greenhouse.yaml", facts={"steps": 2, "cost": 0.25, "tags": ["a"]})
    run.lanes.append(Lane("lane-1", [step, failed], "error", "no answer", None))
    run.lanes.append(Lane("lane-2", [], "answered", "", "Fine."))
    run.events.append({"lane": "lane-1", "step": 0, "event": "request", "messages": 2})
    run.exchanges.append(
        Exchange(
            Request("POST", "https://h.example/v1/chat/completions", (("Accept", "a"), ("Accept", "b")), b'{"a": 1}'),
            Response(
                200, (("content-type", "text/event-stream"),), b"data: x\n\n", (Chunk(4, 0.1), Chunk(9, 0.3)), "OK"
            ),
        )
    )
    return run


def test_a_saved_run_is_loaded_as_it_was(tmp_path: Path) -> None:
    run = example()
    assert save_run(run, tmp_path / "runs" / "one") == tmp_path / "runs" / "one"
    assert sorted(path.name for path in (tmp_path / "runs" / "one").iterdir()) == list(FILES)
    assert load_run(tmp_path / "runs" / "one") == run


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
HEADERS = st.lists(st.tuples(st.sampled_from(["Accept", "X-A", "x-a"]), TEXTS), max_size=3).map(tuple)


@st.composite
def exchanges(draw: st.DrawFn) -> Exchange:
    bodies = st.binary(max_size=40) | TEXTS.map(str.encode)
    answer = draw(bodies)
    ends = sorted(draw(st.lists(st.integers(0, len(answer)), max_size=4)))
    times = sorted(draw(st.lists(st.floats(0, 1e6), min_size=len(ends), max_size=len(ends))))
    request = Request(draw(st.sampled_from(["GET", "POST"])), draw(TEXTS), draw(HEADERS), draw(bodies))
    chunks = tuple(Chunk(end, time) for end, time in zip(ends, times, strict=True))
    status = draw(st.integers(100, 599))
    return Exchange(request, Response(status, draw(HEADERS), answer, chunks, draw(TEXTS)), draw(st.integers(0, 99)))


@given(found=st.lists(exchanges(), max_size=4))
def test_any_exchange_comes_back_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, found: list[Exchange]) -> None:
    folder = tmp_path_factory.mktemp("run")
    save_run(Run("n", "scenario", "s", exchanges=found), folder)
    assert load_run(folder).exchanges == found


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        save_run(example(), tmp_path / name)
    for file in FILES:
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()
    save_run(load_run(tmp_path / "first"), tmp_path / "third")
    for file in FILES:
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "third" / file).read_bytes()


def test_the_folder_says_its_format_and_version(tmp_path: Path) -> None:
    document = json.loads((save_run(example(), tmp_path) / "run.json").read_text("utf-8"))
    assert (document["format"], document["version"]) == (FORMAT, VERSION) == ("harness-run", 1)


def test_no_secret_header_is_saved(tmp_path: Path) -> None:
    secrets = tuple(SECRETS.items())
    exchange = Exchange(
        Request("POST", "https://h.example/", (("Accept", "kept"), *secrets), b"{}"),
        Response(200, (("Set-Cookie", "id=sk-9"), ("X-Request-Id", "kept too"))),
    )
    save_run(Run("n", "scenario", "s", exchanges=[exchange]), tmp_path)
    saved = b"".join((tmp_path / file).read_bytes() for file in FILES)
    assert b"sk-" not in saved
    (loaded,) = load_run(tmp_path).exchanges
    assert loaded.request.headers == (("Accept", "kept"),)
    assert loaded.response.headers == (("X-Request-Id", "kept too"),)


def test_what_only_imported_runs_have_is_written_where_it_says_something(tmp_path: Path) -> None:
    run = example()
    plain = json.loads((save_run(run, tmp_path) / "run.json").read_text("utf-8"))
    assert "trial" not in plain
    assert [sorted({"before", "duration_s", "cost_usd"} & step.keys()) for step in plain["lanes"][0]["steps"]] == [
        [],
        [],
    ]
    assert "after" not in plain["lanes"][0]

    run.trial = Trial("task", 3, "m", 0.5, "disk full", 0.25, 1.5, "2026-11-30T10:00:00")
    lane = run.lanes[0]
    lane.after = ({"role": "user", "content": "bye"},)
    lane.steps[0] = replace(lane.steps[0], before=({"role": "user", "content": "go"},), duration_s=2.5, cost_usd=0.0)
    assert load_run(save_run(run, tmp_path)) == run


def test_what_must_not_be_kept_can_be_rewritten_in_every_file(tmp_path: Path) -> None:
    run = example()
    run.facts["root"] = "/secret/place"
    run.events.append({"event": "note", "path": "/secret/place/a"})
    run.exchanges.append(Exchange(Request("GET", "https://h.example/", (), b"/secret/place"), Response(200)))
    save_run(run, tmp_path, lambda content: content.replace(b"/secret/place", b"<root>"))
    for file in FILES:
        content = (tmp_path / file).read_bytes()
        assert b"/secret" not in content
        assert b"<root>" in content


def test_a_run_replaces_the_one_before_and_a_broken_save_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_run(example(), tmp_path)
    save_run(Run("other", "scenario", "s"), tmp_path)
    assert load_run(tmp_path).name == "other"

    def fail(*_: object) -> bytes:
        raise OSError(28, "no space left")

    monkeypatch.setattr("harness.trace.folder._lines", fail)
    with pytest.raises(OSError, match="no space left"):
        save_run(example(), tmp_path)
    with pytest.raises(InputError, match="there is no run here"):
        load_run(tmp_path)


def drop(*keys: str) -> Callable[[dict[str, Any]], object]:
    def change(document: dict[str, Any]) -> None:
        *path, last = keys
        for key in path:
            document = document[key]
        del document[last]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda document: document.update(version=VERSION + 1), f"version {VERSION + 1}"),
        (lambda document: document.update(format="other"), "'other'"),
        (drop("format"), "not a saved run"),
        (drop("lanes"), "not a saved run"),
        (lambda document: document.update(version="x"), "not a saved run"),
        (lambda document: document.update(lanes=5), "not a saved run"),
        (lambda document: document["lanes"][0].update(unknown=1), "not a saved run"),
        (lambda document: document["lanes"][0]["steps"][0].pop("calls"), "not a saved run"),
    ],
)
def test_a_folder_of_another_kind_is_bad_input(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    path = save_run(example(), tmp_path) / "run.json"
    document = orjson.loads(path.read_bytes())
    change(document)
    path.write_bytes(orjson.dumps(document))
    with pytest.raises(InputError, match=reason) as caught:
        load_run(tmp_path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"5", b"null", b"\xff\xfe"])
def test_a_file_that_is_no_run_is_bad_input(tmp_path: Path, content: bytes) -> None:
    (save_run(example(), tmp_path) / "run.json").write_bytes(content)
    with pytest.raises(InputError, match="not a saved run"):
        load_run(tmp_path)


@pytest.mark.parametrize(
    "line", [b"{", b"{}", b'{"index": 0, "request": 5, "response": 5}', b'{"index": 0, "request": {}, "response": {}}']
)
def test_broken_exchanges_are_bad_input(tmp_path: Path, line: bytes) -> None:
    (save_run(example(), tmp_path) / "exchanges.jsonl").write_bytes(line + b"\n")
    with pytest.raises(InputError, match="not a saved run"):
        load_run(tmp_path)


def test_broken_base64_and_headers_are_bad_input(tmp_path: Path) -> None:
    path = save_run(example(), tmp_path) / "exchanges.jsonl"
    whole = orjson.loads(path.read_bytes())
    for change in ({"body_base64": "x"}, {"headers": [["a"]]}, {"headers": 5}):
        path.write_bytes(orjson.dumps({**whole, "request": {**whole["request"], **change}}) + b"\n")
        with pytest.raises(InputError, match="not a saved run"):
            load_run(tmp_path)


def test_where_there_is_no_run_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(InputError, match="there is no run here"):
            load_run(folder)
    save_run(example(), tmp_path)
    (tmp_path / "events.jsonl").unlink()
    with pytest.raises(InputError, match=r"events\.jsonl: there is no run here"):
        load_run(tmp_path)


def test_half_a_surrogate_pair_is_kept_as_an_escape(tmp_path: Path) -> None:
    run = example()
    step = run.lanes[0].steps[0]
    call = replace(step.calls[0], name="a\ud83d", arguments='{"\ud83d": "\ude00"}', observation="\ude00 ok")
    message = {"role": "assistant", "content": "x \ud83d", "\ud83d": 1}
    run.lanes[0].steps[0] = replace(step, calls=(call,), message=message)
    run.events.append({"event": "plan", "received_name": "a\ud83d"})
    save_run(run, tmp_path / "run", portable(str(tmp_path)))
    for name in FILES:
        (tmp_path / "run" / name).read_text("utf-8")
    loaded = load_run(tmp_path / "run")
    assert (loaded.lanes, loaded.events, loaded.exchanges) == (run.lanes, run.events, run.exchanges)
    assert (tmp_path / "run" / "run.json").read_bytes().count(b"\\ud83d") == 4
