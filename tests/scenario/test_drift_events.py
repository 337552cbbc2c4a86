from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from harness.cassette.dialects import load_cassette
from harness.cassette.drift import Drift
from harness.scenario.drift_events import LONGEST, drift_event, value_at
from harness.scenario.format import load_scenario
from harness.scenario.policy import ReplayPolicy
from harness.scenario.replay import replay_cassette
from harness.scenario.runner import run_scenario

ROOT = Path(__file__).resolve().parents[2]
BODY = {"messages": [{"role": "user", "content": "hi"}, {"tool_calls": [{"function": {"arguments": '{"a": 1}'}}]}],
        "odd key": {"x": [1, 2]}}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$.messages[0].content", "hi"),
        ('$["odd key"].x[1]', 2),
        ("$.messages[1].tool_calls[0].function.arguments.a", '{"a": 1}'),
        ("$.messages[7]", None),
        ("$.messages[0].name", None),
        ("$.model", None),
        ("$", BODY),
    ],
)
def test_a_value_is_found_at_its_path(path: str, value: object) -> None:
    assert value_at(BODY, path) == value


def test_an_event_keeps_both_values_bounded() -> None:
    drift = Drift("history", "$.messages[0].content", "changed")
    event = drift_event("main", 3, drift, BODY, {"messages": [{"content": "x" * (LONGEST + 5)}]}, allowed=False)
    assert (event["lane"], event["step"], event["class"]) == ("main", 3, "history")
    assert event["recorded"] == "hi"
    assert event["present"] == "x" * LONGEST + "… (5 more characters)"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A recorded scenario whose system prompt is no longer the recorded one."""
    shutil.copytree(ROOT / "cassettes", tmp_path / "cassettes", ignore=shutil.ignore_patterns("models"))
    (tmp_path / "scenarios" / "recorded").mkdir(parents=True)
    text = (ROOT / "scenarios" / "recorded" / "gemma-read.yaml").read_text("utf-8")
    path = tmp_path / "scenarios" / "recorded" / "gemma-read.yaml"
    path.write_text(text.replace("You are a coding", "You are a careful coding", 1), "utf-8")
    return path


def test_allowed_drift_stands_at_each_step_it_was_allowed_at(changed: Path) -> None:
    outcome = run_scenario(load_scenario(changed), ReplayPolicy.parse("system", "stop"))
    events = [event for event in outcome.run.events if event["event"] == "drift"]
    assert [(event["lane"], event["step"], event["allowed"]) for event in events] == [
        ("main", 0, True), ("main", 1, True),
    ]  # fmt: skip
    assert events[0]["recorded"].startswith("You are a coding")
    assert events[0]["present"].startswith("You are a careful coding")


def test_a_miss_stands_behind_the_last_step_with_its_explanation(changed: Path) -> None:
    outcome = run_scenario(load_scenario(changed))
    [event] = [event for event in outcome.run.events if event["event"] == "miss"]
    assert (event["lane"], event["step"]) == ("main", 0)
    assert event["text"] == outcome.miss
    assert "\n  recorded: " in event["text"]


def test_drift_of_a_replayed_cassette_is_an_event_of_its_step() -> None:
    cassette = load_cassette(ROOT / "cassettes" / "weather.yaml")
    first, second = cassette.chat_exchanges
    body = second.request.json()
    answer = next(message for message in body["messages"] if message["role"] == "assistant")
    answer["content"] = "I never said so."
    changed = replace(second, request=replace(second.request, body=orjson.dumps(body)))
    replayed = replay_cassette(replace(cassette, exchanges=(first, changed)), "weather")
    assert [found.drift.kind for found in replayed.drift] == ["history"]
    [event] = [event for event in replayed.run.events if event["event"] == "drift"]
    assert (event["lane"], event["step"], event["allowed"]) == ("lane-1", 1, False)
    assert event["recorded"] == "I never said so."
    assert event["why"] == replayed.drift[0].drift.why
