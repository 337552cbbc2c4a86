from __future__ import annotations

from harness.measure.encodings import encoding
from harness.measure.prompt import count_request
from harness.measure.task import read_tasks
from harness.wire.exchange import Exchange, Request, Response
from tests.cassette.conversations import chat
from tests.measure.talks import SYSTEM, USER, answer, session_of, talk, task_of, tool

TOOLS = [tool("read"), tool("edit")]


def test_a_task_is_its_steps_in_order_each_counted_like_a_request_alone() -> None:
    exchanges = talk([[("read", "text")], [("read", "more"), ("edit", "ok")], []], TOOLS, {"prompt_tokens": 9})
    task = task_of(exchanges)
    assert [step.exchange for step in task.steps] == [0, 1, 2]
    assert [[call.name for call in step.calls] for step in task.steps] == [["read"], ["read", "edit"], []]
    assert [step.results for step in task.steps] == [0, 1, 2]
    for step, exchange in zip(task.steps, exchanges, strict=True):
        alone = count_request(exchange.request.json(), "gpt-4o-2024-08-06")
        assert (step.count.total, dict(step.count.history)) == (alone.total, dict(alone.history))
        assert step.usage.prompt == 9


def test_missing_usage_stays_missing() -> None:
    (step,) = task_of(talk([[]], [])).steps
    assert step.usage.prompt is step.usage.output is None
    assert step.prompt_tokens == step.count.total


def test_each_message_is_encoded_once_however_often_it_is_sent() -> None:
    def encoded(turns: int, salt: str) -> int:
        results = [[("read", f"{salt} result {number} " + "of a long text " * 40)] for number in range(turns)]
        table = encoding("o200k_base")
        before = table.encoded_characters
        task_of(talk([*results, []], TOOLS))
        return table.encoded_characters - before

    once, twice = encoded(40, "first"), encoded(80, "second")
    assert twice < 2.5 * once


def test_conversations_of_a_file_are_tasks_of_their_own() -> None:
    title = chat(
        [{"role": "system", "content": "Make a title."}, USER], answer({"role": "assistant", "content": "T"}), 7
    )
    session = session_of([*talk([[("read", "x")], []], TOOLS), title])
    assert [(task.number, len(task.steps)) for task in session.tasks] == [(1, 2), (2, 1)]


def test_a_branch_begins_with_the_steps_it_shares_and_owns_the_others() -> None:
    exchanges = talk([[("read", "x")], []], TOOLS)
    body = exchanges[1].request.json()
    other = [*body["messages"][:-1], {**body["messages"][-1], "content": "y"}]
    branch = chat(other, exchanges[1].response.body, 2, model="gpt-4o", tools=TOOLS)
    first, second = session_of([*exchanges, branch]).tasks
    assert [step.exchange for step in first.own_steps] == [0, 1]
    assert [step.exchange for step in second.steps] == [0, 2]
    assert [step.exchange for step in second.own_steps] == [2]


def test_errors_and_unreadable_requests_are_left_out_and_said() -> None:
    refused = chat([SYSTEM, USER], b"{}", 0)
    refused = Exchange(refused.request, Response(429, (), b"{}"), 0)
    broken = Exchange(Request("POST", refused.request.url, (), b"[1"), Response(200, (), b"{}"), 1)
    other = Exchange(Request("GET", "https://api.example.com/v1/models", (), b""), Response(200, (), b"{}"), 2)
    session = read_tasks([refused, broken, other])
    assert session.tasks == []
    assert [(one.exchange, one.why) for one in session.left_out] == [
        (0, "answered with HTTP 429"),
        (1, "the request body is no JSON object"),
    ]


def test_without_answers_the_calls_are_those_that_the_next_request_repeats() -> None:
    exchanges = [
        Exchange(exchange.request, Response(200), exchange.index)
        for exchange in talk([[("read", "x"), ("edit", "y")], []], TOOLS)
    ]
    assert [[call.name for call in step.calls] for step in task_of(exchanges).steps] == [["read", "edit"], []]
