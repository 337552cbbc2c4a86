"""What a fuzzed model plays to an agent: a few turns of calls, and now and then an answer that arrives badly."""

from __future__ import annotations

import random
from collections.abc import Sequence

from harness.fuzz.calls import ToolSchema, bad_id, bad_name
from harness.fuzz.choices import Choices, RandomChoices, several
from harness.fuzz.examples import Example, MadeCall, Turn
from harness.fuzz.texts import FAMILIES, read_strictly
from harness.fuzz.texts.writing import compact
from harness.fuzz.wire.harmless import HarmlessMaker
from harness.play.script import FRAGMENT_CHARACTERS

MOST_TURNS = 5
MOST_CALLS = 3
_ONE_IN_FAULTS = 4
_ONE_IN_NAMES = 10
_ONE_IN_IDS = 10
_LEFT_OUT = frozenset({"long_text", "noise", "mojibake"})
"""Families that are not played: what is random may not be harmless, a long text takes long and shows nothing here."""

WHOLE_FAULTS = ("rechunk=1", "gzip")
"""Faults after which the answer is there, all of it; an agent has to take it as any other."""


class WireMaker:
    """Makes the examples for the tools that an agent offers.

    ``streamed`` says that it asks for streams. With ``texts`` every call is one of a known tool with a raw text.
    """

    def __init__(self, tools: Sequence[ToolSchema], seed: int, *, streamed: bool, texts: bool = False) -> None:
        self._tools = list(tools)
        self._names = {tool.name for tool in tools}
        self._makers = {tool.name: HarmlessMaker(tool) for tool in tools}
        self._families = [name for name in FAMILIES if name not in _LEFT_OUT]
        self._seed = seed
        self._streamed = streamed
        self._texts = texts

    def example(self, number: int) -> Example:
        """The example with that number, whatever was made before."""
        choices = RandomChoices(random.Random(f"{self._seed}/{number}"))  # noqa: S311  to be repeatable is its purpose
        turns = [self._turn(choices, at) for at in range(1, choices.integer(1, MOST_TURNS) + 1)]
        if not self._texts and choices.flag(_ONE_IN_FAULTS):
            # No more than one: after it nobody knows how often the agent has asked.
            at = choices.integer(0, len(turns) - 1)
            turns[at] = turns[at]._replace(fault=self._fault(choices, turns[at]))
        return Example(tuple(turns))

    def is_readable(self, call: MadeCall) -> bool:
        """Whether the arguments are an object, and one that the schema allows where the tool is known."""
        read = read_strictly(call.arguments or "")
        maker = self._makers.get(call.name or "")
        return read.value is not None and not read.refusable and (maker is None or maker.fits(read.value))

    def _turn(self, choices: Choices, number: int) -> Turn:
        calls: list[MadeCall] = []
        for position in range(1, several(choices, 1, MOST_CALLS) + 1):
            call = self._call(choices)._replace(id=f"call_{number}_{position}")
            if not self._texts and choices.flag(_ONE_IN_IDS):
                family, call_id = bad_id(choices, calls[0].id if calls else None)
                call = call._replace(id=call_id, id_family=family)
            calls.append(call)
        return Turn(tuple(calls))

    def _call(self, choices: Choices) -> MadeCall:
        tool = choices.pick(self._tools)
        maker = self._makers[tool.name]
        kind = "text" if self._texts else choices.pick(("valid", "near_miss", "text"))
        if kind == "near_miss":
            value = maker.near_miss(choices)
            family = "valid" if maker.fits(value) else "near_miss"
            call = MadeCall(tool.name, compact(value), None, family)
        elif kind == "text":
            family = choices.pick(self._families)
            call = MadeCall(tool.name, FAMILIES[family](choices, maker.value(choices)), None, family)
        else:
            value = maker.value(choices)
            call = MadeCall(tool.name, compact(value), None, "valid" if maker.fits(value) else "near_miss")
        if not self._texts and choices.flag(_ONE_IN_NAMES):
            name_family, name = bad_name(choices, tool.name, self._names)
            call = call._replace(name=name, name_family=name_family, tool=tool.name)
        return call

    def _fault(self, choices: Choices, turn: Turn) -> str:
        """A fault of one answer; places in it are counted for the script's own stream."""
        lengths = [len(call.arguments or "") for call in turn.calls]
        characters = sum(lengths)
        events = 1 + sum(1 + -(-length // FRAGMENT_CHARACTERS) for length in lengths)
        streamed = (
            f"cut:character={choices.integer(0, max(characters - 1, 0))}",
            f"cut:event={choices.integer(1, events)}",
            f"disconnect:event={choices.integer(1, events)}",
            f"error={choices.integer(1, events)}",
            f"broken={choices.integer(2, events + 1)}",
            "drop=finish_reason",
            "drop=done",
            "rechunk=1",
        )
        plain = (f"cut:byte={choices.integer(1, 120)}", f"disconnect:byte={choices.integer(1, 120)}", "gzip")
        refused = (f"status={choices.pick((429, 500, 503))},retry_after=0",)
        fault: str = choices.pick((*(streamed if self._streamed else plain), *refused))
        return fault


def arrives_whole(example: Example) -> bool:
    """Whether all answers arrive, faults or not."""
    return all(not turn.fault or turn.fault in WHOLE_FAULTS for turn in example.turns)
