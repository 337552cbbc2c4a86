"""The page put together: one file that opens offline and asks for nothing."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from harness.judge.results import TRIAL, without_trials
from harness.judge.verdict import Case, overall
from harness.measure.spending import KINDS
from harness.report.counts import counted, counts_line, verdict_counts
from harness.report.frames import cases_frame, checks_frame
from harness.report.html.cases import behind_rows
from harness.report.html.comparison import Comparison
from harness.report.html.pictures import share_bar
from harness.report.html.rows import ORDER, Row, rows_of
from harness.report.html.trials import trial_table
from harness.report.run_frames import RunFrames
from harness.report.text import one_line

LARGEST = 2_900_000
"""Bytes of a page, unless the table of its cases alone is larger."""

_LEAST_ROOM = 200_000
_TEMPLATES = ("page.html.j2", "cases.html.j2", "comparison.html.j2", "help.html.j2")
_STYLES = ("theme.css", "page.css", "run.css")
_SCRIPTS = ("elements.js", "texts.js", "json.js", "differences.js", "pictures.js", "run.js", "case.js", "list.js")
_KIND_NAMES = {
    "system": "system prompt", "tools": "tool schemas", "user": "user", "assistant": "assistant",
    "results": "tool results", "rest": "rest",
}  # fmt: skip
_UNSAFE = re.compile("[<>&\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Page:
    """A rendered page, and the frames that it was made from, by name."""

    html: str
    frames: Mapping[str, pd.DataFrame]


def render_page(cases: Sequence[Case], title: str, comparison: Comparison | None = None) -> Page:
    """The page of some cases, their runs read from where they are saved, and of a comparison where there is one.

    The same cases and runs give the same text; it names no folder but the last two parts of a run's. A run that
    cannot be read is said in its row. Texts are cut, and at last runs left out, so that the page stays small.
    """
    run_frames = RunFrames()
    cases_table = cases_frame(cases)
    behind = behind_rows(cases, run_frames, max(LARGEST - _shell_size(cases), _LEAST_ROOM))
    runs, steps, calls = run_frames.runs(), run_frames.steps(), run_frames.calls()
    frames = {"cases": cases_table, "checks": checks_frame(cases), "runs": runs, "steps": steps, "calls": calls}
    rows = rows_of(cases, cases_table, runs, steps)
    values = {
        **_assets(),
        "title": one_line(title) or "Report",
        "data": Markup(_island(behind.data)),  # noqa: S704  every character that could end it is escaped
        **_overview(cases, steps, compared=comparison is not None),
        **_choices(rows),
        "rows": rows,
        "comparison": comparison,
        "trials": trial_table(rows, runs),
        "limit": behind.limit,
        "left_out": len(behind.left_out),
    }
    text = _environment().get_template("page.html.j2").render(values)
    return Page(text if text.endswith("\n") else f"{text}\n", frames)


def _environment() -> Environment:
    return Environment(
        loader=DictLoader({name: _asset(name) for name in _TEMPLATES}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _assets() -> dict[str, object]:
    """Style and script, and the policy that lets these two run and nothing else."""
    style, script = _joined(_STYLES), _joined(_SCRIPTS)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    # Both are files of this package.
    return {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704


def _overview(cases: Sequence[Case], steps: pd.DataFrame, *, compared: bool) -> dict[str, object]:
    """The headline. Recorded trials are counted apart: that a model failed a task is no failed test."""
    tests, trials = without_trials(cases), [case for case in cases if case.kind == TRIAL]
    counts = verdict_counts(cases)
    shown = verdict_counts(tests or trials)
    tokens = _tokens(steps)
    return {
        "verdict": str(overall(tests)) if tests or not (trials or compared) else "",
        "counts": [(str(verdict), counts[verdict]) for verdict in ORDER],
        "tests_line": counts_line(verdict_counts(tests)) if tests else "nothing was collected",
        "trials_line": f"{counted(len(trials), 'recorded trial')}: {counts_line(verdict_counts(trials))}"
        if trials
        else "",
        "verdict_bar": share_bar([(name.lower(), name, shown[name]) for name in ORDER], "Cases by verdict"),
        "tokens": tokens,
        "token_bar": share_bar(tokens, "Prompt tokens by kind"),
    }


def _choices(rows: Sequence[Row]) -> dict[str, object]:
    """What the filters offer."""
    return {
        "tags": _common(tag for row in rows for tag in row.tags),
        "models": _common(row.model for row in rows if row.model),
        "kinds": _common(row.kind for row in rows),
    }


def _tokens(steps: pd.DataFrame) -> list[tuple[str, str, int]]:
    """The counted prompt tokens of all steps together, by kind, empty where none were counted."""
    sums = steps[list(KINDS)].sum()
    return [(kind, _KIND_NAMES[kind], int(sums[kind])) for kind in KINDS] if int(sums.sum()) else []


def _shell_size(cases: Sequence[Case]) -> int:
    """About the size of the page without what is behind its rows."""
    fixed = sum(len(_asset(name)) for name in (*_TEMPLATES, *_STYLES, *_SCRIPTS))
    return fixed + 1_200 * len(cases) + 20_000


def _common(values: Any) -> list[tuple[str, int]]:
    """Different values with how often each occurs, sorted by value."""
    return sorted(Counter(values).items())


def _island(data: bytes) -> str:
    """JSON as the content of a script element: nothing in it can end the element or begin a comment."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", data.decode("utf-8"))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _joined(names: Sequence[str]) -> str:
    return "\n".join(_asset(name) for name in names)


def _asset(name: str) -> str:
    return resources.files("harness.report.html").joinpath("assets", name).read_text("utf-8")
