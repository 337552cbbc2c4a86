"""The plugin's names and settings; loads nothing else of the harness by itself, since every run of pytest loads it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from harness.configuration import Configuration
    from harness.plugin.host import PlayerHost
    from harness.plugin.ledger import Ledger
    from harness.plugin.use import CassetteUse

MARKER = "cassette"
FAIL, WARN = "fail", "warn"
UNUSED = (FAIL, WARN)

USE: pytest.StashKey[CassetteUse] = pytest.StashKey()
HOST: pytest.StashKey[PlayerHost] = pytest.StashKey()
PASSED: pytest.StashKey[int] = pytest.StashKey()
"""How many requests a test that has passed had sent."""
LEDGER: pytest.StashKey[Ledger] = pytest.StashKey()
PROJECT: pytest.StashKey[Configuration] = pytest.StashKey()
LEFT_OUT: pytest.StashKey[bool] = pytest.StashKey()
"""Whether tests were deselected, or the run stopped before it came to them."""
WORKER_KEY = "harness_cassettes"
"""Under which a worker's ledger reaches the main process."""


class Mode(StrEnum):
    """Where answers come from. Only `REPLAY` contacts nobody."""

    REPLAY = "replay"
    RECORD = "record"
    REWRITE = "rewrite"
    LIVE = "live"


MODES = tuple(mode.value for mode in Mode)


@dataclass(frozen=True, slots=True)
class Settings:
    """How cassettes are used in this run of pytest.

    ``folder`` holds all cassettes, where it is None each test file has its own beside it; ``secrets`` are regular
    expressions. ``unused`` is FAIL or WARN.
    """

    mode: Mode
    upstream: str | None
    unused: str
    folder: Path | None
    secrets: tuple[str, ...]

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """The settings of a run, with the secrets of ``[tool.harness]``; raises UsageError for a value that is none."""
        folder = config.getini("harness_cassette_dir")
        unused = config.getoption("--cassette-unused") or config.getini("harness_cassette_unused") or FAIL
        if unused not in UNUSED:
            raise pytest.UsageError(f"harness_cassette_unused is {unused!r}, neither fail nor warn")
        return cls(
            Mode(config.getoption("--cassette-mode")),
            config.getoption("--cassette-upstream") or config.getini("harness_cassette_upstream") or None,
            unused,
            config.rootpath / folder if folder else None,
            (*config.getini("harness_cassette_secrets"), *(project_of(config).secrets or ())),
        )


def project_of(config: pytest.Config) -> Configuration:
    """What ``[tool.harness]`` of the root folder says, read once; raises UsageError where it cannot be used."""
    from harness.configuration import load_configuration  # noqa: PLC0415
    from harness.errors import InputError  # noqa: PLC0415

    if PROJECT not in config.stash:
        try:
            config.stash[PROJECT] = load_configuration(config.rootpath)
        except InputError as error:
            raise pytest.UsageError(str(error)) from error
    return config.stash[PROJECT]
