"""An agent that a preset describes: configured in a HOME of its own, then started in the workspace."""

from __future__ import annotations

import os
from dataclasses import dataclass

from harness.errors import InputError
from harness.scenario.agents.agent import AgentEnd, AgentUnavailableError
from harness.scenario.agents.context import AgentContext
from harness.scenario.agents.environment import agent_environment
from harness.scenario.agents.presets.finding import find_program
from harness.scenario.agents.presets.git import commit_all
from harness.scenario.agents.presets.preset import Preset, Situation
from harness.scenario.agents.process import ProcessOutcome, run_process


@dataclass(frozen=True, slots=True)
class PresetAgent:
    """Runs the preset's program, ``program`` where the user names it; see `find_program`."""

    preset: Preset
    program: str | None = None

    def run(self, context: AgentContext) -> AgentEnd:
        """Configure it, start it and wait, each command at most the context's limit; nothing is alive afterwards.

        Raises AgentUnavailableError where it is not installed or cannot be configured: a file that cannot be written, a
        command before it that fails, no git for a workspace that has to be a repository.
        """
        try:
            program = find_program(self.preset, os.environ, self.program)
        except InputError as error:
            raise AgentUnavailableError(str(error)) from error
        prepared = self.preset.prepared(_situation(context, program))
        env = agent_environment(context) | dict(prepared.env)
        try:
            prepared.write_files()
            if self.preset.git:
                commit_all(context.workspace, env)
            for command in prepared.before:
                ended = run_process(command, cwd=context.workspace, env=env, timeout_s=context.timeout_s)
                if ended.exit_code != 0:
                    raise AgentUnavailableError(self._not_set_up(command, ended, context))
            ended = run_process(prepared.argv, cwd=context.workspace, env=env, timeout_s=context.timeout_s)
        except (OSError, InputError) as error:
            raise AgentUnavailableError(f"{self.preset.title} cannot be set up: {error}") from error
        return AgentEnd.of_process(ended)

    def _not_set_up(self, command: tuple[str, ...], ended: ProcessOutcome, context: AgentContext) -> str:
        how = f"took longer than {context.timeout_s:g} s" if ended.timed_out else f"ended with {ended.exit_code}"
        said = " ".join((ended.stderr or ended.stdout).split())[-400:]
        return f"{self.preset.title} cannot be set up: {' '.join(command[1:3])} {how}{f': {said}' if said else ''}"


def _situation(context: AgentContext, program: str) -> Situation:
    return Situation(
        context.base_url,
        str(context.workspace),
        str(context.home),
        context.prompt,
        context.model,
        program,
        context.api_key,
    )
