"""Real coding agents, the same task run twice in different folders: the second run matches the first one's recording.

Each one-word change of a request is a miss with the right class and path.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.matching import Matcher
from harness.play.cassette_player import CassettePlayer
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Exchange, Request, Response

pytestmark = pytest.mark.corpus

AGENTS = ("aider", "cline", "kilo", "msa", "mycodeagent", "oa_agents", "opencode", "pi", "pydantic_ai", "qwen")
CHANGES = 200
FOLDER = re.compile(r"(/home/dev/w/[A-Za-z0-9_]+-[a-z0-9_]+)/(?:repo|home)")
WORD = re.compile(r"[A-Za-z]{3,}")


def bodies(folder: Path, name: str) -> list[dict[str, Any]]:
    lines = (folder / "agents" / name).read_text("utf-8").splitlines()
    return [json.loads(line)["body"] for line in lines]


def request(body: dict[str, Any]) -> Request:
    return Request("POST", "http://127.0.0.1:1/v1/chat/completions", (), json.dumps(body).encode())


def folders(run: list[dict[str, Any]]) -> dict[str, str]:
    found = FOLDER.search(json.dumps(run))
    return {"workspace": f"{found[1]}/repo", "home": f"{found[1]}/home"} if found else {}


class Pair:
    """Run 1 as a cassette, run 2 as requests."""

    def __init__(self, folder: Path, agent: str) -> None:
        self.first, self.second = bodies(folder, f"{agent}.jsonl"), bodies(folder, f"{agent}.2.jsonl")
        exchanges = [Exchange(request(body), Response(200, (), b"{}"), n) for n, body in enumerate(self.first)]
        self.cassette = Cassette(Path(f"{agent}.yaml"), "test", tuple(exchanges))

    def matcher(self) -> Matcher:
        return Matcher(self.cassette, folders(self.second), recorded=folders(self.first))


@pytest.fixture(scope="module")
def pairs(shared_dir: Path) -> dict[str, Pair]:
    return {agent: Pair(shared_dir, agent) for agent in AGENTS}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_second_run_matches_the_first_completely(pairs: dict[str, Pair], agent: str) -> None:
    pair = pairs[agent]
    matcher = pair.matcher()
    for number, body in enumerate(pair.second):
        match = matcher.match(request(body))
        assert match is not None, matcher.explain_miss(request(body))
        assert match.exchange.index == number
        assert match.drift == ()
        replaced = matcher.replaced(match.exchange, request(body))
        assert bool(replaced) == (pair.first[number] != body), "what was left out of account is listed"
    assert matcher.unused == ()


@pytest.mark.parametrize("agent", AGENTS)
def test_the_runs_differ_only_by_what_is_listed(pairs: dict[str, Pair], agent: str) -> None:
    pair = pairs[agent]
    matcher = pair.matcher()
    for exchange, body in zip(pair.cassette.exchanges, pair.second, strict=True):
        text = json.dumps(body)
        for replacement in matcher.replaced(exchange, request(body)):
            assert replacement.recorded != replacement.now
            assert json.dumps(replacement.now)[1:-1] in text


def answers(run: list[dict[str, Any]], draw: random.Random) -> list[Response]:
    """The turns of a run as streams, taken from what each following request says the model answered."""
    found = []
    for now, after in pairwise([*run, None]):
        assert now is not None
        said = after["messages"][len(now["messages"]) :] if after is not None else []
        turn: dict[str, Any] = next(
            (message for message in said if message["role"] == "assistant"), {"content": "done"}
        )
        calls = tuple(
            ScriptedCall(call["function"]["name"], call["function"]["arguments"], call["id"])
            for call in turn.get("tool_calls") or ()
        )
        content = turn.get("content")
        scripted = ScriptedTurn(content if isinstance(content, str) else None, calls, fragment=draw.randint(1, 9))
        found.append(render_turn(scripted, 0, {"model": "m", "stream": True}))
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_served_in_the_second_folder_no_path_of_the_first_reaches_the_agent(pairs: dict[str, Pair], agent: str) -> None:
    pair = pairs[agent]
    first, second = folders(pair.first), folders(pair.second)
    for seed in range(5):
        played = zip(pair.first, answers(pair.first, random.Random(seed)), strict=True)
        exchanges = [Exchange(request(body), answer, n) for n, (body, answer) in enumerate(played)]
        player = CassettePlayer(Cassette(Path("c.yaml"), "test", tuple(exchanges)), second, recorded=first)
        for number, body in enumerate(pair.second):
            response = player.answer(request(body))
            turn = parse_stream(response.body)
            text = response.body.decode() + json.dumps(turn.message)
            assert not any(folder in text for folder in first.values())
            if number + 1 < len(pair.second):
                said = pair.second[number + 1]["messages"][len(body["messages"]) :]
                repeated: dict[str, Any] = next((message for message in said if message["role"] == "assistant"), {})
                calls = [json.loads(call["function"]["arguments"]) for call in repeated.get("tool_calls") or ()]
                assert [json.loads(call.arguments) for call in turn.tool_calls] == calls
        in_answers = (
            any(first["workspace"].encode() in answer.response.body for answer in exchanges) if first else False
        )
        assert bool(player.rewritten) or not in_answers


def texts(body: dict[str, Any], part: str) -> Iterator[tuple[list[Any], Any, str]]:
    """Places of a part in a body: the steps to a text, and the path that a miss must name."""
    for number, message in enumerate(body["messages"]):
        role = message["role"]
        named = {"system": "system", "developer": "system", "user": "user", "tool": "result"}.get(role)
        if named != part:
            continue
        content = message.get("content")
        if isinstance(content, str):
            yield ["messages", number, "content"], content, f"$.messages[{number}].content"
        for place, item in enumerate(content if isinstance(content, list) else ()):
            if isinstance(item.get("text"), str):
                yield ["messages", number, "content", place, "text"], item["text"], f"$.messages[{number}].content"
    if part == "tool":
        for number, tool in enumerate(body.get("tools") or ()):
            description = tool["function"].get("description")
            if description:
                path = f"$.tools[{number}].function.description"
                yield ["tools", number, "function", "description"], description, path
    if part == "parameter":
        for key, value in body.items():
            if key not in ("messages", "tools", "model"):
                yield [key], value, f"$.{key}"


def changed(body: dict[str, Any], steps: list[Any], value: Any, draw: random.Random) -> dict[str, Any] | None:
    """The body with one word of one text changed, or None for a text without words."""
    new: Any
    if isinstance(value, str):
        words = list(WORD.finditer(value))
        if not words:
            return None
        word = draw.choice(words)
        other = "".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(8))
        new = value[: word.start()] + other + value[word.end() :]
    elif isinstance(value, bool):
        new = not value
    elif isinstance(value, int | float):
        new = value + draw.randint(1, 9)
    else:
        new = {"changed": draw.randint(1, 9)}
    copied = copy.deepcopy(body)
    holder: Any = copied
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = new
    return copied


CLASS = {"system": "system", "tool": "tools", "result": "history", "user": "history", "parameter": "parameters"}


SENDS_NONE = {("aider", "tool"), ("aider", "result"), ("msa", "parameter"), ("oa_agents", "parameter")}


@pytest.mark.parametrize(
    ("agent", "part"), [(agent, part) for agent in AGENTS for part in CLASS if (agent, part) not in SENDS_NONE]
)
def test_each_one_word_change_is_a_miss_with_its_class_and_path(pairs: dict[str, Pair], agent: str, part: str) -> None:
    pair = pairs[agent]
    places = [(n, *place) for n, body in enumerate(pair.second) for place in texts(body, part)]
    places = [place for place in places if not isinstance(place[2], str) or WORD.search(place[2])]
    assert places, f"{agent} sends nothing of this kind ({part})"
    matcher = pair.matcher()
    draw = random.Random(f"{agent} {part}")
    for _ in range(CHANGES):
        number, steps, value, path = draw.choice(places)
        body = changed(pair.second[number], steps, value, draw)
        assert body is not None
        assert matcher.match(request(body)) is None, f"{path} changed and matched all the same"
        miss = matcher.miss(request(body))
        assert miss.nearest == number
        assert [difference.drift.kind for difference in miss.differences] == [CLASS[part]]
        found = miss.differences[0].drift.path
        assert found.startswith(path), f"{found} is named, {path} changed"
        assert CLASS[part] in miss.text.splitlines()[0]


def test_two_values_that_were_different_and_now_are_equal_are_a_miss(pairs: dict[str, Pair]) -> None:
    pair = pairs["mycodeagent"]
    matcher = pair.matcher()
    for body in pair.second:
        text = json.dumps(body)
        first, second = re.finditer(r"(?<=evt-)[0-9a-f]{32}", text)
        joined = json.loads(text[: second.start()] + first.group() + text[second.end() :])
        assert matcher.match(request(joined)) is None
        miss = matcher.miss(request(joined))
        assert [difference.drift.kind for difference in miss.differences] == ["system"]
        assert miss.differences[0].drift.path == "$.messages[2].content"
        assert "now equals an earlier value" in miss.text.splitlines()[0]


def test_two_values_that_were_equal_and_now_differ_are_a_miss(pairs: dict[str, Pair]) -> None:
    pair = pairs["opencode"]
    matcher = pair.matcher()
    body = copy.deepcopy(pair.second[2])
    call = body["messages"][2]["tool_calls"][0]
    assert call["id"] == body["messages"][3]["tool_call_id"]
    call["id"] = "another_id"
    miss = matcher.miss(request(body))
    assert matcher.match(request(body)) is None
    assert [difference.drift.kind for difference in miss.differences] == ["history"]
    assert miss.differences[0].drift.path == "$.messages[3].tool_call_id"
    assert "no longer equal" in miss.text.splitlines()[0]
