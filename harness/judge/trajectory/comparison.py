"""Every expected call held against every call that was made, as far as it is asked for; each pair once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import cached_property

from harness.judge.functions import Functions
from harness.judge.trajectory.facts import Fact, Parsed, facts, json_key, may_fit
from harness.judge.trajectory.made import Made
from harness.pipeline.arguments import parse_tool_input
from harness.scenario.argument_patterns import has_pattern
from harness.scenario.expectations import CallExpectation


class Fit(IntEnum):
    """Whether a call is the expected one; *unknown*: as far as the run tells, it is."""

    NO = 0
    UNKNOWN = 1
    YES = 2


class Comparison:
    """The expected calls and the ones made; positions count from 0."""

    def __init__(self, expected: Sequence[CallExpectation], made: Sequence[Made], functions: Functions) -> None:
        self.expected = expected
        self.made = made
        self._functions = functions
        self._fits: dict[tuple[int, int], Fit] = {}
        self._parsed: dict[int, Parsed] = {}
        self._by_tool: defaultdict[str, list[int]] = defaultdict(list)
        for position, one in enumerate(made):
            self._by_tool[one.call.name].append(position)

    def fit(self, wanted: int, found: int) -> Fit:
        """How well an expected call and one that was made fit."""
        known = self._fits.get((wanted, found))
        if known is None:
            known = self._fits[wanted, found] = self._judged(wanted, found)
        return known

    def problem(self, wanted: int, found: int) -> str:
        """The first thing that is wrong with a pair, or else not known; empty where nothing is."""
        unknown = ""
        for fact in self._facts(wanted, found):
            if fact.problem and fact.known:
                return fact.problem
            unknown = unknown or fact.problem
        return unknown

    def same_tool(self, wanted: int) -> list[int]:
        """The calls that use the tool of an expected one."""
        return self._by_tool.get(self.expected[wanted].tool, [])

    def fitting(self, wanted: int, least: Fit) -> list[int]:
        """The calls that fit an expected one at least that well."""
        return [found for found in self._candidates(wanted) if self.fit(wanted, found) >= least]

    def _candidates(self, wanted: int) -> list[int]:
        """The calls that may fit: where all arguments are given as values, they are looked up and not searched for."""
        expected = self.expected[wanted]
        if not isinstance(expected.arguments, dict) or has_pattern(expected.arguments):
            return self.same_tool(wanted)
        return self._by_arguments.get((expected.tool, json_key(expected.arguments)), [])

    @cached_property
    def _by_arguments(self) -> dict[tuple[str, str], list[int]]:
        found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for position, one in enumerate(self.made):
            arguments, problem = self._arguments(position)
            if problem is None:
                found[one.call.name, json_key(arguments)].append(position)
        return found

    def _arguments(self, found: int) -> Parsed:
        parsed = self._parsed.get(found)
        if parsed is None:
            parsed = self._parsed[found] = parse_tool_input(self.made[found].call.arguments)
        return parsed

    def _judged(self, wanted: int, found: int) -> Fit:
        expected = self.expected[wanted]
        if expected.tool != self.made[found].call.name or not may_fit(expected, self._arguments(found)):
            return Fit.NO
        known = True
        for fact in self._facts(wanted, found):
            if fact.problem and fact.known:
                return Fit.NO
            known = known and fact.known
        return Fit.YES if known else Fit.UNKNOWN

    def _facts(self, wanted: int, found: int) -> Iterator[Fact]:
        call = self.made[found].call
        return facts(self.expected[wanted], call, self._functions, lambda: self._arguments(found))
