"""A real agent fuzzed over the wire: the server plays a model that calls its tools rightly and wrongly.

The agent's tools do run here, so what fits is harmless: commands only say something, paths stay in the workspace. What
is broken is broken from that, and stays as harmless.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import InputError
from harness.files import write_text_atomically
from harness.fuzz.calls import ToolSchema, tool_schemas
from harness.fuzz.choices import Choices, RandomChoices, RejectedError, attempt, several
from harness.fuzz.texts import FAMILIES, read_strictly
from harness.fuzz.texts.writing import compact
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Check, Verdict
from harness.scenario.format import Scenario
from harness.scenario.policy import ReplayPolicy
from harness.scenario.runner import run_scenario
from harness.scenario.yaml_text import OneLine, to_yaml

_MOST_TURNS = 3
_MOST_CALLS = 3
_TRIES = 12
_TIMEOUT_S = 60.0
_REQUESTS = 30
_HARMLESS = ("echo a", "true", "ls")
_WORDS = ("alpha", "a", "beta gamma")
_PATHS = ("a.txt", "b.txt", "none.txt")
_WITHOUT = frozenset({"long_text", "noise", "surrogate", "huge_number", "large_number"})
"""Families that are not played: what is random is not harmless, the others are no texts for a wire or take long."""

_NAMES = ("no_such_tool", "")


@dataclass(frozen=True)
class WireCall:
    """A call that the fuzzed model makes."""

    tool: str
    arguments: str
    family: str


WireExample = tuple[tuple[WireCall, ...], ...]
"""The calls of each turn."""


@dataclass(frozen=True)
class WireFinding:
    """What an agent did wrong: a check that failed, by the smallest example; ``document`` is its scenario.

    ``checks`` are its failures there, one or several of the same name.
    """

    number: int
    checks: tuple[Check, ...]
    example: WireExample
    document: dict[str, Any]

    @property
    def cause(self) -> str:
        """What makes two findings one."""
        return self.checks[0].name

    @property
    def families(self) -> tuple[str, ...]:
        """The kinds of input that are left."""
        return tuple(dict.fromkeys(call.family for turn in self.example for call in turn))


@dataclass(frozen=True)
class WireAgent:
    """A preset of an agent, and its program where the user names it."""

    preset: str
    program: str | None = None

    def run(self, document: dict[str, Any]) -> tuple[list[Check], list[dict[str, Any]]]:
        """The checks that did not pass, and the tools of the first request. Raises InputError without the agent."""
        scenario = Scenario.model_validate({**document, "path": Path("fuzz.yaml"), "name": "fuzz"})
        outcome = run_scenario(scenario, ReplayPolicy(agent_bin=self.program))
        if outcome.served is not None and outcome.served.unavailable:
            raise InputError(outcome.served.unavailable, where=self.preset)
        case = judge_scenario(outcome, "fuzz.yaml")
        tools = next((request["tools"] for request in outcome.requests if request.get("tools")), [])
        failed = [check for check in case.checks if check.verdict is not Verdict.PASS]
        return failed, tools if isinstance(tools, list) else []


def fuzz_agent(
    agent: WireAgent, *, examples: int, seed: int, on_example: Callable[[int, int], None] = lambda *_: None
) -> Iterator[WireFinding]:
    """Fuzz an agent; each cause once, made small, as it is found. Raises InputError for an agent without tools."""
    _, offered = agent.run(_document(agent, ()))
    tools = tool_schemas(offered)
    known: set[str] = set()
    for number in range(examples):
        example = _example(tools, seed, number)
        failed, _ = agent.run(_document(agent, example))
        on_example(number + 1, len(known))
        for cause in sorted({check.name for check in failed} - known):
            known.add(cause)
            yield _smallest(agent, number, example, [check for check in failed if check.name == cause], cause)


def save_wire(finding: WireFinding, preset: str, folder: Path) -> Path:
    """Save the finding as a scenario; what is there already stays."""
    digest = hashlib.blake2b(repr((finding.cause, finding.example)).encode(), digest_size=4).hexdigest()
    path = folder / f"{Path(preset).stem}-{digest}.yaml"
    if not path.exists():
        write_text_atomically(path, to_yaml(finding.document))
    return path


def _smallest(agent: WireAgent, number: int, example: WireExample, failed: Sequence[Check], cause: str) -> WireFinding:
    """With fewer turns and calls, as long as the same check fails."""
    tries = _TRIES
    again = True
    while again:
        again = False
        for candidate in _shorter(example):
            if not tries:
                break
            tries -= 1
            found = [check for check in agent.run(_document(agent, candidate))[0] if check.name == cause]
            if found:
                example, failed, again = candidate, found, True
                break
    why = "; ".join(dict.fromkeys(check.message.splitlines()[0] for check in failed if check.message))
    document = _document(agent, example) | {"description": f"Found by the fuzzer: {why[:300]}"}
    return WireFinding(number, tuple(failed), example, document)


def _shorter(example: WireExample) -> Iterator[WireExample]:
    for at in range(len(example)):
        if len(example) > 1:
            yield example[:at] + example[at + 1 :]
    for at, turn in enumerate(example):
        for position in range(len(turn)):
            if len(turn) > 1:
                yield (*example[:at], turn[:position] + turn[position + 1 :], *example[at + 1 :])


def _document(agent: WireAgent, example: WireExample) -> dict[str, Any]:
    script: list[dict[str, Any]] = [
        {"calls": [OneLine(tool=call.tool, arguments=call.arguments) for call in turn]} for turn in example
    ]
    return {
        "tags": ["regression", "fuzz"],
        "workspace": {"files": {"a.txt": "alpha\n", "b.txt": "beta\n"}},
        "agent": {"preset": agent.preset, "timeout_s": _TIMEOUT_S, "max_requests": _REQUESTS},
        "prompt": "Go on.",
        "player": {"script": [*script, {"finish": "done"}]},
        "expect": {"exit_code": 0},
    }


def _example(tools: Sequence[ToolSchema], seed: int, number: int) -> WireExample:
    choices = RandomChoices(random.Random(f"{seed}/{number}"))  # noqa: S311  to be repeatable is its purpose
    return tuple(
        tuple(_call(choices, tools) for _ in range(several(choices, 1, _MOST_CALLS)))
        for _ in range(several(choices, 1, _MOST_TURNS))
    )


def _call(choices: Choices, tools: Sequence[ToolSchema]) -> WireCall:
    tool = choices.pick(tools)
    value = _harmless(choices, tool)
    if choices.flag(3):
        return WireCall(tool.name, compact(value), "valid")
    if choices.flag(8):
        return WireCall(choices.pick(_NAMES), compact(value), "another name")
    family = choices.pick([name for name in FAMILIES if name not in _WITHOUT])
    text = FAMILIES[family](choices, value)
    read = read_strictly(text)
    return WireCall(tool.name, text, family if read.value != value else f"{family} (valid)")


def _harmless(choices: Choices, tool: ToolSchema) -> dict[str, Any]:
    """Arguments that fit and do no harm; texts are among a few, whatever the parameter is called."""
    try:
        made = attempt(tool.values.value, choices)
    except RejectedError:
        made = {}
    value = {key: part for key, part in made.items() if key in tool.schema.get("properties", {})}
    for key, part in value.items():
        if isinstance(part, str):
            lower = key.lower()
            pool = _HARMLESS if "comm" in lower or "cmd" in lower else _PATHS if "path" in lower else _WORDS
            value[key] = choices.pick(pool)
        elif isinstance(part, int | float) and not isinstance(part, bool):
            value[key] = choices.integer(1, 5)
        elif isinstance(part, list):
            value[key] = [entry for entry in part if not _has_text(entry)]
    return value


def _has_text(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_text(part) for part in value.values())
    return isinstance(value, str) or (isinstance(value, list) and any(map(_has_text, value)))
