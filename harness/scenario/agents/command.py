"""An agent that is a command line: a program in any language, started in the workspace."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import InputError
from harness.scenario.agents.agent import AgentEnd, AgentUnavailableError
from harness.scenario.agents.context import AgentContext
from harness.scenario.agents.environment import agent_environment
from harness.scenario.agents.process import run_process

PLACEHOLDERS = ("PROMPT", "CWD", "HOME", "BASE_URL", "MODEL", "API_KEY", "SCENARIO", "PYTHON")
"""What ``${…}`` may name in a command, its environment, its standard input and its folder."""

_PLACEHOLDER = re.compile(r"\$\{(" + "|".join(PLACEHOLDERS) + r")\}")


@dataclass(frozen=True)
class CommandAgent:
    """Runs ``argv``, without a shell, in a group of its own.

    ``env`` comes on top of `agent_environment`; ``stdin`` is given to the program, ``cwd`` is its folder where that is
    not the workspace. In all of them placeholders stand for what the run has, see `values`; any other ``${…}`` stays,
    for a shell that the command itself may name. ``folder`` is the scenario's. ``install`` says how to get a program
    that is missing.
    """

    argv: Sequence[str]
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    cwd: str | None = None
    install: str = ""

    def run(self, context: AgentContext) -> AgentEnd:
        """Start it and wait; nothing that it started is alive afterwards."""
        values = self.values(context)
        argv = [filled(word, values) for word in self.argv]
        env = agent_environment(context) | {name: filled(text, values) for name, text in self.env.items()}
        cwd = context.workspace / filled(self.cwd, values) if self.cwd else context.workspace
        program = self._program(argv[0], env, cwd)
        if not cwd.is_dir():
            raise AgentUnavailableError(f"agent.cwd: {cwd} is no folder")
        try:
            ended = run_process(
                [program, *argv[1:]],
                cwd=cwd,
                env=env,
                timeout_s=context.timeout_s,
                stdin=filled(self.stdin, values).encode(),
            )
        except InputError as error:
            raise AgentUnavailableError(f"the agent {argv[0]} {error.what}") from error
        return AgentEnd.of_process(ended)

    def values(self, context: AgentContext) -> dict[str, str]:
        """What stands for the placeholders."""
        return {
            "PROMPT": context.prompt,
            "CWD": str(context.workspace),
            "HOME": str(context.home),
            "BASE_URL": context.base_url,
            "MODEL": context.model,
            "API_KEY": context.api_key,
            "SCENARIO": str(self.folder),
            "PYTHON": sys.executable,
        }

    def _program(self, name: str, env: Mapping[str, str], cwd: Path) -> str:
        """The program's path; one that is written with a slash is looked for from the agent's folder."""
        found = shutil.which(str(cwd / name) if "/" in name else name, path=env["PATH"])
        if found is None:
            hint = self.install or f"install {name}, or put its folder on PATH; ${{PYTHON}} is the harness's own Python"
            raise AgentUnavailableError(f"the agent {name} is not installed: there is no such program ({hint})")
        return found


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its placeholders replaced, once: what is put in is not looked at again."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)
