"""Reports as files in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from harness.errors import InputError
from harness.files import write_atomically, write_text_atomically
from harness.judge.results import RESULTS, find_cases, holds_cases, save_results
from harness.judge.verdict import Case
from harness.report.frame_files import demand_pyarrow, write_frames
from harness.report.junit import junit_xml
from harness.report.markdown import summary
from harness.report.sections import Section, section_markdown

PAGE = "report.html"
COMPARISON = "comparison.json"


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page that was written, and the cases on it."""

    path: Path
    cases: Sequence[Case]


def write_reports(
    cases: Sequence[Case], folder: Path, title: str, sections: Sequence[Section] = (), *, whole: bool = True
) -> dict[str, Path]:
    """Write ``junit.xml``, ``summary.md``, ``results.jsonl`` and ``report.html``; returns name to path.

    The folder is made where it is missing. A reader sees an old report or a new one, never half of it. ``title`` heads
    the summary and the page and names the test suite; ``sections`` are added to the summary. Where the cases are not
    the ``whole`` of a run, ``results.jsonl`` stays as the run has written it so far, so that it can be resumed. Raises
    OSError where the folder cannot be written.
    """
    from harness.report.html.page import render_page  # noqa: PLC0415  jinja2 takes a moment

    junit, markdown, page = folder / "junit.xml", folder / "summary.md", folder / PAGE
    write_atomically(junit, junit_xml(cases, title))
    write_text_atomically(
        markdown, summary(cases, title, [part for section in sections for part in section_markdown(section)])
    )
    results = save_results(cases, folder) if whole else folder / RESULTS
    write_text_atomically(page, render_page(cases, title).html)
    return {path.name: path for path in (junit, markdown, results, page)}


def write_page(
    paths: Sequence[Path], out: Path | None, title: str, *, frames: Path | None = None, parquet: bool = False
) -> WrittenPage:
    """Write the page of what is behind some paths, ``report.html`` in the first folder by default.

    What ``harness compare`` wrote is taken too: from a folder's ``compare``, from its own folder, or its
    ``comparison.json``. ``frames`` is a folder for the tables behind the page, as CSV files and with ``parquet`` as
    such too. Raises InputError for paths that hold none of it, for two comparisons, and where pyarrow is missing;
    OSError where nothing can be written.
    """
    from harness.report.html.comparison import comparison_of  # noqa: PLC0415
    from harness.report.html.page import render_page  # noqa: PLC0415

    if parquet:
        demand_pyarrow()
        if frames is None:
            raise InputError("there is no folder to write to", where="--parquet", hint="--frames DIR")
    folders = [folder for path in paths if not path.is_file() for folder in _with_comparison(path)]
    files = [path for path in paths if path.is_file()]
    documents = dict.fromkeys([*files, *(found for path in folders if (found := path / COMPARISON).is_file())])
    if len(documents) > 1:
        raise InputError("a page has one comparison", where=str(list(documents)[1]))
    cases = [case for folder in folders for case in find_cases(folder)]
    comparison = None
    if documents:
        comparison = comparison_of(_document(next(iter(documents))), [case.run_folder for case in cases])
    page = render_page(cases, title, comparison)
    target = out or next(iter(folders), Path()) / PAGE
    write_text_atomically(target, page.html)
    if frames is not None:
        write_frames(page.frames, frames, parquet=parquet)
    return WrittenPage(target, cases)


def _with_comparison(path: Path) -> list[Path]:
    """A folder, and that of the comparison in it; the folder alone may hold nothing but the comparison."""
    compared = path / "compare"
    if not (compared / COMPARISON).is_file():
        return [path]
    return [path, compared] if holds_cases(path) else [compared]


def _document(path: Path) -> dict[str, object]:
    try:
        document = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error}", where=str(path)) from error
    if not isinstance(document, dict):
        raise InputError("this is no comparison: not a JSON object", where=str(path))
    return document
