"""The comparison of models as the page shows it, from the document that ``harness compare --json`` prints.

Only the keys of the contract are demanded; everything else that the document says is shown under its own name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from harness.errors import InputError
from harness.report.html.pictures import curves, intervals, share_bar
from harness.report.text import one_line, value_text, visible

Document = Mapping[str, Any]

_MODEL_KEYS = ("model", "tasks", "trials", "pass_hat_k", "pass_at_k", "interval")
_PAIR_KEYS = (
    "a", "b", "both", "only_a", "only_b", "neither", "p_value", "conclusion", "sentence", "resources", "differing",
)  # fmt: skip
_OUTCOMES = ("a", "b")
_SHORT = 40
_SHARES = ("share", "rate")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the first column is each row's name."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Extra:
    """Something beyond the contract: a text, a list of texts, or a table."""

    name: str
    text: str = ""
    items: tuple[str, ...] = ()
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How often a model passed a task, and the case of its first trial where that is on the page."""

    text: str
    case: int | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models on the same tasks; ``differing`` are the tasks that only one of them passed."""

    a: str
    b: str
    conclusion: str
    sentence: str
    counts: tuple[tuple[str, str], ...]
    picture: Markup
    resources: Table | None
    differing: tuple[tuple[str, Outcome, Outcome], ...]
    extras: tuple[Extra, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything on the comparison's part of the page."""

    models: Table
    legend: tuple[str, ...]
    passed: Markup
    trials: Markup
    pairs: tuple[Pair, ...]
    extras: tuple[Extra, ...] = field(default=())


def comparison_of(document: Document, run_folders: Sequence[str] = ()) -> Comparison:
    """The page's view of a comparison; raises InputError for a document that is none.

    ``run_folders`` are those of the page's cases, in their order: tasks that differ lead to them.
    """
    numbers = {str(Path(folder).resolve()): number for number, folder in enumerate(run_folders) if folder}
    try:
        models = [dict(entry) for entry in document["models"]]
        pairs = tuple(_pair(dict(entry), numbers) for entry in document["pairs"])
        passed = [
            (one_line(str(entry["model"])), float(entry["pass_hat_k"]["1"]), *_range(entry["interval"]))
            for entry in models
            if entry["pass_hat_k"].get("1") is not None and entry["interval"] is not None
        ]
        rising = {one_line(str(entry["model"])): _points(entry["pass_hat_k"]) for entry in models}
        table = _models(models)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this is no comparison: {type(error).__name__}: {error}") from error
    several = any(len(points) > 1 for points in rising.values())
    return Comparison(
        models=table,
        legend=tuple(rising),
        passed=intervals(passed, "Share of tasks passed by model, with its interval") if passed else Markup(""),
        trials=curves(rising, "Share of tasks passed in all of k trials, by model", "pass^") if several else Markup(""),
        pairs=pairs,
        extras=tuple(_extra(key, value) for key, value in document.items() if key not in ("models", "pairs")),
    )


def _models(models: Sequence[Mapping[str, Any]]) -> Table:
    powers = _keys(entry["pass_hat_k"] for entry in models)
    at = _keys(entry.get("pass_at_k") or {} for entry in models)
    others = [key for key in _keys(models) if key not in _MODEL_KEYS]
    columns = (
        "model", "tasks", "trials", *(f"pass^{k}" for k in powers), "interval of pass^1",
        *(f"pass@{k}" for k in at), *(_label(key) for key in others),
    )  # fmt: skip
    rows = tuple(
        (
            one_line(str(entry["model"])),
            _number(entry["tasks"]),
            _number(entry["trials"]),
            *(_number(entry["pass_hat_k"].get(k)) for k in powers),
            _number(entry["interval"]),
            *(_number((entry.get("pass_at_k") or {}).get(k)) for k in at),
            *(_number(entry.get(key), key) for key in others),
        )
        for entry in models
    )
    return Table(columns, rows)


def _pair(entry: dict[str, Any], numbers: Mapping[str, int]) -> Pair:
    a, b = one_line(str(entry["a"])), one_line(str(entry["b"]))
    parts = [
        ("both", "both passed", entry["both"]),
        ("only-a", f"only {a} passed", entry["only_a"]),
        ("only-b", f"only {b} passed", entry["only_b"]),
        ("neither", "neither passed", entry["neither"]),
    ]
    counts = [(name, _number(number)) for _, name, number in parts]
    counts.append(("p value (exact McNemar)", _number(entry["p_value"])))
    extras = [_extra(key, value) for key, value in entry.items() if key not in _PAIR_KEYS]
    counts += [(extra.name, extra.text) for extra in extras if extra.text and len(extra.text) <= _SHORT]
    return Pair(
        a=a,
        b=b,
        conclusion=one_line(str(entry["conclusion"]), 600),
        sentence=one_line(str(entry.get("sentence") or ""), 1_000),
        counts=tuple(counts),
        picture=share_bar([(kind, name, int(number)) for kind, name, number in parts], f"{a} and {b}, task by task"),
        resources=_resources(entry.get("resources") or {}, a, b),
        differing=tuple(_differing(task, numbers) for task in entry.get("differing") or ()),
        extras=tuple(extra for extra in extras if len(extra.text) > _SHORT or not extra.text),
    )


def _resources(resources: Mapping[str, Mapping[str, Any]], a: str, b: str) -> Table | None:
    if not resources:
        return None
    table = _table("mean of a task", list(resources.items()))
    names = {"a": a, "b": b, "difference": "second less first"}
    return Table(tuple(names.get(column, column) for column in table.columns), table.rows)


def _differing(task: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[str, Outcome, Outcome]:
    outcomes = []
    for side in _OUTCOMES:
        runs = task.get(f"runs_{side}") or ()
        case = next((numbers[found] for run in runs if (found := str(Path(run).resolve())) in numbers), None)
        outcomes.append(
            Outcome(f"{_number(task.get(f'passed_{side}'))} of {_number(task.get(f'trials_{side}'))}", case)
        )
    return one_line(str(task["task"])), outcomes[0], outcomes[1]


def _extra(key: str, value: object) -> Extra:
    name = _label(key)
    if isinstance(value, Mapping) and value:
        inner = list(value.values())
        if all(isinstance(entry, Mapping) for entry in inner):
            return Extra(name, table=_table(name, [(str(row), entry) for row, entry in value.items()]))
        rows = tuple((_label(str(row)), _number(entry, str(row))) for row, entry in value.items())
        return Extra(name, table=Table((name, "value"), rows))
    if isinstance(value, list) and value:
        if all(isinstance(entry, Mapping) for entry in value):
            return Extra(name, table=_table("", [("", entry) for entry in value]))
        if not all(isinstance(entry, int | float) for entry in value):
            return Extra(name, items=tuple(_number(entry) for entry in value))
    return Extra(name, text=_number(value, key))


def _table(head: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    keys = _keys(entry for _, entry in rows)
    columns = (*([head] if head else []), *(_label(key) for key in keys))
    return Table(
        columns,
        tuple(
            (*([_label(name)] if head else []), *(_number(entry.get(key), key) for key in keys)) for name, entry in rows
        ),
    )


def _keys(entries: Any) -> list[str]:
    return list(dict.fromkeys(str(key) for entry in entries for key in entry))


def _range(value: Sequence[Any]) -> tuple[float, float]:
    low, high = value
    return float(low), float(high)


def _points(powers: Mapping[str, Any]) -> list[tuple[int, float]]:
    return sorted((int(k), float(value)) for k, value in powers.items() if value is not None)


def _label(key: str) -> str:
    return one_line(key.replace("_", " "))


def _number(value: object, key: str = "") -> str:
    """A value of the document as text: fractions with three digits, shares in percent, intervals as a range."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if key.endswith(_SHARES) and 0 <= value <= 1:
            return f"{value:.1%}"
        if abs(value) >= 1000:
            return f"{value:,.0f}"
        return f"{value:.3f}" if abs(value) >= 0.0005 or value == 0 else f"{value:.2g}"
    if isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        return f"{_number(value[0], key)} to {_number(value[1], key)}"
    if isinstance(value, list):
        return ", ".join(_number(entry, key) for entry in value)
    return visible(value_text(value))
