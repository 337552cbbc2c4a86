"""Pictures of the page as inline SVG; colours come from its style sheet, so that they follow the theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

_WIDTH = 640
_LABEL = 190
_ROW = 26


def share_bar(parts: Sequence[tuple[str, str, int]], label: str) -> Markup:
    """One bar of ``(class, name, number)`` parts, as wide as the numbers; empty where all are 0."""
    total = sum(number for _, _, number in parts)
    if not total:
        return Markup("")
    shapes = []
    x = 0.0
    for kind, name, number in parts:
        width = number / total * _WIDTH
        if not number:
            continue
        title = f"{name}: {number:,} ({number / total:.0%})"
        shapes.append(
            Markup('<rect class="{}" x="{:.1f}" y="0" width="{:.1f}" height="14"><title>{}</title></rect>').format(
                kind, x, width, title
            )
        )
        x += width
    return _picture("bar", f"0 0 {_WIDTH} 14", label, shapes, stretch=True)


def intervals(rows: Sequence[tuple[str, float, float, float]], label: str) -> Markup:
    """A row for each ``(name, value, low, high)``, all between 0 and 1: a dot and the line of its interval."""
    height = len(rows) * _ROW + 24
    left, wide = _LABEL, _WIDTH - _LABEL - 60
    shapes = []
    for tick in range(0, 101, 25):
        x = left + wide * tick / 100
        shapes.append(
            Markup('<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="4" y2="{1}"/>').format(x, height - 20)
            + Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                x, height - 6, f"{tick / 100:g}"
            )
        )
    for row, (name, value, low, high) in enumerate(rows):
        y = row * _ROW + _ROW / 2 + 4
        title = f"{name}: {value:.3f} ({low:.3f} to {high:.3f})"
        shapes.append(
            Markup("<g><title>{}</title>").format(title)
            + Markup('<text x="0" y="{:.1f}">{}</text>').format(y + 4, name if len(name) <= 28 else f"{name[:27]}…")
            + Markup('<line class="range m{4}" x1="{0:.1f}" x2="{1:.1f}" y1="{2:.1f}" y2="{3:.1f}"/>').format(
                left + low * wide, left + high * wide, y, y, row % 6
            )
            + Markup('<circle class="m{}" cx="{:.1f}" cy="{:.1f}" r="5"/>').format(row % 6, left + value * wide, y)
            + Markup('<text x="{:.1f}" y="{:.1f}">{}</text></g>').format(left + wide + 12, y + 4, f"{value:.3f}")
        )
    return _picture("plot", f"0 0 {_WIDTH} {height}", label, shapes)


def curves(rows: Mapping[str, Sequence[tuple[int, float]]], label: str, axis: str) -> Markup:
    """A line for each name through its ``(k, value)`` points, values between 0 and 1."""
    last = max((k for points in rows.values() for k, _ in points), default=1)
    left, top, wide, high = 40, 10, _WIDTH - 60, 170
    shapes = []
    for tick in range(0, 101, 25):
        y = top + high * (1 - tick / 100)
        shapes.append(
            Markup('<line class="grid" x1="{0}" x2="{1}" y1="{2:.1f}" y2="{2:.1f}"/>').format(left, left + wide, y)
            + Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
                left - 6, y + 4, f"{tick / 100:g}"
            )
        )
    shapes += [
        Markup('<text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
            _place(k, last, left, wide), top + high + 18, f"{axis}{k}"
        )
        for k in range(1, last + 1)
    ]
    for number, (name, points) in enumerate(rows.items()):
        placed = [(_place(k, last, left, wide), top + high * (1 - value), k, value) for k, value in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in placed)
        shapes.append(Markup('<polyline class="curve m{}" points="{}"/>').format(number % 6, line))
        for x, y, k, value in placed:
            title = f"{name}, {axis}{k}: {value:.3f}"
            shapes.append(
                Markup('<circle class="m{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>').format(
                    number % 6, x, y, title
                )
            )
    return _picture("plot", f"0 0 {_WIDTH} {top + high + 26}", label, shapes)


def _place(k: int, last: int, left: float, wide: float) -> float:
    return left + 20 + (wide - 40) * ((k - 1) / (last - 1) if last > 1 else 0.5)


def _picture(kind: str, box: str, label: str, shapes: Sequence[Markup], *, stretch: bool = False) -> Markup:
    ratio = Markup(' preserveAspectRatio="none"') if stretch else Markup("")
    return Markup('<svg class="{}" viewBox="{}" role="img" aria-label="{}"{}>{}</svg>').format(
        kind, box, label, ratio, Markup("").join(shapes)
    )
