"""What a report of tokens says, as tables of texts that a terminal and a Markdown file are drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from harness.judge.tokens import Measured
from harness.measure.against import Against
from harness.measure.overhead import TaskOverhead
from harness.measure.prices import Bill
from harness.report.counts import counted
from harness.report.sections import Section

_SHOWN_TEXT = 90


def headline(measured: Measured) -> str:
    """One line: all prompt tokens, and how they divide."""
    if measured.is_empty:
        return "nothing was collected"
    if not measured.tasks and not measured.definitions:
        return "no chat requests to count"
    if not measured.tasks:
        tokens = sum(tools.tokens for _, tools in measured.definitions)
        names = sum(len(tools.count.tools) for _, tools in measured.definitions)
        return f"{tokens:,} tokens in each request for {counted(names, 'tool definition')}"
    steps = measured.own_steps
    total = sum(step.total for step in steps) or 1
    parts = [
        f"{label} {tokens:,} ({tokens / total:.0%})"
        for label, tokens in (
            ("system", sum(step.system for step in steps)),
            ("tools", sum(step.tools for step in steps)),
            ("history", sum(step.history_tokens for step in steps)),
        )
    ]
    requests, tasks = counted(len(steps), "request"), counted(len(measured.tasks), "task")
    return f"{sum(step.total for step in steps):,} prompt tokens in {requests} of {tasks}: {', '.join(parts)}"


def remarks(measured: Measured) -> list[str]:
    """How far the figures can be trusted, and what they cost."""
    steps = measured.own_steps
    found: list[str] = []
    if steps:
        reported = [step for step in steps if step.step.usage.prompt is not None]
        line = (
            f"reported by the provider: {sum(step.step.usage.prompt or 0 for step in reported):,}"
            if reported
            else "reported by the provider: nothing"
        )
        missing = len(steps) - len(reported)
        found.append(line + (f" ({counted(missing, 'request')} without usage)" if missing else ""))
        estimates = sum(step.step.count.estimate for step in steps)
        if estimates:
            reasons = dict.fromkeys(reason for step in steps for reason in step.step.count.reasons)
            some = "; ".join(list(reasons)[:3])
            found.append(f"{estimates:,} of {counted(len(steps), 'request')} counted as an estimate: {some}")
        found += _calibrated(measured)
        found.append(price_text(measured.bill))
    undescribed = [tool.name for tool in measured.tools if not tool.described]
    if undescribed:
        shown = ", ".join(undescribed[:8]) + (" …" if len(undescribed) > 8 else "")
        found.append(f"{counted(len(undescribed), 'tool')} without a description: {shown}")
    left_out = sum(len(session.left_out) for session in measured.sessions)
    if left_out:
        found.append(f"{counted(left_out, 'exchange')} left out: error answers, or no readable request")
    found += [f"not read: {line}" for line in measured.unreadable]
    return found


def price_text(bill: Bill) -> str:
    """The price in words."""
    unknown = ", ".join(sorted(bill.unpriced or {}))
    if not bill.priced:
        return f"no price known for {unknown}" if unknown else "nothing to price"
    line = f"price: {dollars(bill.total)} (of it prompts {dollars(bill.input)})"
    if bill.estimates:
        line += f", {bill.estimates:,} of {counted(bill.priced, 'request')} without reported usage"
    return line + (f"; no price known for {unknown}" if unknown else "")


def dollars(amount: float) -> str:
    """Dollars with as many digits as tell something."""
    return f"${amount:,.2f}" if amount >= 10 else f"${amount:.4f}"


def tools_section(measured: Measured) -> Section:
    """Every tool with its cost, the most expensive first."""
    tools = measured.tools
    section = Section("Tools", ("tool", "tokens", "description", "sent", "called", "tokens sent", "unused"))
    for tool in tools:
        numbers = (
            tool.tokens, tool.description_tokens, tool.sent, tool.called, tool.sent_tokens, tool.unused_tokens
        )  # fmt: skip
        # Bare definitions of several files can share names.
        name = f"{tool.name} ({PurePath(tool.file).name})" if tool.file and len(measured.definitions) > 1 else tool.name
        section.rows.append((name, *(f"{number:,}" for number in numbers)))
    unused = [tool for tool in tools if tool.sent and not tool.called]
    sent = sum(tool.sent_tokens for tool in tools)
    spent = sum(tool.unused_tokens for tool in tools)
    if sent:
        section.notes.append(
            f"{spent:,} of {sent:,} tokens ({spent / sent:.0%}) were sent in tasks that never called the tool"
        )
    if unused:
        names = ", ".join(tool.name for tool in unused[:12]) + (" …" if len(unused) > 12 else "")
        section.notes.append(f"never called at all: {names}")
    largest = sorted(tools, key=lambda tool: -tool.description_tokens)[:3]
    if largest and largest[0].description_tokens:
        names = ", ".join(f"{tool.name} {tool.description_tokens:,}" for tool in largest if tool.description_tokens)
        section.notes.append(f"largest descriptions: {names}")
    return section


def definitions_section(measured: Measured) -> Section:
    """The definitions that were given by themselves."""
    rows: list[tuple[str, ...]] = [
        (file, f"{len(tools.count.tools):,}", f"{tools.tokens:,}", f"{tools.json_bytes:,}")
        for file, tools in measured.definitions
    ]
    return Section("Definitions", ("file", "tools", "tokens per request", "bytes of JSON"), rows)


def tasks_section(measured: Measured) -> Section:
    """A row a task."""
    section = Section(
        "Tasks",
        ("task", "file", "model", "steps", "tokens", "tools", "share", "unused", "alone", "price"),
        left=3,
    )
    for number, (task, bill) in enumerate(zip(measured.tasks, measured.bills, strict=True), 1):
        section.rows.append(
            (
                str(number),
                task.task.file,
                task.steps[-1].step.model or "",
                f"{len(task.steps):,}",
                f"{task.total:,}",
                f"{task.tools_tokens:,}",
                f"{task.tools_tokens / task.total:.0%}" if task.total else "",
                f"{task.unused_tokens:,}",
                f"{task.alone:,}",
                dollars(bill.total) if bill.priced else "",
            )
        )
    section.notes.append("alone: what as many single requests would cost, each with its own new messages only")
    return section


def steps_section(number: int, task: TaskOverhead) -> Section:
    """A row a step, and what the task as a whole shows."""
    columns = (
        "step",
        "system",
        "tools",
        "share",
        "history",
        "new",
        "total",
        "reported",
        "cumulated",
        "alone",
        "calls",
        "prefix",
    )
    section = Section(f"Task {number}: {task.task.file}", columns, left=0, wrapped=("prefix",))
    for step in task.steps:
        usage = step.step.usage
        numbers = (step.history_tokens, step.new, step.total)
        section.rows.append(
            (
                str(step.number),
                f"{step.system:,}",
                f"{step.tools:,}",
                f"{step.tools_share:.0%}",
                *(f"{value:,}" for value in numbers),
                "" if usage.prompt is None else f"{usage.prompt:,}",
                f"{step.cumulated:,}",
                f"{step.alone:,}",
                str(len(step.step.calls) or ""),
                ""
                if step.prefix_break is None
                else f"{step.prefix_break.kind}: {step.prefix_break.tokens_after:,} after",
            )
        )
    section.notes += list(_task_notes(task))
    return section


def against_section(against: Against) -> Section:
    """What a change of definitions costs, tool by tool."""
    section = Section("Change of the definitions", ("tool", "what", "before", "after", "more"), left=2)
    for change in sorted(against.changes, key=lambda change: (-abs(change.delta), change.name)):
        sizes = ("" if tokens is None else f"{tokens:,}" for tokens in (change.before, change.after))
        section.rows.append((change.name, change.status, *sizes, f"{change.delta:+,}"))
    before, after = against.before, against.after
    section.rows.append(("all", "", f"{before.tokens:,}", f"{after.tokens:,}", f"{against.delta:+,}"))
    section.notes.append(f"JSON: {before.json_bytes:,} bytes before, {after.json_bytes:,} after")
    for side, tools in (("before", before), ("after", after)):
        if tools.sets > 1:
            section.notes.append(f"{side}: the most sent of {tools.sets} different sets")
    if against.tasks:
        deltas = [task.delta for task in against.tasks]
        requests = sum(task.requests for task in against.tasks)
        mean = sum(deltas) / len(deltas)
        section.notes.append(
            f"per request {against.delta:+,}; per task {mean:+,.0f} on average ({min(deltas):+,} to {max(deltas):+,}); "
            f"{sum(deltas):+,} over {counted(requests, 'request')} of {counted(len(deltas), 'task')}"
        )
    return section


def repeated_section(measured: Measured) -> Section:
    """What stands both in the system prompt and in a tool."""
    found: dict[tuple[str, str], list[int]] = {}
    for task in measured.tasks:
        for one in task.repeated:
            entry = found.setdefault((one.tool, one.text), [one.tokens, 0])
            entry[1] += one.sent
    section = Section("In the system prompt and in a tool", ("tool", "text", "tokens", "sent", "tokens sent"), left=2)
    for (tool, text), (tokens, sent) in sorted(found.items(), key=lambda item: -item[1][0] * item[1][1]):
        shown = text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}…"
        section.rows.append((tool, shown, f"{tokens:,}", f"{sent:,}", f"{tokens * sent:,}"))
    return section


def _task_notes(task: TaskOverhead) -> Iterable[str]:
    steps = len(task.steps)
    if steps > 1 and task.alone:
        yield (
            f"{task.total:,} tokens for {steps:,} steps; {counted(steps, 'single request')} without the history before "
            f"them: {task.alone:,} ({_more(task.total / task.alone)})"
        )
    if task.task.told:
        yield f"branches off another task: the first {counted(task.task.told, 'step')} are counted there"
    unused = [tool for tool in task.tools if tool.sent and tool.unused_tokens]
    if unused:
        names = ", ".join(f"{tool.name} {tool.unused_tokens:,}" for tool in unused[:8]) + (
            " …" if len(unused) > 8 else ""
        )
        yield f"sent and never called ({task.unused_tokens:,} tokens): {names}"
    trips = sum(turn.round_trips for turn in task.parallel)
    if trips:
        saved = sum(turn.saved_tokens for turn in task.parallel)
        yield f"parallel calls saved {counted(trips, 'round trip')} and about {saved:,} prompt tokens"
    escaping = sum(turn.escaping_total for turn in task.parallel)
    if escaping:
        yield f"non-ASCII results of parallel calls cost {escaping:,} tokens more, because they are escaped"
    not_counted = dict.fromkeys(what for step in task.steps for what in step.step.count.not_counted)
    if not_counted:
        yield f"not counted: {', '.join(list(not_counted)[:6])}{' …' if len(not_counted) > 6 else ''}"


def _more(ratio: float) -> str:
    return f"{ratio:.1f} times as many together" if ratio >= 2 else f"{ratio - 1:.1%} more together"


def _calibrated(measured: Measured) -> list[str]:
    """How far the reports of other providers let their own counts be guessed."""
    errors = [line.error for line in measured.calibrations().values() if line.error is not None]
    if not errors:
        return []
    spread = f"{min(errors):.1%} to {max(errors):.1%}"
    models = counted(len(errors), "model")
    what = "tokenizers that are not known, calibrated on the reports of the same file"
    return [f"{what}: off by {spread} ({models} with two reports or more; the tables show the plain count)"]
