"""tau2-bench results: ``{info, tasks, simulations}``, one file for a model and a domain.

Calls are flat with arguments as an object; ``raw_data`` keeps the provider's message where there was one. An
assistant's message without it is the greeting that every conversation begins with, which no model wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.trace.importing.conversation import Said, fill_lane
from harness.trace.importing.documents import Record, find_files, read_json
from harness.trace.run import Run, Trial

INFRASTRUCTURE = frozenset({"infrastructure_error", "unexpected_error", "user_error"})
"""Ends that say nothing of the agent: the machine's, and those of the simulated user."""


def read_tau2_bench(source: Path, model: str | None = None) -> Iterator[Run]:
    """The runs of a results file, or of every ``.json`` in a folder; raises InputError. ``model`` renames the model."""
    for path in find_files(source, (".json",)):
        document = Record(read_json(path), str(path))
        info = document.record("info")
        agent = info.record("agent_info")
        name = model or agent.demand("llm", str)
        domain = info.record("environment_info").demand("domain_name", str)
        tasks = {str(task.demand("id", (int, str))): task for task in document.records("tasks")}
        for simulation in document.records("simulations"):
            yield _run(simulation, name, domain, tasks)


def _run(simulation: Record, model: str, domain: str, tasks: Mapping[str, Record]) -> Run:
    task_id = str(simulation.demand("task_id", (int, str)))
    number = simulation.get("trial", int) or 0
    ended = simulation.get("termination_reason", str) or ""
    grading = simulation.record("reward_info")
    run = Run(f"{domain}/{task_id} #{number}", "imported", simulation.where)
    run.trial = Trial(
        f"{domain}/{task_id}",
        number,
        model,
        grading.number("reward"),
        infrastructure_error=f"the simulation ended with {ended}" if ended in INFRASTRUCTURE else None,
        cost_usd=simulation.number("agent_cost"),
        duration_s=simulation.number("duration"),
        started=simulation.get("start_time", str),
    )
    run.facts = {"model": model, "termination_reason": ended}
    if task_id in tasks:
        run.facts["reference_calls"] = _reference_calls(tasks[task_id])
    if grading.value:
        run.facts["reward_info"] = dict(grading.value)
    if (user_cost := simulation.number("user_cost")) is not None:
        run.facts["user_cost"] = user_cost
    fill_lane(run.lane("main"), _conversation(simulation, model), ended)
    return run


def _conversation(simulation: Record, model: str) -> Iterator[Said]:
    earlier: str | None = None
    for message in _single_messages(simulation):
        now = message.get("timestamp", str)
        yield _said(message, model, _seconds(earlier, now))
        earlier = now


def _single_messages(simulation: Record) -> Iterator[Record]:
    """The messages in order; several results may stand in one."""
    for message in simulation.records("messages"):
        if isinstance(message.value.get("tool_messages"), list):
            yield from message.records("tool_messages")
        else:
            yield message


def _said(message: Record, model: str, duration_s: float | None) -> Said:
    role = message.demand("role", str)
    raw = message.get("raw_data", dict)
    if role == "tool" and message.get("requestor", str) != "user":
        call_id = message.get("id", str)
        result = {"role": "tool", "tool_call_id": call_id, "content": message.value.get("content")}
        return Said(result, is_result=True, answers=call_id, failed=message.get("error", bool))
    if role == "assistant" and (raw is not None or message.value.get("tool_calls")):
        errors = message.get("errors", list) or ()
        return Said(
            _as_sent(message, raw or {}),
            by_model=True,
            model=model,
            finish_reason=(raw or {}).get("finish_reason"),
            usage=message.get("usage", dict),
            cost_usd=message.number("cost"),
            duration_s=duration_s,
            notes=tuple(str(error) for error in errors),
        )
    own = {"tool_calls": message.value["tool_calls"]} if message.value.get("tool_calls") else {}
    return Said({"role": role, "content": message.value.get("content"), **own})


def _as_sent(message: Record, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The message as the provider sent it where it was kept, else in the protocol's form."""
    kept = raw.get("message")
    calls = message.get("tool_calls", list) or []
    if isinstance(kept, Mapping) and len(kept.get("tool_calls") or ()) == len(calls):
        return {key: value for key, value in kept.items() if value is not None or key == "content"}
    sent: dict[str, Any] = {"role": "assistant", "content": message.value.get("content")}
    if calls:
        sent["tool_calls"] = [
            {
                "id": call.value.get("id"),
                "type": "function",
                "function": {
                    "name": call.value.get("name"),
                    "arguments": json.dumps(call.value.get("arguments"), ensure_ascii=False),
                },
            }
            for call in message.records("tool_calls")
        ]
    return sent


def _seconds(earlier: str | None, now: str | None) -> float | None:
    try:
        seconds = (datetime.fromisoformat(now or "") - datetime.fromisoformat(earlier or "")).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if seconds >= 0 else None


def _reference_calls(task: Record) -> list[dict[str, object]]:
    """What the task's author expects the agent to call."""
    criteria = task.record("evaluation_criteria")
    if not criteria.get("actions", list):
        return []
    return [
        {"name": action.value.get("name"), "arguments": action.value.get("arguments")}
        for action in criteria.records("actions")
        if action.value.get("requestor") != "user"
    ]
