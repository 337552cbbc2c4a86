"""Replay of the recordings that nobody here made: all of them, with nothing left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.judge.replay import judge_replay
from harness.judge.verdict import Case, Verdict
from harness.scenario.replay import ReplayedCassette, replay_cassette

pytestmark = pytest.mark.corpus

FOLDERS = ("crush", "fantasy", "openllmetry", "otel-contrib")

# Here the agent sends a single space back beside its calls, whatever text the model sent there.
REWORDED = {
    "fantasy/TestOpenAICompatibleCommon/avian-kimi/multi_tool_streaming.yaml": "beside the calls of add, multiply",
    "fantasy/TestOpenAICompatibleThinking/avian-kimi/thinking-streaming.yaml": "beside the call of weather",
}

Replays = dict[str, tuple[ReplayedCassette, Case]]


@pytest.fixture(scope="module")
def replays(corpus_dir: Path) -> Replays:
    found: Replays = {}
    for path in sorted(path for folder in FOLDERS for path in (corpus_dir / folder).rglob("*.yaml")):
        name = path.relative_to(corpus_dir).as_posix()
        replayed = replay_cassette(load_cassette(path), path.stem)
        found[name] = (replayed, judge_replay(replayed, name))
    return found


def test_every_exchange_is_replayed_and_every_call_planned(replays: Replays) -> None:
    every = [replayed for replayed, _ in replays.values()]
    assert len(every) == 214
    assert sum(len(replayed.cassette.exchanges) for replayed in every) == 609
    assert sum(len(replayed.cassette.chat_exchanges) for replayed in every) == 556
    assert sum(replayed.steps for replayed in every) == 556
    assert sum(replayed.tool_calls for replayed in every) == 314
    assert sum(replayed.planned_calls for replayed in every) == 314


def test_nothing_differs_but_where_the_agent_reworded_the_model(replays: Replays) -> None:
    assert {name: replayed.faults for name, (replayed, _) in replays.items() if replayed.faults} == {}
    differing = {name: replayed.drift for name, (replayed, _) in replays.items() if replayed.drift}
    assert differing.keys() == REWORDED.keys()
    for name, beside in REWORDED.items():
        (found,) = differing[name]
        assert (found.exchange, found.drift.kind, found.drift.path) == (1, "history", "$.messages[2].content")
        assert f'the recorded agent repeats other text {beside} than the model sent: recorded " "' in found.drift.why
    verdicts = {name: case.verdict for name, (_, case) in replays.items()}
    assert {name for name, verdict in verdicts.items() if verdict is not Verdict.PASS} == REWORDED.keys()
    assert {verdicts[name] for name in REWORDED} == {Verdict.FAIL}


def test_each_step_links_to_its_exchange(replays: Replays) -> None:
    for name, (replayed, _) in replays.items():
        for lane in replayed.run.lanes:
            assert [step.index for step in lane.steps] == list(range(len(lane.steps))), name
            for step in lane.steps:
                assert step.exchange is not None
                sent = replayed.run.exchanges[step.exchange].request.json()["messages"]
                assert len(sent) == step.messages_sent, name
