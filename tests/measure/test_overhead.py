from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.judge.tokens import measure_paths
from harness.measure.overhead import measure_task, tools_over
from harness.measure.prompt import count_request
from harness.measure.repeated import common_passages
from harness.wire.exchange import Exchange, Response
from tests.cassette.conversations import chat
from tests.measure.talks import SYSTEM, answer, five_tools_of, session_of, talk, task_of, tool

FOLDERS = ("crush", "fantasy", "openllmetry", "otel-contrib", "pydantic-ai", "ruby_llm")


@pytest.mark.seed("M01")
def test_five_definitions_of_1500_tokens_cost_30000_over_twenty_turns() -> None:
    tools = five_tools_of(1500)
    assert len(tools) == 5
    measured = measure_task(task_of(talk([*[[("read", "text")]] * 19, []], tools)))
    assert [step.tools for step in measured.steps] == [1500] * 20
    assert measured.tools_tokens == 30_000


@pytest.mark.seed("M02")
def test_tools_that_a_task_never_called_are_shown_with_what_they_cost() -> None:
    tools = [tool("read"), tool("edit", "Changes a file. " * 20), tool("bash")]
    measured = measure_task(task_of(talk([[("read", "x")], [("read", "y"), ("bash", "z")], []], tools)))
    size = {one.name: one.tokens for one in measured.steps[0].step.count.tools}
    found = {use.name: use for use in measured.tools}
    assert [(use.sent, use.called, use.unused_tokens) for use in measured.tools] == [
        (3, 2, 0), (3, 0, 3 * size["edit"]), (3, 1, 0)
    ]  # fmt: skip
    assert found["edit"].description_tokens > found["read"].description_tokens
    assert measured.unused_tokens == 3 * size["edit"]


@pytest.mark.seed("M03")
def test_a_fifteen_step_task_costs_more_than_fifteen_requests_because_the_history_grows() -> None:
    turns = [[("read", f"line {number}\n" * 60)] for number in range(14)]
    measured = measure_task(task_of(talk([*turns, []], [tool("read")])))
    steps = measured.steps
    assert len(steps) == 15
    assert steps[0].alone == steps[0].total == steps[0].new
    assert measured.total == sum(step.total for step in steps) > 15 * steps[0].total
    assert measured.total > measured.alone
    resent = [step.total - step.alone for step in steps]
    assert resent == sorted(resent)
    assert resent[0] == 0
    assert all(step.total == before.total + step.new for before, step in pairwise(steps))
    assert [step.cumulated for step in steps] == [sum(s.total for s in steps[: n + 1]) for n in range(15)]


def test_the_parts_of_a_step_add_up() -> None:
    for step in measure_task(task_of(talk([[("read", "x")], []], [tool("read")]))).steps:
        assert step.system + step.tools + step.history_tokens + step.other == step.total
        assert step.tools_share == pytest.approx(step.tools / step.total)


def test_a_tool_used_in_one_task_is_unused_in_another() -> None:
    tools = [tool("read")]
    title = chat([SYSTEM, {"role": "user", "content": "Other."}], answer({"role": "assistant", "content": "T"}), 9,
                 model="gpt-4o", tools=tools)  # fmt: skip
    tasks = [measure_task(task) for task in session_of([*talk([[("read", "x")], []], tools), title]).tasks]
    (use,) = tools_over(tasks)
    assert (use.sent, use.called, use.unused_tokens) == (3, 1, use.tokens)
    assert use.sent_tokens == 3 * use.tokens


def rewritten(change: Any, turns: int = 3) -> list[Exchange]:
    """A conversation whose last request was changed."""
    exchanges = talk([*[[("read", f"text {n}")] for n in range(turns - 1)], []], [tool("read"), tool("edit")])
    body = exchanges[-1].request.json()
    change(body)
    messages = body.pop("messages")
    return [*exchanges[:-1], chat(messages, exchanges[-1].response.body, turns - 1, **body)]


def cleared(body: dict[str, Any]) -> None:
    body["messages"][3]["content"] = "[cleared]"


def other_tool(body: dict[str, Any]) -> None:
    body["tools"][1]["function"]["description"] = "Another."


def other_system(body: dict[str, Any]) -> None:
    body["messages"][0]["content"] = "It is Tuesday."


def no_change(body: dict[str, Any]) -> None:
    del body["model"]
    body["model"] = "gpt-4o"


@pytest.mark.parametrize(
    ("change", "kind", "where"),
    [
        (cleared, "history", "messages[3]"),
        (other_tool, "tools", "tools[1] (edit)"),
        (other_system, "system", "messages[0]"),
    ],
)
def test_where_the_cached_prefix_breaks(change: Any, kind: str, where: str) -> None:
    *before, last = measure_task(task_of(rewritten(change))).steps
    assert [step.prefix_break for step in before] == [None, None]
    broken = last.prefix_break
    assert broken is not None
    assert (broken.kind, broken.where) == (kind, where)
    count = count_request(last.step.messages and {"messages": last.step.messages, "tools": last.step.tools}, "gpt-4o")
    sizes = [message.tokens for message in count.messages]
    kept = {"history": sum(sizes[:3]) + count.tools_tokens, "tools": sizes[0] + count.tools[0].tokens, "system": 0}
    assert broken.tokens_after == count.total - count.priming - kept[kind]


def test_a_history_that_only_grows_breaks_nothing() -> None:
    assert [step.prefix_break for step in measure_task(task_of(rewritten(no_change))).steps] == [None] * 3


def test_another_model_has_a_cache_of_its_own() -> None:
    exchanges = talk([[("read", "x")], []], [tool("read")])
    body = exchanges[1].response.body.replace(b"gpt-4o-2024-08-06", b"gpt-4o-mini")
    changed = [exchanges[0], Exchange(exchanges[1].request, Response(200, (), body), 1)]
    last = measure_task(task_of(changed)).steps[-1]
    assert last.prefix_break is not None
    assert (last.prefix_break.kind, last.prefix_break.tokens_after) == ("model", last.total)


def test_parallel_calls_save_the_prompts_that_single_ones_would_send_again() -> None:
    together = talk([[("read", "one"), ("read", "two"), ("read", "three")], []], [tool("read")])
    apart = talk([[("read", "one")], [("read", "two")], [("read", "three")], []], [tool("read")])
    parallel, single = measure_task(task_of(together)), measure_task(task_of(apart))
    (turn,) = parallel.parallel
    assert (turn.step, turn.calls, turn.round_trips, turn.sent) == (0, 3, 2, 1)
    assert turn.saved_tokens == single.total - parallel.total
    assert turn.escaping_tokens == 0


def test_results_in_other_scripts_cost_more_in_parallel_and_so_in_every_later_request() -> None:
    text = "日本語の長い文章です。" * 10
    turns = [[("read", text), ("read", json.dumps({"text": text}))], [("read", "x")], []]
    (turn,) = measure_task(task_of(talk(turns, [tool("read")]))).parallel
    assert turn.sent == 2
    assert turn.escaping_tokens > 500
    assert turn.escaping_total == 2 * turn.escaping_tokens


def test_text_in_system_prompt_and_tools_is_told_of_with_its_cost() -> None:
    advice = "Always read a file before you change it, and never guess what its content might be."
    system = {"role": "system", "content": f"You mend programs.\n{advice}\nBe brief."}
    tools = [tool("edit", f"Changes a file. {advice}"), tool("read")]
    (one,) = measure_task(task_of(talk([[("read", "x")], []], tools, system=system))).repeated
    assert (one.tool, one.sent) == ("edit", 2)
    assert advice in one.text
    assert one.tokens > 10


@given(st.text("ab", max_size=60), st.text("ab", max_size=60))
def test_common_passages_are_in_both_and_none_is_missed(one: str, other: str) -> None:
    found = common_passages(one, other, 6)
    assert all(passage in one and passage in other for passage in found)
    anywhere = any(other[at : at + 6] in one for at in range(len(other) - 5))
    assert bool(found) == anywhere


@pytest.mark.corpus
def test_every_cassette_of_the_corpus_is_measured(corpus_dir: Path) -> None:
    files = sorted(str(path) for folder in FOLDERS for path in (corpus_dir / folder).rglob("*.y*ml"))
    assert len(files) == 433
    measured = measure_paths(files)
    document = measured.document()
    assert json.loads(json.dumps(document)) == document
    for task in measured.tasks:
        for step in task.steps:
            assert step.system + step.tools + step.history_tokens + step.other == step.total
            assert 0 <= step.new <= step.total >= step.alone
            assert step.prefix_break is None or 0 <= step.prefix_break.tokens_after <= step.total
