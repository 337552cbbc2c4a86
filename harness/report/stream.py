"""What ``harness stream`` shows people: a stream event by event, and the message it makes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from harness.judge.stream import ReadAnswer
from harness.report.counts import counted
from harness.report.printing import print_line
from harness.report.text import one_line, value_text
from harness.wire.chat import Anomaly, ModelTurn
from harness.wire.deltas import Delta
from harness.wire.layers import StreamLayers

_CHARACTERS = 120
_MESSAGE_CHARACTERS = 2000
_STATUS_STYLES = {"complete": "green", "incomplete": "bold red", "truncated": "yellow", "error": "bold red"}


def print_answer(answer: ReadAnswer, console: Console, *, quiet: bool = False) -> None:
    """Print the events with their times and anomalies, then the message; ``quiet`` leaves the events out.

    Every event is one line, so that a log of it can be searched and cut. Times are seconds since the request, there
    where the recording has them.
    """
    if answer.layers is not None and not quiet:
        for line in _event_lines(answer.layers):
            print_line(console, line)
        console.print()
    for line in _message_lines(answer):
        print_line(console, line)


def _event_lines(layers: StreamLayers) -> Iterator[Text]:
    deltas: defaultdict[int, list[Delta]] = defaultdict(list)
    for delta in layers.deltas:
        deltas[delta.at].append(delta)
    anomalies: defaultdict[int, list[Anomaly]] = defaultdict(list)
    for anomaly in layers.turn.anomalies:
        anomalies[anomaly.at].append(anomaly)
    width = len(str(max(len(layers.events) - 1, 0)))
    for number in range(len(layers.events)):
        time = layers.time_of(number)
        line = Text(f"{number:>{width}}  ", "dim")
        if time is not None:
            line.append(f"{time:8.3f}s  ", "cyan")
        line.append("  ".join(map(_delta_text, deltas[number])) or "-")
        for anomaly in anomalies[number]:
            line.append(f"  ! {_anomaly_text(anomaly)}", "yellow")
        yield line


def _delta_text(delta: Delta) -> str:
    kind = delta.kind if delta.call is None else f"call {delta.call} {delta.kind}"
    if delta.kind == "done":
        return "[DONE]"
    text = repr(delta.text) if delta.kind in ("content", "arguments") else delta.text
    return f"{kind} {one_line(text, _CHARACTERS)}"


def _message_lines(answer: ReadAnswer) -> Iterator[Text]:
    turn = answer.turn
    yield Text.assemble(
        (answer.status, _STATUS_STYLES[answer.status]),
        f"  {one_line(answer.source)}: {_what_came(answer)}, finish_reason {value_text(turn.finish_reason) or 'none'}",
    )
    if turn.error is not None:
        yield Text(f"error: {one_line(value_text(turn.error.get('message', turn.error)), _MESSAGE_CHARACTERS)}", "red")
    for key, value in turn.message.items():
        if key not in ("role", "tool_calls", "function_call") and value not in (None, ""):
            yield Text(f"{one_line(key)}: {one_line(value_text(value), _MESSAGE_CHARACTERS)}")
    for number, call in enumerate(turn.tool_calls):
        name = one_line(call.name or "(no name)")
        arguments = one_line(call.arguments, _MESSAGE_CHARACTERS)
        yield Text(f"call {number}: {name} {arguments}  id {one_line(call.id or 'none')}")
    if turn.usage is not None:
        yield Text(f"usage: {one_line(value_text(turn.usage), _MESSAGE_CHARACTERS)}")
    yield from _counted_anomalies(turn, streamed=answer.layers is not None)


def _what_came(answer: ReadAnswer) -> str:
    calls = counted(len(answer.turn.tool_calls), "call")
    if answer.layers is None:
        return f"not streamed, {calls}"
    reads = f" in {counted(len(answer.layers.chunks), 'read')}" if answer.layers.chunks else ""
    return f"{counted(len(answer.layers.events), 'event')}{reads}, {calls}"


def _counted_anomalies(turn: ModelTurn, *, streamed: bool) -> Iterator[Text]:
    by_code: dict[str, list[Anomaly]] = {}
    for anomaly in turn.anomalies:
        by_code.setdefault(anomaly.code, []).append(anomaly)
    for found in by_code.values():
        where = f" at {_places(found)}" if streamed else ""
        yield Text(f"anomaly: {_anomaly_text(found[0])}{where}", "yellow")


def _places(found: Sequence[Anomaly]) -> str:
    first = f"event {found[0].at}"
    return first if len(found) == 1 else f"{first} and {counted(len(found) - 1, 'more place')}"


def _anomaly_text(anomaly: Anomaly) -> str:
    return f"{anomaly.code}: {one_line(anomaly.detail)}" if anomaly.detail else anomaly.code
