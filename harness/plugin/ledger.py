"""What the tests of a run have to do with cassettes, also where they ran in several workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.errors import HarnessError
from harness.plugin.naming import cassette_path, folder_of
from harness.plugin.settings import LEDGER, Settings


@dataclass(slots=True)
class Ledger:
    """``used`` are cassettes that a test names or has used, ``folders`` where such cassettes lie, by their path.

    ``folders`` maps each to the folder of the tests that may use it. ``recorded`` counts the exchanges of each cassette
    that was recorded, ``notes`` are for the end of the run. ``partial`` says that a test's cassette is not known, so
    that nothing can be said of what no test uses.
    """

    used: set[str] = field(default_factory=set)
    folders: dict[str, str] = field(default_factory=dict)
    scenarios: set[str] = field(default_factory=set)
    recorded: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    partial: bool = False

    def claim(self, marked: Iterable[pytest.Item], items: Iterable[pytest.Item]) -> None:
        """Take down the cassettes that collected tests name, whether or not they run."""
        for item in marked:
            settings = Settings.of(item.config)
            tests = item.config.rootpath if settings.folder else item.path.parent
            self.folders[str(folder_of(item, settings))] = str(tests)
            try:
                self.use(cassette_path(item, settings))
            except HarnessError:
                self.partial = True  # the test itself says what is wrong
        self.scenarios.update(str(item.path) for item in items if item.path.suffix in {".yaml", ".yml"})

    def use(self, path: Path) -> None:
        """A test uses this cassette."""
        self.used.add(str(path))

    def has_recorded(self, path: Path) -> bool:
        """Whether this cassette was recorded in this run."""
        return str(path) in self.recorded

    def document(self) -> dict[str, Any]:
        """The ledger in plain types, for another process."""
        return {
            "used": sorted(self.used),
            "folders": self.folders,
            "scenarios": sorted(self.scenarios),
            "recorded": self.recorded,
            "notes": self.notes,
            "partial": self.partial,
        }

    def merge(self, document: Mapping[str, Any]) -> None:
        """Add what a worker says."""
        self.used.update(document["used"])
        self.folders.update(document["folders"])
        self.scenarios.update(document["scenarios"])
        self.recorded.update(document["recorded"])
        self.notes.extend(document["notes"])
        self.partial = self.partial or document["partial"]


def ledger_of(config: pytest.Config) -> Ledger:
    """The ledger of this process."""
    return config.stash.setdefault(LEDGER, Ledger())
