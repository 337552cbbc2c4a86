"""Replay of the recordings that nobody here made: all of them, with nothing left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.judge.replay import judge_replay
from harness.judge.suite import collect
from harness.judge.verdict import Case, Verdict
from harness.scenario.replay import ReplayedCassette, replay_cassette

pytestmark = pytest.mark.corpus

FIRST = ("crush", "fantasy", "openllmetry", "otel-contrib")
FOLDERS = (*FIRST, "pydantic-ai", "ruby_llm")

# Dialect: files, exchanges, chat exchanges, calls, exchanges played as bytes.
COUNTS = {
    "go-vcr": (170, 490, 461, 232, 29),
    "vcrpy": (44, 119, 95, 82, 24),
    "ruby-vcr": (97, 209, 209, 138, 0),
    "pydantic-ai": (122, 226, 211, 148, 15),
}

Found = list[tuple[str, str]]
Replays = dict[str, tuple[ReplayedCassette, Case]]

GROQ = "pydantic-ai/tests/models/cassettes/test_groq/test_tool_use_failed_error"
MISTRAL = "pydantic-ai/tests/models/cassettes"
RETURNS = f"{MISTRAL}/test_multimodal_tool_returns"

# Here the agent sends a single space back beside its calls, whatever text the model sent there.
REWORDED = {
    "fantasy/TestOpenAICompatibleCommon/avian-kimi/multi_tool_streaming.yaml": "beside the calls of add, multiply",
    "fantasy/TestOpenAICompatibleThinking/avian-kimi/thinking-streaming.yaml": "beside the call of weather",
}

# Here the provider refused what its model wrote (HTTP 400, or an error in the stream), and the agent takes the
# `failed_generation` of that error for an answer. Where a call followed, it also sends the reasoning back as text.
_MADE_OF_AN_ERROR = ("history", "exchange 1 $.messages[2]")
_REASONING_AS_TEXT = ("history", "exchange 2 $.messages[4].content")
MADE_OF_AN_ERROR: dict[str, Found] = {
    f"{GROQ}.yaml": [_MADE_OF_AN_ERROR, _REASONING_AS_TEXT],
    f"{GROQ}_with_text.yaml": [_MADE_OF_AN_ERROR],
    f"{GROQ}_streaming.yaml": [("calls_differ", "exchange 0 response"), _MADE_OF_AN_ERROR, _REASONING_AS_TEXT],
    f"{GROQ}_streaming_with_text.yaml": [_MADE_OF_AN_ERROR],
}

# Here the agent puts an "OK" of the assistant, which no model said, between a result and the file that belongs to it.
SAID_OK = (
    f"{MISTRAL}/test_mistral/test_image_as_binary_content_tool_response.yaml",
    f"{RETURNS}/test_model_sees_multiple_images[mistral].yaml",
    f"{RETURNS}/test_multimodal_tool_return_matrix[direct-binary-document-mistral].yaml",
    f"{RETURNS}/test_multimodal_tool_return_matrix[direct-binary-image-mistral].yaml",
    f"{RETURNS}/test_multimodal_tool_return_matrix[direct-url-document-mistral].yaml",
    f"{RETURNS}/test_multimodal_tool_return_matrix[tool_return_content-binary-document-mistral].yaml",
    f"{RETURNS}/test_multimodal_tool_return_matrix[tool_return_content-binary-image-mistral].yaml",
    f"{RETURNS}/test_multimodal_tool_return_matrix[tool_return_content-url-document-mistral].yaml",
)

EXPECTED: dict[str, Found] = {
    **{name: [("history", "exchange 1 $.messages[2].content")] for name in REWORDED},
    **MADE_OF_AN_ERROR,
    **{name: [("turn_not_recorded", "exchange 1 $.messages[3]")] for name in SAID_OK},
}


@pytest.fixture(scope="module")
def replays(corpus_dir: Path) -> Replays:
    found: Replays = {}
    for path in sorted(path for folder in FOLDERS for path in (corpus_dir / folder).rglob("*.y*ml")):
        name = path.relative_to(corpus_dir).as_posix()
        replayed = replay_cassette(load_cassette(path), path.stem)
        found[name] = (replayed, judge_replay(replayed, name))
    return found


COUNTED: tuple[Callable[[ReplayedCassette], int], ...] = (
    lambda _: 1,
    lambda replayed: len(replayed.cassette.exchanges),
    lambda replayed: replayed.steps,
    lambda replayed: replayed.planned_calls,
    lambda replayed: sum(entry.problem is None for entry in replayed.untouched),
)


def test_every_exchange_is_replayed_and_every_call_planned(replays: Replays) -> None:
    totals = {name: [0] * len(COUNTED) for name in COUNTS}
    for replayed, case in replays.values():
        assert replayed.steps == len(replayed.cassette.chat_exchanges), case.path
        assert replayed.planned_calls == replayed.tool_calls, case.path
        assert replayed.steps + len(replayed.untouched) == len(replayed.cassette.exchanges), case.path
        for position, count in enumerate(COUNTED):
            totals[replayed.cassette.dialect][position] += count(replayed)
    assert {name: tuple(total) for name, total in totals.items()} == COUNTS


def test_the_first_two_dialects_stay_as_they_are(replays: Replays) -> None:
    first = [replayed for name, (replayed, _) in replays.items() if name.startswith(FIRST)]
    assert len(first) == 214
    assert sum(len(replayed.cassette.exchanges) for replayed in first) == 609
    assert sum(replayed.steps for replayed in first) == 556
    assert sum(replayed.planned_calls for replayed in first) == 314
    assert {name for name in EXPECTED if name.startswith(FIRST)} == REWORDED.keys()


def test_nothing_is_found_but_what_the_recordings_are(replays: Replays) -> None:
    found = {
        name: [
            *((fault.code, fault.where) for fault in replayed.faults),
            *((each.drift.kind, f"exchange {each.exchange} {each.drift.path}") for each in replayed.drift),
        ]
        for name, (replayed, _) in replays.items()
    }
    assert {name: what for name, what in found.items() if what} == EXPECTED
    verdicts = Counter((case.verdict, name in EXPECTED) for name, (_, case) in replays.items())
    assert verdicts == {(Verdict.PASS, False): 433 - len(EXPECTED), (Verdict.FAIL, True): len(EXPECTED)}


def test_where_the_agent_reworded_the_model_the_text_is_shown(replays: Replays) -> None:
    for name, beside in REWORDED.items():
        (found,) = replays[name][0].drift
        assert f'the recorded agent repeats other text {beside} than the model sent: recorded " "' in found.drift.why


def test_where_the_agent_answered_for_the_model_the_cause_stands_in_the_recording(replays: Replays) -> None:
    for name in MADE_OF_AN_ERROR:
        response = replays[name][0].cassette.exchanges[0].response
        assert b"failed_generation" in response.body, name
    for name in SAID_OK:
        asked = replays[name][0].cassette.exchanges[1].request.json()
        made_up = asked["messages"][3]
        assert (made_up["role"], made_up["content"]) == ("assistant", [{"text": "OK", "type": "text"}]), name


def test_each_step_links_to_its_exchange(replays: Replays) -> None:
    for name, (replayed, _) in replays.items():
        for lane in replayed.run.lanes:
            assert [step.index for step in lane.steps] == list(range(len(lane.steps))), name
            for step in lane.steps:
                assert step.exchange is not None
                sent = replayed.run.exchanges[step.exchange].request.json()["messages"]
                assert len(sent) == step.messages_sent, name


def test_each_file_has_a_folder_of_its_own_for_its_run(corpus_dir: Path) -> None:
    items = collect([corpus_dir / folder for folder in FOLDERS], ["replay"])
    assert len(items) == len({item.slug for item in items}) == 433
