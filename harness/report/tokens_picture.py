"""A task as a picture: what each request consists of, stacked by kind over the steps; a self-contained SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from harness.measure.overhead import StepOverhead, TaskOverhead
from harness.report.text import one_line

_WIDTH, _LEFT, _RIGHT = 760, 64, 20
_TOP, _PLOT, _AXIS = 92, 260, 44
_HEIGHT = _TOP + _PLOT + _AXIS
_INNER = _WIDTH - _LEFT - _RIGHT
_WIDEST_BAR = 84
_MANY = 90
_GREY = "#444444"
# Okabe and Ito's colours, which people with any colour vision can tell apart; second, the ink that is read on them.
_COLOURS = {
    "system": ("#0072b2", "#ffffff"),
    "tools": ("#d55e00", "#ffffff"),
    "user": ("#56b4e9", "#000000"),
    "assistant": ("#009e73", "#ffffff"),
    "results": ("#f0e442", "#000000"),
    "rest": ("#999999", "#000000"),
}
_LABELS = {"user": "history: user", "assistant": "history: assistant", "results": "history: results", "rest": "rest"}
_FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


@dataclass(frozen=True, slots=True)
class _Scale:
    top: float
    slot: float

    def y(self, tokens: float) -> float:
        return _TOP + _PLOT - tokens / self.top * _PLOT

    def x(self, position: float) -> float:
        return _LEFT + position * self.slot


def task_svg(task: TaskOverhead, title: str) -> str:
    """The picture of a task; ends with a newline. A dot is what the provider reported, a triangle a broken prefix."""
    steps = task.steps
    layers = {kind: [_tokens(step, kind) for step in steps] for kind in _COLOURS}
    layers = {kind: values for kind, values in layers.items() if any(values)}
    highest = max([step.total for step in steps] + [step.step.usage.prompt or 0 for step in steps] or [1])
    ticks = _ticks(highest)
    scale = _Scale(ticks[-1], _INNER / max(len(steps), 1))
    title = one_line(title, 90)
    parts = [
        _opening(title),
        f"<rect width='{_WIDTH}' height='{_HEIGHT}' fill='#ffffff'/>",
        _text(_LEFT, 22, title, size=14, weight="600"),
        _text(_LEFT, 40, _subtitle(task), size=11, fill=_GREY),
        *_legend(layers, steps),
        *_axes(ticks, scale, len(steps)),
        *(_areas(layers, scale) if len(steps) > _MANY else _bars(layers, steps, scale)),
        *_marks(steps, scale),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _opening(title: str) -> str:
    size = f"viewBox='0 0 {_WIDTH} {_HEIGHT}' width='{_WIDTH}' height='{_HEIGHT}'"
    label = quoteattr(f"Prompt tokens by step: {title}")
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img' aria-label={label} {_FONT}>"


def _tokens(step: StepOverhead, kind: str) -> int:
    if kind == "system":
        return step.system
    if kind == "tools":
        return step.tools
    roles = {"user": "user", "assistant": "assistant", "tool": "results", "function": "results"}
    found = sum(tokens for role, tokens in step.history.items() if roles.get(role, "rest") == kind)
    return found + step.other if kind == "rest" else found


def _subtitle(task: TaskOverhead) -> str:
    steps = len(task.steps)
    requests = "1 request" if steps == 1 else f"{steps:,} requests"
    text = f"{requests}, {task.total:,} prompt tokens counted"
    if steps > 1 and task.alone:
        text += f"; without resending the history {task.alone:,}"
    return text


def _legend(layers: dict[str, list[int]], steps: Sequence[StepOverhead]) -> list[str]:
    whole = sum(step.total for step in steps) or 1
    entries = [
        (kind, f"{_LABELS.get(kind, kind)} {sum(values):,} ({_share(sum(values) / whole)})")
        for kind, values in layers.items()
    ]
    if any(step.step.usage.prompt is not None for step in steps):
        entries.append(("dot", "reported by the provider"))
    if any(step.prefix_break for step in steps):
        entries.append(("triangle", "cached prefix breaks"))
    found: list[str] = []
    x, y = float(_LEFT), 60
    for kind, label in entries:
        width = 32 + 5.9 * len(label)
        if x + width > _WIDTH - _RIGHT and x > _LEFT:
            x, y = float(_LEFT), y + 17
        if kind == "dot":
            found.append(_dot(x + 5, y - 4))
        elif kind == "triangle":
            found.append(_triangle(x + 5, y))
        else:
            found.append(f"<rect x='{x:.1f}' y='{y - 9}' width='10' height='10' fill='{_COLOURS[kind][0]}'/>")
        found.append(_text(x + 15, y, label, size=11))
        x += width
    return found


def _share(part: float) -> str:
    return "<1%" if 0 < part < 0.005 else f"{part:.0%}"


def _axes(ticks: Sequence[int], scale: _Scale, steps: int) -> list[str]:
    found = []
    for tick in ticks:
        y = scale.y(tick)
        colour = "#222222" if tick == 0 else "#e2e2e2"
        found.append(f"<line x1='{_LEFT}' y1='{y:.1f}' x2='{_WIDTH - _RIGHT}' y2='{y:.1f}' stroke='{colour}'/>")
        found.append(_text(_LEFT - 8, y + 4, f"{tick:,}", size=11, anchor="end", fill=_GREY))
    every = max(1, -(-steps // 24))
    bottom = _TOP + _PLOT
    found += [
        _text(scale.x(number - 0.5), bottom + 16, f"{number:,}", size=11, anchor="middle", fill=_GREY)
        for number in range(1, steps + 1)
        if number % every == 0 or number == 1
    ]
    found.append(
        _text(_LEFT + _INNER / 2, bottom + 36, "step (one request each)", size=11, anchor="middle", fill=_GREY)
    )
    middle = _TOP + _PLOT / 2
    rotated = f"transform='rotate(-90 14 {middle:.1f})'"
    found.append(_text(14, middle, "prompt tokens", extra=rotated, size=11, anchor="middle", fill=_GREY))
    return found


def _bars(layers: dict[str, list[int]], steps: Sequence[StepOverhead], scale: _Scale) -> list[str]:
    width = min(scale.slot * 0.78, _WIDEST_BAR)
    found = []
    for number, step in enumerate(steps):
        x = scale.x(number + 0.5) - width / 2
        base = 0
        for kind, values in layers.items():
            tokens = values[number]
            if not tokens:
                continue
            y, height = scale.y(base + tokens), tokens / scale.top * _PLOT
            fill, ink = _COLOURS[kind]
            label = f"{_LABELS.get(kind, kind)}, step {step.number}: {tokens:,} tokens"
            found.append(
                f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' fill='{fill}'>"
                f"<title>{escape(label)}</title></rect>"
            )
            if height >= 13 and width >= 6.4 * len(f"{tokens:,}"):
                found.append(
                    _text(x + width / 2, y + height / 2 + 4, f"{tokens:,}", size=10, anchor="middle", fill=ink)
                )
            base += tokens
        if width >= 6.4 * len(f"{step.total:,}"):
            found.append(
                _text(x + width / 2, scale.y(base) - 6, f"{step.total:,}", size=10, anchor="middle", weight="600")
            )
    return found


def _areas(layers: dict[str, list[int]], scale: _Scale) -> list[str]:
    """Very many steps: one shape for each kind, since bars would be thinner than a pixel."""
    found = []
    base = [0] * max(map(len, layers.values()), default=0)
    for kind, values in layers.items():
        top = [below + tokens for below, tokens in zip(base, values, strict=True)]
        upper = [f"{scale.x(n):.1f},{scale.y(v):.1f} {scale.x(n + 1):.1f},{scale.y(v):.1f}" for n, v in enumerate(top)]
        lower = [f"{scale.x(n + 1):.1f},{scale.y(v):.1f} {scale.x(n):.1f},{scale.y(v):.1f}" for n, v in enumerate(base)]
        points = " ".join([*upper, *reversed(lower)])
        label = f"{_LABELS.get(kind, kind)}: {sum(values):,} tokens"
        found.append(f"<polygon points='{points}' fill='{_COLOURS[kind][0]}'><title>{escape(label)}</title></polygon>")
        base = top
    return found


def _marks(steps: Sequence[StepOverhead], scale: _Scale) -> list[str]:
    found = []
    width = min(scale.slot * 0.78, _WIDEST_BAR)
    for number, step in enumerate(steps):
        middle = scale.x(number + 0.5)
        reported = step.step.usage.prompt
        if reported is not None:
            # Beside the bar's middle, where it covers no number.
            found.append(_dot(middle + width / 2, scale.y(reported), f"reported, step {step.number}: {reported:,}"))
        if step.prefix_break:
            broken = step.prefix_break
            label = (
                f"step {step.number}: {broken.kind} changed at {broken.where}, {broken.tokens_after:,} tokens after it"
            )
            found.append(_triangle(middle - width / 2, scale.y(0) + 9, label))
    return found


def _dot(x: float, y: float, label: str = "") -> str:
    title = f"<title>{escape(one_line(label))}</title>" if label else ""
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.2' fill='#000000' stroke='#ffffff'>{title}</circle>"


def _triangle(x: float, y: float, label: str = "") -> str:
    title = f"<title>{escape(one_line(label))}</title>" if label else ""
    points = f"{x - 5:.1f},{y:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y - 9:.1f}"
    return f"<polygon points='{points}' fill='#cc0033' stroke='#ffffff'>{title}</polygon>"


def _ticks(highest: int) -> list[int]:
    """Round numbers from 0 to at least the highest value, about five of them, with room for a number above a bar."""
    wanted = max(highest * 1.06, 1)
    unit = 1
    while unit * 50 < wanted:
        unit *= 10
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 5 >= wanted)
    return [step * number for number in range(int(-(-wanted // step)) + 1)]


def _text(
    x: float, y: float, text: str, *, size: int, anchor: str = "start", fill: str = "#111111", weight: str = "",
    extra: str = "",
) -> str:  # fmt: skip
    bold = f" font-weight='{weight}'" if weight else ""
    more = f" {extra}" if extra else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' fill='{fill}'{bold}{more}>"
        f"{escape(text)}</text>"
    )
