"""What a scenario expects and no run of it can ever show (bug report J04): its check looks at the wrong place.

The answers of a script or a cassette are known, so every call that can be made is known too. Of a live model it is
known which tools it is offered. Where faults change the answers, nothing is said.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.cassette.dialects import load_cassette
from harness.judge.checks.values import listed, text_problems
from harness.judge.trajectory.texts import expected_text, readable_arguments
from harness.pipeline.arguments import parse_tool_input
from harness.pipeline.names import resolve_name
from harness.pipeline.registry import ToolRegistry
from harness.pipeline.result import ToolStatus
from harness.pipeline.workspace import Workspace
from harness.play.neutral.folder import PLACEHOLDER
from harness.scenario.argument_patterns import mismatch
from harness.scenario.expectations import CallExpectation, Expectations, LaneExpectation, TextSpec
from harness.scenario.format import Scenario
from harness.scenario.tools import register_tools

_ABSENT = {"$absent": True}


@dataclass(frozen=True, slots=True)
class Unseen:
    """An expectation that nothing can meet: where it stands in the scenario, a code, what is wrong, what to do."""

    key: str
    code: str
    what: str
    todo: str


@dataclass(frozen=True, slots=True)
class _Possible:
    """A call that can be made. ``text`` is its arguments, None where they are not known before the run.

    ``exact`` is false where the values may differ in the run, so that only names can be compared. ``names`` are those
    of all arguments that the tool's schema knows, None where it leaves them open.
    """

    tool: str
    text: object = None
    exact: bool = True
    names: frozenset[str] | None = None


def unseen(scenario: Scenario) -> Iterator[Unseen]:
    """Every expectation of one test case that can never be met; raises InputError for a cassette that is unreadable."""
    expect, player = scenario.expect, scenario.player
    if expect is None or player.faults or _faults_on_the_way(scenario):
        return
    possible = _possible(scenario)
    if possible is not None:
        for key, call in _due(expect):
            # A live model may call what it is not offered; that such a call is refused can be seen.
            if not (player.live and (call.error_code is not None or call.status is ToolStatus.ERROR)):
                yield from _call(key, call, possible)
    if player.script is not None and player.cassette is None and scenario.agent.is_pipeline:
        yield from _final_text(scenario, expect)


def _faults_on_the_way(scenario: Scenario) -> bool:
    before_turns = [event for turn in scenario.user_turns for event in turn.before]
    return any(event.faults_due for event in [*scenario.events, *before_turns])


def _possible(scenario: Scenario) -> list[_Possible] | None:
    """The calls that a run can show; None where nobody knows."""
    player = scenario.player
    cassette = scenario.cassette
    if player.live:
        return _offered(scenario) if scenario.agent.is_pipeline else None
    if cassette is not None:
        # After a miss the script may answer, where a person says so.
        return [*_recorded(scenario), *(_scripted(scenario) or [])] if cassette.is_file() else None
    return _scripted(scenario)


def _scripted(scenario: Scenario) -> list[_Possible] | None:
    found = []
    for turn in scenario.player.script or ():
        if turn.neutral or turn.finish is not None:
            if not scenario.agent.is_pipeline:
                return None
            found += _offered(scenario)
        for call in turn.calls:
            text = call.arguments_text()
            in_folder = text is not None and PLACEHOLDER in text
            found.append(_Possible(call.tool or "", text, exact=not in_folder))
    return found


def _recorded(scenario: Scenario) -> Iterator[_Possible]:
    if scenario.cassette is None:
        return
    for exchange in load_cassette(scenario.cassette).chat_exchanges:
        try:
            calls = exchange.turn().tool_calls
        except ValueError:
            continue
        for call in calls:
            yield _Possible(call.name or "", call.arguments, exact=False)


def _offered(scenario: Scenario) -> list[_Possible]:
    """The tools of the built-in pipeline; what is called of them is not known."""
    registry = ToolRegistry()
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        register_tools(registry, scenario.agent, Workspace(folder))
    found = []
    for name in registry.names:
        schema = tool.parameters_schema() if (tool := registry.get(name)) is not None else {}
        closed = schema.get("additionalProperties") is False
        found.append(_Possible(name, names=frozenset(schema.get("properties", {})) if closed else None))
    return found


def _due(expect: Expectations) -> Iterator[tuple[str, CallExpectation]]:
    """Every call that has to be seen, with its place."""
    yield from _due_of_lane(expect, "expect")
    for name, lane in expect.lanes.items():
        yield from _due_of_lane(lane, f"expect.lanes.{name}")


def _due_of_lane(expect: LaneExpectation, key: str) -> Iterator[tuple[str, CallExpectation]]:
    yield from ((f"{key}.calls[{at}]", call) for at, call in enumerate(expect.calls or ()))
    for number, trajectory in enumerate(expect.trajectory):
        if trajectory.mode != "subset":
            place = f"{key}.trajectory[{number}].calls"
            yield from ((f"{place}[{at}]", call) for at, call in enumerate(trajectory.calls))
    for tool, count in (expect.counts.tools if expect.counts is not None else {}).items():
        if (count if isinstance(count, int) else count.min or 0) > 0:
            yield f"{key}.counts.tools.{tool}", CallExpectation(tool=tool)


def _call(key: str, expected: CallExpectation, possible: Sequence[_Possible]) -> Iterator[Unseen]:
    of_tool = [one for one in possible if _is_tool(one.tool, expected.tool)]
    code = "call_never_seen"
    if not of_tool:
        others = ", ".join(dict.fromkeys(one.tool for one in possible)) or "none"
        what = f"{expected.tool} is never called: neither player nor tools have it (there is: {others})"
        yield Unseen(key, code, what, "name a tool that is called, or look at another place")
        return
    problems = [_argument_problem(expected, one) for one in of_tool]
    if all(problems):
        what = f"no call of {expected.tool} can be {expected_text(expected)}: {problems[0]}"
        yield Unseen(key, code, what, "mend the expected arguments, or the script")


def _is_tool(called: str, expected: str) -> bool:
    return called == expected or resolve_name(called, lambda name: name == expected, [expected]) is not None


def _argument_problem(expected: CallExpectation, one: _Possible) -> str:
    """Why a call cannot be the expected one; empty where it can, as far as is known before a run."""
    if one.text is None:
        return _name_problem(expected, one.names)
    if isinstance(expected.arguments, str):
        wrong = one.exact and str(one.text) != expected.arguments
        return f"arguments: {expected.arguments!r} -> {one.text!r}" if wrong else ""
    parsed, problem = parse_tool_input(one.text)
    if problem is not None:
        return ""
    for wanted, part in ((expected.arguments, False), (expected.arguments_include, True)):
        if wanted is None:
            continue
        found = mismatch(wanted if one.exact else _names(wanted), parsed, part=part)
        if found is not None:
            return f"arguments {found.path}: {found.expected} -> {found.actual}"
    return ""


def _name_problem(expected: CallExpectation, names: frozenset[str] | None) -> str:
    named = {} if isinstance(expected.arguments, str) else {**(expected.arguments or {})}
    named |= expected.arguments_include or {}
    unknown = [name for name, value in named.items() if value != _ABSENT and names is not None and name not in names]
    return f"its schema has no argument {unknown[0]!r} ({', '.join(sorted(names or ()))})" if unknown else ""


def _names(wanted: Mapping[str, object]) -> dict[str, object]:
    """The expected arguments with any value, but for those that must be absent."""
    return {key: _ABSENT if value == _ABSENT else {"$any": True} for key, value in wanted.items()}


def _final_text(scenario: Scenario, expect: Expectations) -> Iterator[Unseen]:
    if expect.final_text is None:
        return
    turns = scenario.player.script or ()
    texts = [text for turn in turns for text in (turn.text, turn.finish) if text is not None]
    spec = TextSpec(equals=expect.final_text) if isinstance(expect.final_text, str) else expect.final_text
    if any(PLACEHOLDER in text for text in texts):
        return
    problems = [text_problems(spec, text) for text in ["", *texts]]
    if not all(problems):
        return
    wanted = [part for part in (spec.equals, *listed(spec.contains)) if part]
    called = [(call.tool, readable_arguments(call.arguments)) for turn in turns for call in turn.calls]
    place = next((tool for tool, text in called if any(part in text for part in wanted)), None)
    hint = f"; it stands in the arguments of {place}" if place else ""
    todo = "look at the call's arguments (calls, trajectory)" if place else "mend the text, or the script"
    what = f"no turn of the script says such a text: {problems[-1][0]}{hint}"
    yield Unseen("expect.final_text", "text_never_seen", what, todo)
