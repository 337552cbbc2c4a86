from __future__ import annotations

import pytest

from harness.errors import InputError
from harness.fuzz.examples import Example, MadeCall, Turn
from harness.fuzz.wire.agent import WireAgent
from harness.fuzz.wire.scenarios import WireRules

RULES = WireRules(timeout_s=20)


def agent(name: str) -> WireAgent:
    return WireAgent(f"tests.fuzz.wire.agents:{name}")


def turn(*texts: str, fault: str = "", name: str = "look") -> Turn:
    calls = tuple(MadeCall(name, text, f"c{at}", name_family="known" if name == "look" else "unknown")
                  for at, text in enumerate(texts))  # fmt: skip
    return Turn(calls, fault=fault)


FITS = '{"path": "a.txt"}'


def test_the_tools_of_an_agent_and_whether_it_streams_are_asked_of_itself() -> None:
    tools, streamed = agent("sound").offered(RULES)
    assert ([tool.name for tool in tools], streamed) == (["look"], False)
    assert agent("streaming").offered(RULES)[1] is True


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("offers_nothing", "the agent offers no tools, so there is nothing to call"),
        ("raises_at_once", "the agent does not pass a run without calls: the agent raised RuntimeError: no such luck"),
        ("not_there", "the agent tests.fuzz.wire.agents:not_there is not there"),
    ],
)
def test_an_agent_that_cannot_be_fuzzed_is_an_error_of_the_user(name: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        agent(name).offered(RULES)
    assert caught.value.what.startswith(what)


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match="--agent-bin: /nowhere/pi is no program"):
        WireAgent("pi", "/nowhere/pi").offered(RULES)


def test_a_sound_agent_answers_every_call() -> None:
    outcome = agent("sound").play(Example((turn(FITS, "{"), turn("[]"))), RULES)
    assert outcome.failed == ()
    assert outcome.answers == (("answered", "answered"), ("answered",))


def test_calls_without_a_result_and_turns_that_were_never_asked_for_are_told_apart() -> None:
    left = agent("leaves_unknown_tools").play(Example((turn(FITS), turn(FITS, name="other"))), RULES)
    assert left.answers == (("answered",), ("unanswered",))
    assert left.causes == ("protocol: result_missing",)
    ended = agent("trusts_arguments").play(Example((turn("{"), turn(FITS, FITS))), RULES)
    assert ended.answers == (("unanswered",), ("not reached", "not reached"))
    assert ended.causes[0] == "the agent's end"
    assert [check.name for check in ended.failures("the agent's end")] == ["the agent's end"]


def test_an_answer_that_was_given_again_counts_with_what_became_of_it_in_the_end() -> None:
    example = Example((turn(FITS, fault="cut:character=3"), turn(FITS)))
    hasty = agent("takes_what_has_come").play(example, RULES)
    assert "protocol: incomplete_call_used" in hasty.causes
    assert agent("streaming").play(example, RULES).failed == ()
