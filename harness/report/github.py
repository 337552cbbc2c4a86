"""What GitHub Actions reads: annotations on the lines of scenarios, and the summary of a job.

A workflow command is a line that begins with two colons, whoever wrote it; so texts of models are printed between
`silenced`, where no line is one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.judge.verdict import Case, Verdict
from harness.report.counts import counted
from harness.report.names import labels
from harness.report.text import one_line

SHOWN = 10
"""How many annotations of a kind GitHub shows for a step; it drops the others without a word."""

_GRAVEST_FIRST = (Verdict.FAIL, Verdict.ERROR, Verdict.INCONCLUSIVE)


def in_github_actions(environment: Mapping[str, str]) -> bool:
    """Whether this process is a step of a workflow."""
    return environment.get("GITHUB_ACTIONS") == "true"


def case_annotations(cases: Sequence[Case], root: Path, known: frozenset[str] = frozenset()) -> list[str]:
    """A workflow command for each case that did not pass, on the line that states what was not met.

    ``root`` is the checkout, against which GitHub reads files. Cases whose path is in ``known`` fail as a baseline
    accepts: they become notices. Beyond what GitHub shows of a kind one notice says how many there are.
    """
    named = zip(cases, labels(cases), strict=True)
    bad = [(case, name) for case, name in named if case.verdict is not Verdict.PASS]
    bad.sort(key=lambda each: _GRAVEST_FIRST.index(each[0].verdict))
    errors = [_annotation("error", case, name, root) for case, name in bad if case.path not in known]
    notices = [_annotation("notice", case, name, root) for case, name in bad if case.path in known]
    found = errors[:SHOWN] + notices[: SHOWN - 1]
    left_out = len(errors) + len(notices) - len(found)
    if left_out:
        more = counted(left_out, "more case")
        found.append(f"::notice title=harness::{more} did not pass; the job's summary has them all")
    return found


def append_step_summary(text: str, environment: Mapping[str, str]) -> bool:
    """Add Markdown to the job's summary page; False where there is none. Raises OSError."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return False
    with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text if text.endswith("\n") else text + "\n")
    return True


@contextmanager
def silenced(
    write: Callable[[str], None], environment: Mapping[str, str], token: Callable[[], str] = secrets.token_hex
) -> Iterator[None]:
    """Within it no printed line is taken for a command; nothing is written outside of GitHub Actions.

    The token that ends it must be one that no printed text can hold.
    """
    if not in_github_actions(environment):
        yield
        return
    word = token()
    write(f"::stop-commands::{word}")
    try:
        yield
    finally:
        write(f"::{word}::")


def _annotation(kind: str, case: Case, name: str, root: Path) -> str:
    properties = {"title": f"{case.verdict}: {name}"}
    if case.path:
        properties = {"file": _in_checkout(Path(case.path), root), "line": str(case.line or 1), **properties}
    message = one_line(case.first_line, 1000) or str(case.verdict)
    if case.attribution is not None:
        message += f" [{case.attribution}]"
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{kind} {told}::{_data(message)}"


def _in_checkout(path: Path, root: Path) -> str:
    try:
        full = path.resolve()
    except ValueError:  # no file system has such a name; it is told as it is
        return path.as_posix()
    return (full.relative_to(root.resolve()) if full.is_relative_to(root.resolve()) else full).as_posix()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text, 300)).replace(":", "%3A").replace(",", "%2C")


def checkout(environment: Mapping[str, str]) -> Path:
    """The folder against which GitHub reads file names."""
    return Path(environment.get("GITHUB_WORKSPACE") or os.curdir)
