"""Recorded usage, and what reports of real projects say goes wrong with it (family I of the bug reports)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from harness.measure.prompt import count_request
from harness.measure.usage import RecordedUsage, recorded_usage, usage_of_body
from harness.wire.exchange import Exchange, Request, Response

URL = "https://api.example.com/v1/chat/completions"


def usage(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}


def stream(*chunks: dict[str, Any]) -> Exchange:
    events = [f"data: {json.dumps({'id': 'a', 'choices': [], **chunk})}\n\n" for chunk in chunks]
    body = "".join([*events, "data: [DONE]\n\n"]).encode()
    return Exchange(Request("POST", URL), Response(200, (("content-type", "text/event-stream"),), body))


def choice(text: str | None, reason: str | None = None, **more: Any) -> list[dict[str, Any]]:
    return [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": reason, **more}]


def test_i02_running_totals_in_several_chunks_are_not_summed() -> None:
    exchange = stream(
        {"choices": choice("a"), "usage": usage(10, 1)},
        {"choices": choice("b"), "usage": usage(10, 2)},
        {"choices": choice(None, "stop"), "usage": usage(10, 2)},
    )
    assert recorded_usage(exchange) == RecordedUsage(prompt=10, completion=2, total=12)


def test_i03_usage_beside_a_placeholder_choice_counts_once() -> None:
    exchange = stream(
        {"choices": choice("a")},
        {"choices": choice(None, "stop")},
        {"choices": choice(None), "usage": usage(5, 1)},
    )
    assert recorded_usage(exchange).total == 6
    assert exchange.turn().finish_reason == "stop"


def test_i05_reasoning_tokens_are_not_added_twice() -> None:
    within = RecordedUsage.of(usage(20, 266, completion_tokens_details={"reasoning_tokens": 261}))
    assert (within.output, within.reasoning, within.unexplained) == (266, 261, 0)
    beside = RecordedUsage.of({"prompt_tokens": 20, "completion_tokens": 424, "total_tokens": 1016})
    assert (beside.output, beside.reasoning, beside.unexplained) == (424, None, 572)


def test_i05_reasoning_that_the_total_has_beside_the_completion_is_added_once() -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": 100}}
    apart = RecordedUsage.of({"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 130, **details})
    assert (apart.reasoning_apart, apart.output, apart.unexplained) == (True, 110, 0)


def test_i06_calls_are_counted_with_their_arguments() -> None:
    arguments = json.dumps({"path": "a", "content": "x" * 40000})
    call = {"id": "a", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    assert count_request({"model": "gpt-4o", "messages": messages}).total >= 5000


def test_i06_reasoning_sent_back_is_counted_and_marked() -> None:
    message = {"role": "assistant", "content": "x"}
    plain = count_request({"model": "deepseek-chat", "messages": [message]})
    thoughtful = count_request({"model": "deepseek-chat", "messages": [{**message, "reasoning_content": "a b c d"}]})
    assert thoughtful.total == plain.total + 4
    assert "reasoning sent back" in thoughtful.reasons


def test_i08_counting_needs_no_network() -> None:
    program = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from harness.measure.encodings import encoding\n"
        "import sys; assert 'bpe_openai' not in sys.modules, 'tables are loaded at import'\n"
        "assert encoding('o200k_base').count('hello world') == encoding('cl100k_base').count('hello world') == 2\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


def test_missing_usage_stays_missing() -> None:
    nothing = recorded_usage(stream({"choices": choice("a", "stop")}))
    assert nothing.is_empty
    assert (nothing.prompt, nothing.completion, nothing.total, nothing.output, nothing.unexplained) == (None,) * 5
    assert usage_of_body(b"<html>", streamed=False).is_empty
    assert RecordedUsage.of(None).is_empty


def test_cached_tokens_are_part_of_the_prompt() -> None:
    recorded = RecordedUsage.of(usage(100, 5, prompt_tokens_details={"cached_tokens": 64}))
    assert (recorded.prompt, recorded.cached, recorded.unexplained) == (100, 64, 0)


@pytest.mark.parametrize("cached", [{"prompt_cache_hit_tokens": 64}, {"num_cached_tokens": 64}])
def test_cached_tokens_are_read_under_other_names(cached: dict[str, int]) -> None:
    assert RecordedUsage.of(usage(100, 5, **cached)).cached == 64


def test_usage_is_read_beside_a_choice_and_under_x_groq() -> None:
    assert recorded_usage(stream({"choices": choice("a", "stop", usage=usage(7, 1))})).total == 8
    assert recorded_usage(stream({"choices": choice("a", "stop"), "x_groq": {"usage": usage(9, 1)}})).total == 10


def test_odd_values_are_no_figures() -> None:
    odd = RecordedUsage.of({"prompt_tokens": "7", "completion_tokens": True, "total_tokens": -1})
    assert odd.is_empty
    assert RecordedUsage.of({"prompt_tokens": 7.0}).prompt == 7
