"""How many calls were made: in all, of a tool, of a kind that is forbidden, and of the same one again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import orjson

from harness.judge.checks.values import count
from harness.judge.functions import BrokenCheckError, Functions
from harness.judge.trajectory.comparison import Comparison, Fit
from harness.judge.trajectory.made import Made
from harness.judge.trajectory.texts import expected_text
from harness.judge.verdict import Check, Verdict
from harness.pipeline.arguments import parse_tool_input
from harness.scenario.expectations import CallExpectation, CountsExpectation

_LISTED = 12


def counts(expected: CountsExpectation, made: Sequence[Made], functions: Functions) -> Iterator[Check]:
    """A check for each bound; one that failed lists the calls."""
    if expected.calls is not None:
        yield count("counts: calls", "the number of calls", expected.calls, len(made), _list(made))
    for tool, wanted in expected.tools.items():
        of_tool = [one for one in made if one.call.name == tool]
        yield count(f"counts: {tool}", f"the number of calls of {tool}", wanted, len(of_tool), _list(of_tool))
    for forbidden in expected.forbidden:
        call = CallExpectation(tool=forbidden) if isinstance(forbidden, str) else forbidden
        yield _forbidden(call, made, functions)
    if expected.max_identical is not None:
        yield _identical(expected.max_identical, made)


def _forbidden(forbidden: CallExpectation, made: Sequence[Made], functions: Functions) -> Check:
    name, text = "counts: forbidden", expected_text(forbidden)
    comparison = Comparison([forbidden], made, functions)
    try:
        found = comparison.fitting(0, Fit.UNKNOWN)
        certain = next((at for at in found if comparison.fit(0, at) is Fit.YES), None)
    except BrokenCheckError as error:
        return Check(name, Verdict.ERROR, str(error))
    if certain is not None:
        one = made[certain]
        return Check(name, Verdict.FAIL, f"{text} is forbidden, and {one} was made", f"no {text}", str(one), one.where)
    if found:
        one = made[found[0]]
        return Check(name, Verdict.INCONCLUSIVE, comparison.problem(0, found[0]), f"no {text}", str(one), one.where)
    return Check(name, Verdict.PASS, "", f"no {text}", f"{len(made)} calls")


def _identical(most: int, made: Sequence[Made]) -> Check:
    alike: defaultdict[tuple[str, bytes], list[Made]] = defaultdict(list)
    for one in made:
        alike[one.call.name, _key(one.call.arguments)].append(one)
    often = max(alike.values(), key=len, default=[])
    name, bound, found = "counts: max_identical", f"at most {most}", str(len(often))
    if len(often) <= most:
        return Check(name, Verdict.PASS, "", bound, found)
    one = often[most]
    message = f"{one} was made {len(often)} times, at most {most} were expected"
    return Check(name, Verdict.FAIL, message, bound, found, one.where, _list(often))


def _key(arguments: object) -> bytes:
    """Equal for arguments that are equal as JSON; of a text that is none, its characters."""
    parsed, problem = parse_tool_input(arguments)
    if problem is not None:
        return repr(arguments).encode("utf-8", "backslashreplace")
    return orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS)


def _list(made: Sequence[Made]) -> str:
    lines = [f"{one.at_step}: {one}" for one in made[:_LISTED]]
    return "\n".join([*lines, f"… {len(made) - _LISTED} more"] if len(made) > _LISTED else lines)
