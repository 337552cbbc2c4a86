"""An agent that asks a model over HTTP, and how its run ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from harness.errors import HarnessError
from harness.scenario.agents.context import AgentContext
from harness.scenario.agents.process import ProcessOutcome

_SHOWN = 4_000


class AgentUnavailableError(HarnessError):
    """An agent that cannot be started: not installed, or not to be imported. Nothing was judged."""


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """How an agent ended, as it says itself or as its process shows.

    ``exit_code`` is a process's, as a shell gives it; None for a function, and where the harness ended it because it
    took longer than ``timeout_s``: ``timed_out`` then. ``raised`` is what a function raised, on one line, ``traceback``
    the frames below the harness's own. ``final_text`` is what a function returned. ``stdout`` and ``stderr`` are kept
    within bounds. ``left_behind`` counts processes that outlived the agent and were ended.
    """

    exit_code: int | None = None
    timed_out: bool = False
    raised: str | None = None
    traceback: str = ""
    final_text: str | None = None
    stdout: str = ""
    stderr: str = ""
    left_behind: int = 0

    @property
    def output(self) -> str:
        """What it said last, for a person: both outputs and the traceback, each under its name."""
        parts = (("stdout", self.stdout), ("stderr", self.stderr), ("traceback", self.traceback))
        return "\n".join(f"{name}:\n{_end_of(text.rstrip())}" for name, text in parts if text.strip())

    @classmethod
    def of_process(cls, ended: ProcessOutcome) -> AgentEnd:
        """How a program ended, as an agent's end."""
        return cls(
            ended.exit_code,
            timed_out=ended.timed_out,
            stdout=ended.stdout,
            stderr=ended.stderr,
            left_behind=ended.left_behind,
        )

    def retold(self, rewrite: Callable[[str], str]) -> AgentEnd:
        """The same with every text rewritten."""
        return replace(
            self,
            raised=None if self.raised is None else rewrite(self.raised),
            traceback=rewrite(self.traceback),
            final_text=None if self.final_text is None else rewrite(self.final_text),
            stdout=rewrite(self.stdout),
            stderr=rewrite(self.stderr),
        )


def _end_of(text: str) -> str:
    left_out = len(text) - _SHOWN
    return text if left_out <= 0 else f"({left_out:,} characters before)\n{text[-_SHOWN:]}"


class Agent(Protocol):
    """Does a task with the model at the context's base URL."""

    def run(self, context: AgentContext) -> AgentEnd:
        """Do it, to the end or for as long as it may take; raises AgentUnavailableError where it cannot be started."""
        ...
