"""Runs and cases for the tests of the page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.judge.verdict import Case, Check, Verdict
from harness.trace.folder import save_run
from harness.trace.run import CallRecord, Lane, Run, Step
from harness.wire.exchange import Exchange, Request, Response

HOSTILE = '</script><script>window.hacked=1;alert(1)</script><img src=x onerror="window.hacked=1">\u202e\u2028&amp;'
TOOLS = [{"type": "function", "function": {"name": "Read", "description": "Reads.", "parameters": {"type": "object"}}}]


def call(number: int, batch: int | None = 0, **changes: Any) -> CallRecord:
    """A call that read a file."""
    record = CallRecord(
        id=f"call_{number}",
        received_id=f"call_{number}",
        name="Read",
        arguments=json.dumps({"path": f"file{number}.txt", "limit": 12345678901234567890}),
        parse_error=None,
        batch=batch,
        concurrency_safe=True,
        executed=True,
        status="success",
        error_code=None,
        observation=json.dumps({"status": "success", "data": {"content": "one\ntwo\n"}, "text": f"read {number}"}),
    )
    return replace(record, **changes)


def step(index: int, calls: tuple[CallRecord, ...] = (), **changes: Any) -> Step:
    """A step with some calls, or with an answer."""
    found = Step(
        index=index,
        exchange=index,
        model="scripted",
        tools=("Read",),
        messages_sent=1 + 2 * index,
        message={"role": "assistant", "content": None if calls else "All done."},
        finish_reason="tool_calls" if calls else "stop",
        status="complete",
        usage={"prompt_tokens": 100 + index, "completion_tokens": 7},
        anomalies=(),
        calls=calls,
        error=None,
        notes=(),
    )
    return replace(found, **changes)


def exchange(index: int, messages: list[dict[str, Any]]) -> Exchange:
    """An exchange of a chat."""
    body = json.dumps({"model": "scripted", "messages": messages, "tools": TOOLS}).encode()
    answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]})
    return Exchange(
        Request("POST", "https://api.example/v1/chat/completions", (), body),
        Response(200, (("content-type", "application/json"),), answer.encode()),
        index,
    )


def two_step_run(text: str = "Read three files.") -> Run:
    """Two reads side by side, one alone that was refused and one that was cut; then the answer."""
    user: dict[str, Any] = {"role": "user", "content": text}
    calls = (
        call(1, observation=text),
        call(2, truncated_from_bytes=60_000, full_result="whole"),
        call(3, 1, concurrency_safe=False, executed=False, status="error", error_code="ACCESS_DENIED"),
    )
    later = [user, {"role": "assistant", "content": None}, {"role": "tool", "content": "x"}, {**user, "content": "On."}]
    head = {"lane": "main", "step": 0}
    return Run(
        "two-steps",
        "scenario",
        "two.yaml",
        lanes=[Lane("main", [step(0, calls), step(1, notes=("a note",))], "answered", "", "All done.")],
        exchanges=[exchange(0, [user]), exchange(1, later)],
        events=[
            {**head, "event": "batch", "concurrent": True, "calls": ["call_1", "call_2"]},
            {**head, "event": "batch", "concurrent": False, "calls": ["call_3"]},
            {**head, "event": "gate", "call": "call_1", "gate": "permission", "outcome": "allow", "reason": "reads"},
            {**head, "event": "gate", "call": "call_3", "gate": "permission", "outcome": "deny", "reason": text},
            {**head, "event": "truncation", "call": "call_2", "layer": 1, "bytes_before": 60000, "bytes_after": 51200},
            {**head, "event": "fault", "fault": "status=429", "what": "refused once"},
            {"lane": "main", "step": 1, "event": "drift", "class": "history", "path": "$.messages[0].content",
             "why": "changed", "allowed": True, "recorded": "same\nold line\nsame", "present": "same\nnew line\nsame"},
        ],
        facts={"model": "scripted"},
    )  # fmt: skip


def saved_cases(folder: Path, text: str = "Read three files.") -> list[Case]:
    """A passed and a failed case with saved runs, and one that has none."""
    run = two_step_run(text)
    good, bad = save_run(run, folder / "runs" / "good"), save_run(run, folder / "runs" / "bad")
    failed = Check("files", Verdict.FAIL, text, "one\ntwo\nthree", "one\n2\nthree", "a.txt", "- old\n+ new")
    return [
        Case("good", "scenario", "s/good.yaml", (Check("finished", Verdict.PASS),), Verdict.PASS,
             description=text, tags=("quick", "it's"), facts={"steps": 2, "calls": 3, "model": "scripted"},
             run_folder=str(good)),
        Case(f"bad {text}", "scenario", "s/bad.yaml", (Check("finished", Verdict.PASS), failed), Verdict.FAIL,
             f"a.txt: {text}", tags=("slow",), facts={"model": "other"}, run_folder=str(bad)),
        Case("broken", "replay", "c/broken.yaml", (), Verdict.ERROR, "not a cassette"),
    ]  # fmt: skip
