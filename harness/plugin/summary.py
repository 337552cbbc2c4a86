"""The last words of a run of pytest about cassettes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.plugin.ledger import Ledger, ledger_of
from harness.plugin.naming import SUFFIXES
from harness.plugin.settings import LEFT_OUT

_NARROWING = ("lf", "ignore", "ignore_glob", "deselect", "collectonly")


def print_summary(reporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Write what was recorded, what is to be noted, and, when all tests ran, the cassettes that none of them uses."""
    ledger = ledger_of(config)
    lines = [f"recorded {_shown(path, config)}: {count} exchanges" for path, count in sorted(ledger.recorded.items())]
    lines += [f"warning: {note}" for note in ledger.notes]
    if _ran_whole(exitstatus, config, ledger):
        lines += [f"no test uses {_shown(path, config)}" for path in _unused(config, ledger)]
    if lines:
        reporter.section("cassettes")
        for line in lines:
            reporter.line(line)


def _ran_whole(exitstatus: int, config: pytest.Config, ledger: Ledger) -> bool:
    """Whether every test that was collected came to its turn."""
    narrowed = config.stash.get(LEFT_OUT, False) or any(config.getoption(name, None) for name in _NARROWING)
    return exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and not narrowed and not ledger.partial


def _unused(config: pytest.Config, ledger: Ledger) -> Iterator[str]:
    """The cassettes in folders whose tests were all collected."""
    asked = [(config.invocation_params.dir / argument).resolve() for argument in config.args if "::" not in argument]
    left: list[Path] = []
    for folder, tests in sorted(ledger.folders.items()):
        covered = config.args_source is pytest.Config.ArgsSource.TESTPATHS or any(
            one.is_dir() and Path(tests).resolve().is_relative_to(one) for one in asked
        )
        if covered:
            files = (file for file in sorted(Path(folder).rglob("*")) if file.name.endswith(SUFFIXES))
            left += [file for file in files if file.is_file() and str(file) not in ledger.used]
    played = {str(path) for file in ledger.scenarios for path in _played_by(Path(file))} if left else set()
    yield from dict.fromkeys(str(file) for file in left if str(file.resolve()) not in played)


def _played_by(scenario_file: Path) -> list[Path]:
    """The cassettes that a scenario names."""
    from harness.scenario.format import load_scenario  # noqa: PLC0415  needed in the rare case

    try:
        return load_scenario(scenario_file).cassettes
    except InputError:
        return []


def _shown(path: str, config: pytest.Config) -> str:
    return os.path.relpath(path, config.rootpath) if Path(path).is_relative_to(config.rootpath) else path
