"""A run as the page draws it: lanes of steps, with batches, gates, truncations and drift at their places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from harness.measure.spending import Spending
from harness.report.html.messages import answer_document, message_documents, request_of, said_before
from harness.report.html.texts import Texts
from harness.report.text import one_line, value_text
from harness.trace.run import CallRecord, Lane, Run, Step
from harness.wire.exchange import RequestParts

_Events = Mapping[tuple[str, int], list[Mapping[str, Any]]]
_TOLD = frozenset({"request", "turn", "plan", "batch", "gate", "result", "truncation", "sub_agent", "drift", "error"})
"""Events that stand at a place of their own in the picture of a step; any other is listed as it is."""


def run_document(run: Run, spending: Mapping[int, Spending], texts: Texts) -> dict[str, Any]:
    """The run for the page. ``spending`` says by the position of an exchange what its prompt consists of."""
    by_step: defaultdict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for event in run.events:
        by_step[str(event.get("lane")), event.get("step", 0)].append(event)
    toolsets = _Toolsets(texts)
    document: dict[str, Any] = {"lanes": [_lane(run, lane, by_step, toolsets, texts) for lane in run.lanes]}
    for lane, drawn in zip(run.lanes, document["lanes"], strict=True):
        for step, entry in zip(lane.steps, drawn["steps"], strict=True):
            if step.exchange is not None and step.exchange in spending:
                entry["tokens"] = spending[step.exchange].document()
    document["tools"] = toolsets.documents
    facts = {key: texts.add(value_text(value)) for key, value in run.facts.items()}
    if facts:
        document["facts"] = {one_line(key): text for key, text in facts.items()}
    return document


class _Toolsets:
    """The arrays of tools that a run's requests offered, each once."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._numbers: dict[tuple[tuple[str, ...], int | None], int] = {}
        self.documents: list[dict[str, Any]] = []

    def number(self, step: Step, request: RequestParts | None) -> int | None:
        tools = request.tools if request is not None else None
        definitions = self._texts.add("\n".join(value_text(tool) for tool in tools)) if tools else None
        if not step.tools and definitions is None:
            return None
        key = (step.tools, definitions)
        if key not in self._numbers:
            self._numbers[key] = len(self.documents)
            names = [one_line(name) for name in step.tools]
            self.documents.append({"names": names, **({} if definitions is None else {"text": definitions})})
        return self._numbers[key]


def _lane(run: Run, lane: Lane, events: _Events, toolsets: _Toolsets, texts: Texts) -> dict[str, Any]:
    steps = []
    before: Step | None = None
    for step in lane.steps:
        document = _step(step, events.get((lane.name, step.index), ()), texts)
        request = request_of(run, step)
        if said := message_documents(said_before(step, before, request), texts):
            document["before"] = said
        if (tools := toolsets.number(step, request)) is not None:
            document["tools"] = tools
        steps.append(document)
        before = step
    document = {"name": one_line(lane.name), "outcome": one_line(lane.outcome), "steps": steps}
    if lane.reason:
        document["reason"] = texts.add(lane.reason)
    if lane.after:
        document["after"] = message_documents(lane.after, texts)
    behind = [event for event in events.get((lane.name, len(lane.steps)), ()) if event.get("event") == "miss"]
    if behind:
        document["miss"] = texts.add(str(behind[0].get("text", "")))
    return document


def _step(step: Step, events: Iterable[Mapping[str, Any]], texts: Texts) -> dict[str, Any]:
    events = list(events)
    by_call: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for event in events:
        if isinstance(event.get("call"), str):
            by_call[event["call"]].append(event)
    document: dict[str, Any] = {
        "model": one_line(step.model or ""),
        "sent": step.messages_sent,
        "finish": one_line(step.finish_reason or ""),
        "status": step.status,
        **answer_document(step.message, texts),
        "calls": [_call(call, by_call.get(call.id, ()), texts) for call in step.calls],
        "batches": _batches(step, events),
    }
    optional: dict[str, Any] = {
        "usage": _usage(step.usage),
        "error": texts.add(step.error) if step.error else None,
        "anomalies": [[one_line(str(entry.get(key, ""))) for key in ("code", "at", "detail")]
                      for entry in step.anomalies],
        "notes": [texts.add(note) for note in step.notes],
        "drift": [_drift(event, texts) for event in events if event.get("event") == "drift"],
        "events": [_other_event(event) for event in events if event.get("event") not in (*_TOLD, "miss")],
        "seconds": step.duration_s,
        "usd": step.cost_usd,
    }  # fmt: skip
    document |= {key: value for key, value in optional.items() if value not in (None, [], "")}
    return {key: value for key, value in document.items() if value not in ("", [])}


def _batches(step: Step, events: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """Each batch as whether its calls ran side by side, and their positions in the step.

    A call in no batch, as in imported runs, stands alone.
    """
    concurrent = [bool(event.get("concurrent")) for event in events if event.get("event") == "batch"]
    members: dict[int | str, list[int]] = {}
    for position, call in enumerate(step.calls):
        members.setdefault(f"alone {position}" if call.batch is None else call.batch, []).append(position)
    found: list[list[Any]] = []
    for batch, positions in members.items():
        known = isinstance(batch, int) and batch < len(concurrent)
        found.append([concurrent[batch] if known and isinstance(batch, int) else len(positions) > 1, positions])
    return found


def _call(call: CallRecord, events: Iterable[Mapping[str, Any]], texts: Texts) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": one_line(call.id),
        "name": one_line(call.name),
        "arguments": texts.add(value_text(call.arguments)),
        "status": call.status,
        "result": texts.add(call.observation or ""),
    }
    if call.batch is not None:
        document["safe"] = call.concurrency_safe
    if not call.executed:
        document["executed"] = False
    if call.error_code:
        document["code"] = call.error_code
    if call.received_id != call.id:
        document["received"] = one_line(call.received_id or "")
    if call.parse_error:
        document["problem"] = texts.add(call.parse_error)
    if call.full_result is not None:
        document["full"] = texts.add(call.full_result)
    lists: dict[str, list[list[Any]]] = {"gates": [], "cuts": []}
    for event in events:
        kind = event.get("event")
        if kind == "gate":
            lists["gates"].append([one_line(str(event.get(key, "")), 400) for key in ("gate", "outcome", "reason")])
        elif kind == "truncation":
            lists["cuts"].append([event.get(key) for key in ("layer", "bytes_before", "bytes_after")])
        elif kind == "sub_agent":
            document["lane"] = one_line(str(event.get("sub_lane", "")))
        elif kind == "plan" and event.get("received_name") is not None:
            document["received_name"] = one_line(str(event["received_name"]))
    return document | {key: value for key, value in lists.items() if value}


def _drift(event: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    document: dict[str, Any] = {
        "class": one_line(str(event.get("class", ""))),
        "path": one_line(str(event.get("path", ""))),
        "why": texts.add(str(event.get("why", ""))),
    }
    if event.get("allowed"):
        document["allowed"] = True
    for key in ("recorded", "present"):
        if event.get(key) is not None:
            document[key] = texts.add(str(event[key]))
    return document


def _other_event(event: Mapping[str, Any]) -> str:
    kind = str(event.get("event", "event"))
    rest = {key: value for key, value in event.items() if key not in ("lane", "step", "event")}
    return one_line(f"{kind}: {', '.join(f'{key} {value_text(value)}' for key, value in rest.items())}", 400)


def _usage(usage: Mapping[str, Any] | None) -> list[int | None] | None:
    """Prompt, cached and completion tokens as recorded."""
    if usage is None:
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else None
    values = [usage.get("prompt_tokens"), cached, usage.get("completion_tokens")]
    numbers = [value if isinstance(value, int) and not isinstance(value, bool) else None for value in values]
    return numbers if any(value is not None for value in numbers) else None
