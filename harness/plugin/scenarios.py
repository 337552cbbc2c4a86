"""Scenario files as tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.plugin.settings import project_of

if TYPE_CHECKING:
    from harness.judge.verdict import Case

_OFF = "off"
_LOOKED_AT = 1 << 20
_PLAYER = re.compile(rb"^player:", re.MULTILINE)
_MORE = re.compile(rb"^(?:prompts?|expect):", re.MULTILINE)
_CASSETTE = re.compile(rb"^(?:http_)?interactions:", re.MULTILINE)


def is_test(path: Path, config: pytest.Config, *, named: bool) -> bool:
    """Whether a YAML file is to be collected.

    It is a scenario when it has the keys ``player`` and ``prompt`` or ``expect`` at its top level, and no interactions,
    which a cassette has; one that the user named on the command line, or whose folder ``harness_scenarios`` names,
    when it has one of those keys: what is missing is then told by the test.
    """
    folders: list[str] = config.getini("harness_scenarios")
    if _OFF in folders:
        return False
    chosen = [config.rootpath / folder for folder in folders]
    if chosen and not named and not any(path.is_relative_to(folder) for folder in chosen):
        return False
    try:
        with path.open("rb") as file:
            text = file.read(_LOOKED_AT)
    except OSError:
        return False
    if _CASSETTE.search(text):
        return False
    found = bool(_PLAYER.search(text)), bool(_MORE.search(text))
    return any(found) if chosen or named else all(found)


class ScenarioFile(pytest.File):
    """A file with one test."""

    def collect(self) -> Iterator[ScenarioItem]:
        """The test; the file is read when it runs, so a broken one fails alone."""
        yield ScenarioItem.from_parent(self, name=self.path.name.rpartition(".")[0])


class ScenarioItem(pytest.Item):
    """Runs a scenario, all variants of it; any verdict but PASS fails, with the checks that did not pass for a text."""

    def runtest(self) -> None:
        """Run and judge."""
        from harness.judge.verdict import Verdict  # noqa: PLC0415  collecting needs none of this
        from harness.plugin.texts import failure_text  # noqa: PLC0415

        cases = _judged(self.path, self.config)
        texts = [
            (f"{case.name}: " if len(cases) > 1 else "") + failure_text(case)
            for case in cases
            if case.verdict is not Verdict.PASS
        ]
        if texts or not cases:
            pytest.fail("\n\n".join(texts) or "nothing was judged", pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is, for reports."""
        return self.path, 0, f"scenario {self.name}"


def _judged(path: Path, config: pytest.Config) -> list[Case]:
    """The cases of a scenario, one for each variant, under the project's settings for misses and drift."""
    import os  # noqa: PLC0415
    from dataclasses import replace  # noqa: PLC0415

    from harness.judge.suite import collect, judge_all  # noqa: PLC0415
    from harness.scenario.policy import ReplayPolicy  # noqa: PLC0415

    project = project_of(config)
    policy = ReplayPolicy.parse(
        ",".join(project.allow_drift or ()),
        project.on_miss or "stop",
        project.endpoints,
        os.environ.get(project.api_key_env or "OPENAI_API_KEY", "none"),
    )

    items = [replace(item, named=False) for item in collect([path])]
    return [judged.case for judged in judge_all(items, None, policy)]
