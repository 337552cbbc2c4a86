"""Files as players of a server: each session a fresh one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.cassette import own
from harness.cassette.cassette import Cassette
from harness.errors import InputError
from harness.play.player import MissError
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.play.sessions import SessionPlayer
from harness.scenario.serving import ServingPolicy, players_of_cassette, players_of_scenario
from harness.wire.exchange import Exchange, Request, Response
from harness.wire.faults import parse_faults

URL = "http://h/v1"
SCRIPT = """\
prompt: hi
player:
  script:
    - {text: one, repeat: 2}
    - text: two
  models: [{id: m, capabilities: [tools]}]
"""


def chat(content: str = "hi", **more: Any) -> Request:
    body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
    return Request("POST", f"{URL}/chat/completions", (), orjson.dumps(body))


def models(player: SessionPlayer) -> list[Any]:
    listed: list[Any] = orjson.loads(player.player.answer(Request("GET", f"{URL}/models")).body)["data"]
    return listed


def said(made: SessionPlayer, request: Request) -> Any:
    return orjson.loads(made.player.answer(request).body)["choices"][0]["message"]["content"]


def recorded(tmp_path: Path, *exchanges: tuple[Request, Response], workspace: str | None = None) -> Path:
    path = tmp_path / "c.cassette.jsonl"
    numbered = tuple(Exchange(request, response, index) for index, (request, response) in enumerate(exchanges))
    path.write_bytes(own.dump_cassette(Cassette(path, own.NAME, numbered, workspace)))
    return path


def answer(text: str) -> Response:
    return render_turn(ScriptedTurn(text=text), 0, {"model": "m"})


def test_a_script_starts_anew_in_each_session(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT)
    make = players_of_scenario(path, ServingPolicy())
    first, second = make("a"), make("b")
    assert [said(first, chat()) for _ in range(3)] == ["one", "one", "two"]
    assert said(second, chat()) == "one"
    assert first.unused() == []
    assert second.unused() == ["turn 2 of the script", "turn 3 of the script"]
    assert models(first) == [{"id": "m", "capabilities": ["tools"]}]


def test_a_scripts_models_can_be_others(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT)
    assert models(players_of_scenario(path, ServingPolicy(models=[{"id": "x"}]))("a")) == [{"id": "x"}]


def test_a_script_that_changes_a_workspace_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT.replace("- text: two", "- {text: two, before: [{touch: [a]}]}"))
    with pytest.raises(InputError, match=r"s\.yaml: player\.script\[1\]\.before: a served script"):
        players_of_scenario(path, ServingPolicy())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt: x\nplayer: {live: true}\n", r"player\.live: a live model is not served"),
        (
            "prompt: x\nplayer: {script: []}\nevents: [{before_request: 1, touch: [a]}]\n",
            "events: a served scenario has no workspace to change",
        ),
        ("prompt: x\nplayer: {script: []}\nmatrix: [{name: a}, {name: b}]\n", "the scenario is several: a, b"),
    ],
)
def test_what_cannot_be_served_is_said(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        players_of_scenario(path, ServingPolicy())


@pytest.mark.parametrize("as_scenario", [False, True])
def test_a_cassette_starts_anew_in_each_session(tmp_path: Path, as_scenario: bool) -> None:
    path = recorded(tmp_path, (chat("a"), answer("A")), (chat("b", tools=[]), answer("B")))
    if as_scenario:
        scenario = tmp_path / "s.yaml"
        scenario.write_text(f"prompt: hi\nplayer: {{cassette: {path.name}}}\n")
        make = players_of_scenario(scenario, ServingPolicy())
    else:
        make = players_of_cassette(path, ServingPolicy())
    first, second = make("a"), make("b")
    assert said(first, chat("a")) == said(second, chat("a")) == "A"
    assert first.unused() == [f"exchange 1 of {path.name}"]
    with pytest.raises(MissError):
        first.player.answer(chat("c"))
    assert said(second, chat("b", tools=[])) == "B"
    assert second.unused() == []


def test_models_are_those_of_the_requests_where_none_were_recorded(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    path = recorded(tmp_path, (chat("a"), answer("A")), (chat("b", model="t", tools=[tool]), answer("B")))
    listed = models(players_of_cassette(path, ServingPolicy())("a"))
    assert [(model["id"], model["capabilities"]) for model in listed] == [
        ("m", ["completion"]),
        ("t", ["completion", "tools"]),
    ]


def test_a_recorded_list_of_models_is_played(tmp_path: Path) -> None:
    request = Request("GET", f"{URL}/models")
    path = recorded(tmp_path, (request, Response(200, (), b'{"data":[{"id":"theirs"}]}')), (chat(), answer("A")))
    made = players_of_cassette(path, ServingPolicy())("a")
    assert models(made) == [{"id": "theirs"}]
    with pytest.raises(MissError):
        models(made)


def test_allowed_drift_marks_the_session(tmp_path: Path) -> None:
    path = recorded(tmp_path, (chat("a", temperature=0), answer("A")))
    made = players_of_cassette(path, ServingPolicy(allow_drift=frozenset({"parameters"})))("a")
    assert said(made, chat("a", temperature=1)) == "A"
    assert made.marks() == ["drift allowed in parameters: the model was not asked again"]


def test_the_agents_folder_takes_the_place_of_the_recorded_one(tmp_path: Path) -> None:
    call = ScriptedTurn(calls=(ScriptedCall("Edit", '{"path":"/srv/old/a.py"}', "c1"),), finish_reason="tool_calls")
    path = recorded(tmp_path, (chat("work in /srv/old"), render_turn(call, 0, {"model": "m"})), workspace="/srv/old")
    made = players_of_cassette(path, ServingPolicy(present={"workspace": "/tmp/new"}))("a")
    message = orjson.loads(made.player.answer(chat("work in /tmp/new")).body)["choices"][0]["message"]
    assert orjson.loads(message["tool_calls"][0]["function"]["arguments"]) == {"path": "/tmp/new/a.py"}
    assert made.marks() == ["1 answers rewritten for the session's folders"]


def test_folders_that_nobody_named_are_the_recorded_ones(tmp_path: Path) -> None:
    path = recorded(tmp_path, (chat("work in /srv/old"), answer("A")), workspace="/srv/old")
    for present in ({}, {"home": "/root"}):
        assert said(players_of_cassette(path, ServingPolicy(present=present))("a"), chat("work in /srv/old")) == "A"


def test_a_torn_cassette_says_so(tmp_path: Path) -> None:
    path = recorded(tmp_path, (chat("a"), answer("A")))
    path.write_bytes(path.read_bytes() + b'{"message":9')
    (note,) = players_of_cassette(path, ServingPolicy())("a").notes()
    assert note


def test_faults_begin_anew_in_each_session_and_say_what_they_did(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT)
    make = players_of_scenario(path, ServingPolicy(faults=parse_faults(["status=503,times=1"])))
    for session_id in "ab":
        made = make(session_id)
        assert made.notes()
        assert made.player.answer(chat()).status == 503
        assert said(made, chat()) == "one"
        assert made.notes() == []
        (mark,) = made.marks()
        assert mark.startswith("fault status=503")


def test_a_scenarios_own_faults_and_rules_come_first(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT + "  strict: true\n  faults: ['status=500,times=1']\n")
    made = players_of_scenario(path, ServingPolicy())("a")
    assert made.player.answer(chat()).status == 500
    lost = chat(messages=[{"role": "tool", "tool_call_id": "x", "content": "lost"}])
    assert made.player.answer(lost).status == 400
    assert said(made, chat()) == "one"
