from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.fuzz.calls import ToolSchema
from harness.fuzz.examples import Example, MadeCall, Turn
from harness.fuzz.wire.examples import MOST_CALLS, MOST_TURNS, WireMaker, arrives_whole
from harness.fuzz.wire.scenarios import WireRules, agent_part, document_of
from harness.scenario.format import Scenario
from tests.fuzz.wire.agents import LOOK

TOOLS = [ToolSchema.of(LOOK)]
FOLDER = Path("scenarios/regressions")


def maker(seed: int = 1, *, streamed: bool = True, texts: bool = False) -> WireMaker:
    return WireMaker(TOOLS, seed, streamed=streamed, texts=texts)


def examples(made: WireMaker, count: int = 200) -> list[Example]:
    return [made.example(number) for number in range(count)]


def calls_of(example: Example) -> list[MadeCall]:
    return [call for turn in example.turns for call in turn.calls]


def test_the_same_seed_gives_the_same_examples_in_any_order() -> None:
    made = maker()
    assert [made.example(number) for number in reversed(range(20))][::-1] == examples(maker(), 20)
    assert examples(maker(seed=2), 20) != examples(maker(), 20)


def test_an_example_has_a_few_turns_and_at_most_one_fault() -> None:
    for example in examples(maker()):
        assert 1 <= len(example.turns) <= MOST_TURNS
        assert all(1 <= len(turn.calls) <= MOST_CALLS for turn in example.turns)
        assert sum(bool(turn.fault) for turn in example.turns) <= 1


def test_everything_is_tried() -> None:
    made = examples(maker(), 600)
    calls = [call for example in made for call in calls_of(example)]
    faults = {turn.fault.partition(":")[0].partition("=")[0] for example in made for turn in example.turns}
    assert {call.name_family for call in calls} == {
        "known", "unknown", "case", "prefix", "suffix", "repeated", "cut", "missing",
    }  # fmt: skip
    assert {call.id_family for call in calls} == {"fresh", "missing", "empty", "twice", "long", "odd"}
    assert {"valid", "near_miss", "in_array", "truncated", "surrogate"} < {call.family for call in calls}
    assert faults == {"", "cut", "disconnect", "error", "broken", "drop", "rechunk", "status"}
    plain = {turn.fault.partition(":")[0].partition("=")[0] for example in examples(maker(streamed=False), 600)
             for turn in example.turns}  # fmt: skip
    assert plain == {"", "cut", "disconnect", "gzip", "status"}


def test_what_is_called_valid_is_readable_and_a_near_miss_is_not() -> None:
    made = maker()
    for example in examples(made):
        for call in calls_of(example):
            if call.name_family == "known" and call.family in ("valid", "near_miss"):
                assert made.is_readable(call) is (call.family == "valid")


def test_texts_alone_are_calls_of_known_tools_with_ids_of_their_own() -> None:
    for example in examples(maker(texts=True), 50):
        assert not any(turn.fault for turn in example.turns)
        assert {(call.name, call.name_family, call.id_family) for call in calls_of(example)} == {
            ("look", "known", "fresh")
        }


@given(st.integers(0, 10**6), st.booleans())
def test_every_example_is_a_scenario_as_it_is_played_and_as_it_is_saved(number: int, streamed: bool) -> None:
    example = maker(streamed=streamed).example(number)
    for folder in (Path(), FOLDER):
        document = document_of("pi", example, WireRules(), folder)
        scenario = Scenario.model_validate({**document, "path": Path("fuzz.yaml"), "name": "fuzz"})
        assert scenario.player.script is not None
        played = [[(call.tool, call.arguments) for call in turn.calls] for turn in scenario.player.script]
        assert played == [*([(call.name, call.arguments) for call in turn.calls] for turn in example.turns), []]
        assert scenario.expect is not None
        assert scenario.expect.partial is not arrives_whole(example)


def one(text: str = "{}", fault: str = "", call_id: str | None = "call_1_1", id_family: str = "fresh") -> Example:
    return Example((Turn((MadeCall("look", text, call_id, id_family=id_family),), fault=fault),))


def test_a_fault_is_one_of_the_answer_in_which_it_stands() -> None:
    first = one().turns[0]
    for fault, written in (
        ("drop=done", "drop=done,at=2"),
        ("status=500,retry_after=0", "status=500,retry_after=0,at=2"),
        ("gzip", "gzip:at=2"),
    ):
        example = Example((first, first._replace(fault=fault)))
        assert document_of("pi", example, WireRules(), FOLDER)["player"]["faults"] == [written]


def test_an_agent_may_give_up_after_an_answer_that_did_not_arrive_but_not_crash() -> None:
    assert document_of("pi", one(), WireRules(), FOLDER)["expect"] == {"exit_code": 0}
    assert document_of("pi", one(fault="rechunk=1"), WireRules(), FOLDER)["expect"] == {"exit_code": 0}
    assert document_of("pi", one(fault="cut:character=3"), WireRules(), FOLDER)["expect"] == {
        "outcome": ["answered", "error"], "partial": True, "exit_code": {"min": 0, "max": 127},
    }  # fmt: skip


def test_ids_stand_in_a_scenario_where_they_matter() -> None:
    (turn,) = document_of("pi", one(), WireRules(), FOLDER)["player"]["script"][:-1]
    assert turn == {"calls": [{"tool": "look", "arguments": "{}"}]}
    (turn,) = document_of("pi", one(call_id=None, id_family="missing"), WireRules(), FOLDER)["player"]["script"][:-1]
    assert turn == {"calls": [{"tool": "look", "arguments": "{}", "id": None}]}
    twice = Example((Turn((MadeCall("look", "{}", "x"), MadeCall("look", "{}", "x", id_family="twice"))),))
    (turn,) = document_of("pi", twice, WireRules(), FOLDER)["player"]["script"][:-1]
    assert [call["id"] for call in turn["calls"]] == ["x", "x"]


@pytest.mark.parametrize(
    ("agent", "part"),
    [
        ("pi", {"preset": "pi"}),
        ("my/agent.toml", {"preset": "../../my/agent.toml"}),
        ("agents.py:run", {"python": "../../agents.py:run"}),
        ("my.agents:run", {"python": "my.agents:run"}),
    ],
)
def test_an_agent_is_named_from_where_the_scenario_stands(agent: str, part: dict[str, str]) -> None:
    assert agent_part(agent, FOLDER) == part


def test_rules_and_oracles_of_the_user_stand_in_the_scenario() -> None:
    rules = WireRules(timeout_s=3, own=("mine.py:check",), without=("call_without_id",))
    document = document_of("pi", one(), rules, FOLDER)
    assert document["agent"]["timeout_s"] == 3
    assert document["expect"]["python"] == ["../../mine.py:check"]
    assert document["expect"]["protocol"] == {"without": ["call_without_id"]}
