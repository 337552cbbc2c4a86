"""What a test's cassette has to say, in place of the test's own error or in addition to its success.

An agent may swallow any error, so a test that has passed is judged as well; and an error that comes from a miss says
less than the miss does.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from harness.cassette.miss import HOW_TO_RECORD, NO_ANSWER
from harness.errors import HarnessError
from harness.judge.verdict import Case, Verdict, judged
from harness.plugin.ledger import ledger_of
from harness.plugin.settings import PASSED, USE, WARN, Settings
from harness.plugin.texts import failure_text
from harness.plugin.use import CassetteUse
from harness.report.text import one_line

_UNUSED = "nothing unused"
_RECORD_AGAIN = "if the change is meant, record the test again (pytest --cassette-mode=rewrite --cassette-upstream URL)"
_OWN_ERROR_CHARACTERS = 300


def judge_ended(item: pytest.Item, use: CassetteUse) -> None:
    """Fail a test that has raised nothing where its cassette's verdict is not PASS."""
    kept = _kept_by_unittest(item)
    if kept:
        judge_failed(item, use, kept[0].value)
        return
    requests = use.source.session.requests
    _demand_pass(item, use)
    item.stash[PASSED] = requests


def judge_failed(item: pytest.Item, use: CassetteUse, error: BaseException) -> None:
    """Fail a test that has failed or was skipped with the reason that its cassette gives, where it gives one."""
    session = use.source.session
    if session.miss is None and session.error is None and not session.refused:
        return
    case = _judged(item, use)
    if case is not None and case.verdict is not Verdict.PASS:
        _kept_by_unittest(item).clear()
        text = f"{_text(case)}\n  the test then ended with {_own_error(item, error)}"
        raise pytest.fail.Exception(text, pytrace=False) from None


def finish(item: pytest.Item, use: CassetteUse) -> None:
    """Judge what was asked since the test's end, and keep what was recorded of a test that has passed."""
    requests = item.stash.get(PASSED, None)
    del item.stash[USE]
    if requests is None:
        return
    del item.stash[PASSED]
    if use.source.session.requests != requests:
        _demand_pass(item, use)
    try:
        kept = use.source.keep()
    except (HarnessError, OSError) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    if kept:
        ledger_of(item.config).recorded[str(use.path)] = kept


def _demand_pass(item: pytest.Item, use: CassetteUse) -> None:
    case = _judged(item, use)
    if case is not None and case.verdict is not Verdict.PASS:
        raise pytest.fail.Exception(_text(case), pytrace=False)


def _kept_by_unittest(item: pytest.Item) -> list[pytest.ExceptionInfo[BaseException]]:
    """The errors of a `unittest.TestCase`: they are not raised, and pytest reports them in place of what is."""
    return getattr(item, "_excinfo", None) or []


def _judged(item: pytest.Item, use: CassetteUse) -> Case | None:
    case = use.source.judge(str(use.path))
    if case is None or Settings.of(item.config).unused != WARN:
        return case
    left = [check.message for check in case.checks if check.name == _UNUSED and check.verdict is Verdict.FAIL]
    ledger_of(item.config).notes.extend(f"{item.nodeid}: {message}" for message in left)
    checks = tuple(check for check in case.checks if check.name != _UNUSED)
    verdict, first_line = judged(checks)
    return replace(case, checks=checks, verdict=verdict, first_line=first_line)


def _text(case: Case) -> str:
    return failure_text(case).replace(HOW_TO_RECORD, _RECORD_AGAIN)


def _own_error(item: pytest.Item, error: BaseException) -> str:
    """The error and which line of the test led to it, on one line; without its text where that tells of the miss."""
    lines = [entry for entry in pytest.ExceptionInfo.from_exception(error).traceback if entry.path == item.path]
    place = f" at {os.path.relpath(item.path, item.config.rootpath)}:{lines[0].lineno + 1}" if lines else ""
    text = "" if not str(error) or NO_ANSWER in str(error) else f": {one_line(str(error), _OWN_ERROR_CHARACTERS)}"
    return f"{type(error).__name__}{place}{text}"
