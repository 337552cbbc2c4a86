"""Gates on tokens: what the schemas and the whole run may cost (seed 002: schemas ride along on every request)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.judge.verdict import Check, Verdict
from harness.measure.conversation import ConversationCounter
from harness.measure.prompt import PromptCount
from harness.scenario.expectations import TokenExpectation


def count_requests(requests: Sequence[Mapping[str, Any]]) -> list[PromptCount]:
    """The prompt tokens of each request of a run; a text is encoded once, however often it is sent."""
    counter = ConversationCounter()
    return [counter.count(request) for request in requests]


def token_facts(counts: Sequence[PromptCount]) -> dict[str, object]:
    """What the reports say of a run whose tokens are judged; ``estimated`` where a count is one."""
    facts: dict[str, object] = {
        "counted_prompt_tokens": sum(count.total for count in counts),
        "tools_tokens": sum(count.tools_tokens for count in counts),
    }
    return facts | ({"estimated": True} if any(count.estimate for count in counts) else {})


def token_checks(expected: TokenExpectation, counts: Sequence[PromptCount]) -> list[Check]:
    """Each bound, judged; where one is passed the check names the request and the costliest tools."""
    checks: list[Check] = []
    for number, count in enumerate(counts):
        where = f"request {number + 1}"
        if expected.tools_tokens is not None:
            checks.append(_at_most("tools_tokens", expected.tools_tokens, count.tools_tokens, where, _costliest(count)))
        if expected.tools_share is not None:
            share = round(count.tools_share, 3)
            checks.append(_at_most("tools_share", expected.tools_share, share, where, _costliest(count)))
    total = sum(count.total for count in counts)
    if expected.tools_tokens_total is not None:
        tools = sum(count.tools_tokens for count in counts)
        checks.append(_at_most("tools_tokens_total", expected.tools_tokens_total, tools))
    if expected.prompt_tokens is not None:
        checks.append(_at_most("prompt_tokens", expected.prompt_tokens, total))
    if expected.baseline is not None:
        limit = int(expected.baseline.prompt_tokens * (1 + expected.baseline.percent / 100))
        change = 100 * (total / expected.baseline.prompt_tokens - 1)
        checks.append(
            _at_most("baseline", limit, total, details=f"{change:+.1f} % against {expected.baseline.prompt_tokens}")
        )
    return checks


def _at_most(name: str, limit: float, found: float, where: str = "", details: str = "") -> Check:
    if found <= limit:
        return Check(f"tokens: {name}", Verdict.PASS, "", f"at most {limit}", str(found), where)
    message = f"{name} is {found}, at most {limit} were expected"
    return Check(f"tokens: {name}", Verdict.FAIL, message, f"at most {limit}", str(found), where, details)


def _costliest(count: PromptCount) -> str:
    tools = sorted(count.tools, key=lambda tool: (-tool.tokens, tool.name))[:3]
    return "the costliest tools: " + ", ".join(f"{tool.name} {tool.tokens}" for tool in tools) if tools else ""
