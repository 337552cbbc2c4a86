"""The command line in this process: what a test of a command needs, without the start of an interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """A function that runs ``harness`` with some words; what programs started by it print is caught too."""

    def run(*words: str | Path) -> Done:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, out, err)

    return run
