"""``harness tokens``: paths measured, and what is said of them as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness.errors import InputError
from harness.judge.suite import collect
from harness.measure.against import Against, ToolSet, compare_tools, sent_tools, tool_set
from harness.measure.calibrate import Calibration, calibrate
from harness.measure.encodings import encoding_for
from harness.measure.overhead import StepOverhead, TaskOverhead, ToolUse, measure_task, tools_over
from harness.measure.prices import Bill, bill
from harness.measure.sources import RUN_FILE, Definitions, Source, is_registry_name, read_file, read_registry
from harness.measure.task import Session


@dataclass(slots=True)
class Measured:
    """Everything that was counted: sessions with their tasks, bare definitions, and files that could not be read."""

    sessions: list[Session] = field(default_factory=list)
    tasks: list[TaskOverhead] = field(default_factory=list)
    bills: list[Bill] = field(default_factory=list)
    definitions: list[tuple[str, ToolSet]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    against: Against | None = None

    @property
    def tools(self) -> list[ToolUse]:
        """All tools, most tokens sent first; those of bare definitions, with their file, were sent 0 times."""
        found = tools_over(self.tasks)
        found += [
            ToolUse(tool.name, tool.tokens, tool.description_tokens, described=tool.description_tokens > 0, file=file)
            for file, definitions in self.definitions
            for tool in definitions.count.tools
        ]
        return sorted(found, key=lambda tool: (-tool.sent_tokens, -tool.tokens, tool.name))

    @property
    def own_steps(self) -> list[StepOverhead]:
        """Every exchange that was measured, once."""
        return [step for task in self.tasks for step in task.own_steps]

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to count in."""
        return not self.sessions and not self.definitions

    def calibrations(self) -> dict[tuple[str, str], Calibration]:
        """For each file and model whose tokenizer is not known: the line from counted to reported tokens."""
        pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
        for task in self.tasks:
            for step in task.own_steps:
                model, prompt = step.step.model, step.step.usage.prompt
                # What images cost is no property of the tokenizer.
                if model and prompt and not step.step.count.not_counted and encoding_for(model).reason:
                    pairs.setdefault((task.task.file, model), []).append((step.total, prompt))
        return {key: found for key, given in pairs.items() if (found := calibrate(given)) is not None}

    @property
    def bill(self) -> Bill:
        """What all of it costs."""
        return bill(step.step for step in self.own_steps)

    def document(self) -> dict[str, object]:
        """What ``harness tokens --json`` prints."""
        lines = self.calibrations()
        document: dict[str, object] = {
            "exchanges": [
                _exchange(task, step, lines.get((task.task.file, step.step.model or "")))
                for task in self.tasks
                for step in task.own_steps
            ],
            "tools": [asdict(tool) for tool in self.tools],
            "totals": self.totals(),
            "tasks": [_task(task, price) for task, price in zip(self.tasks, self.bills, strict=True)],
            "definitions": [
                {"file": file, "tools": len(tools.count.tools), "tokens": tools.tokens, "json_bytes": tools.json_bytes,
                 "estimate": tools.count.estimate, "reasons": list(tools.count.reasons)}
                for file, tools in self.definitions
            ],
            "left_out": [
                {"file": session.file, "index": one.exchange, "why": one.why}
                for session in self.sessions
                for one in session.left_out
            ],
            "unreadable": self.unreadable,
        }  # fmt: skip
        if self.against is not None:
            document["against"] = self.against.document()
        return document

    def totals(self) -> dict[str, object]:
        """The sums; what no answer reported is missing, and ``without_usage`` says how many those are."""
        steps = self.own_steps
        counted = sum(step.total for step in steps)
        recorded = [step.step.usage.prompt for step in steps if step.step.usage.prompt is not None]
        tools = sum(step.tools for step in steps)
        return {
            "files": len(self.sessions) + len(self.definitions),
            "tasks": len(self.tasks),
            "exchanges": len(steps),
            "recorded_prompt_tokens": sum(recorded) if recorded else None,
            "without_usage": len(steps) - len(recorded),
            "counted_prompt_tokens": counted,
            "estimates": sum(step.step.count.estimate for step in steps),
            "system_tokens": sum(step.system for step in steps),
            "tools_tokens": tools,
            "history_tokens": sum(step.history_tokens for step in steps),
            "tools_share": round(tools / counted, 4) if counted else None,
            "unused_tokens": sum(task.unused_tokens for task in self.tasks),
            "definitions_tokens": sum(definitions.tokens for _, definitions in self.definitions),
            "price": self.bill.document(),
        }


def measure_paths(paths: Sequence[str], against: str | None = None) -> Measured:
    """Count cassettes, saved runs, folders of them, tool definitions and registries; compare with ``against``.

    A named file that cannot be read raises InputError; one found in a folder is told of in ``unreadable``.
    """
    measured = Measured()
    for path in paths:
        for source in _sources(path, measured.unreadable):
            _take(source, measured)
    if against is not None:
        before = Measured()
        for source in _sources(against, measured.unreadable):
            _take(source, before)
        old, new = _tools_of(before, against), _tools_of(measured, ", ".join(paths))
        tasks = [task.task for task in (measured.tasks or before.tasks)]
        measured.against = compare_tools(old, new, tasks)
    return measured


def _sources(path: str, unreadable: list[str]) -> Iterator[Source]:
    file = Path(path)
    if not file.exists() and is_registry_name(path):
        yield read_registry(path)
    elif file.is_dir() and not (file / RUN_FILE).is_file():
        yield from _folder(file, unreadable)
    elif file.exists():
        yield read_file(file, path)
    else:
        raise InputError("no such file or folder", where=path)


def _folder(folder: Path, unreadable: list[str]) -> Iterator[Source]:
    files = [run.parent for run in sorted(folder.rglob(RUN_FILE))]
    runs = set(files)
    files += [item.path for item in collect([folder], ["replay"]) if item.path.parent not in runs]
    for file in files:
        try:
            yield read_file(file)
        except InputError as error:
            unreadable.append(str(error))


def _take(source: Source, measured: Measured) -> None:
    if isinstance(source, Definitions):
        measured.definitions.append((source.file, tool_set(source.tools)))
        return
    measured.sessions.append(source)
    for task in source.tasks:
        # A branch that adds no step of its own would only repeat another task.
        if task.own_steps:
            measured.tasks.append(measure_task(task))
            measured.bills.append(bill(task.own_steps))


def _tools_of(measured: Measured, where: str) -> ToolSet:
    found = sent_tools(task.task for task in measured.tasks)
    if found is None and measured.definitions:
        found = tool_set([tool for _, definitions in measured.definitions for tool in definitions.tools])
    if found is None:
        raise InputError("no tools in it to compare", where=where)
    return found


def _exchange(task: TaskOverhead, step: StepOverhead, line: Calibration | None) -> dict[str, object]:
    count, usage = step.step.count, step.step.usage
    return {
        "file": task.task.file,
        "index": step.step.exchange,
        "model": step.step.model,
        "recorded_prompt_tokens": usage.prompt,
        "counted_prompt_tokens": count.total,
        "estimate": count.estimate,
        "not_counted": list(count.not_counted),
        "tools_tokens": step.tools,
        "system_tokens": step.system,
        "history_tokens": step.history_tokens,
        "task": task.task.number,
        "step": step.number,
        "reasons": list(count.reasons),
        "encoding": count.encoding,
        "calibrated_prompt_tokens": line.total(count) if line else None,
        "calibration_error": round(line.error, 4) if line and line.error is not None else None,
        "history": dict(step.history),
        "other_tokens": step.other,
        "new_tokens": step.new,
        "alone_tokens": step.alone,
        "cumulated_tokens": step.cumulated,
        "tools_share": round(step.tools_share, 4),
        "recorded_cached_tokens": usage.cached,
        "recorded_completion_tokens": usage.output,
        "recorded_reasoning_tokens": usage.reasoning,
        "calls": [call.name for call in step.step.calls],
        "results": step.step.results,
        "prefix_break": asdict(step.prefix_break) if step.prefix_break else None,
    }


def _task(task: TaskOverhead, price: Bill) -> dict[str, object]:
    return {
        "file": task.task.file,
        "task": task.task.number,
        "steps": len(task.steps),
        "steps_of_another_task": task.task.told,
        "counted_prompt_tokens": task.total,
        "alone_tokens": task.alone,
        "tools_tokens": task.tools_tokens,
        "unused_tokens": task.unused_tokens,
        "unused_tools": [tool.name for tool in task.tools if tool.sent and not tool.called and tool.unused_tokens],
        "price": price.document(),
        "parallel": [
            {**asdict(turn), "step": turn.step + 1, "escaping_total": turn.escaping_total} for turn in task.parallel
        ],
        "repeated_in_system_and_tools": [asdict(one) for one in task.repeated],
    }
