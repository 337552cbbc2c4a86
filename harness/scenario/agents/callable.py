"""An agent that is a Python function, sync or async, in this process."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.scenario.agents.agent import AgentEnd, AgentUnavailableError
from harness.scenario.agents.context import AgentContext
from harness.scenario.agents.environment import model_environment
from harness.scenario.functions import FunctionError, importable_from, load_function

_ONE_AT_A_TIME = threading.Lock()
_KEPT_CHARACTERS = 65_536
_GRACE_S = 1.0  # for a coroutine that is cancelled


@dataclass(frozen=True)
class CallableAgent:
    """Calls the function ``name``, see `load_function`, with an AgentContext; ``folder`` is the scenario's.

    What it returns, where that is a text, is the agent's final text. While it runs ``OPENAI_BASE_URL`` and
    ``OPENAI_API_KEY`` are set, so that a client which the function builds itself asks the harness and nobody else, and
    what it prints is kept instead of printed; so only one such agent runs at a time in a process. The working directory
    stays. A function that takes longer than it may is left alone in its thread: nothing answers it any more.
    """

    name: str
    folder: Path

    def run(self, context: AgentContext) -> AgentEnd:
        """Call the function and wait for its end."""
        with (
            _ONE_AT_A_TIME,
            _environment(model_environment(context)),
            importable_from(self.folder, Path.cwd()),
            redirect_stdout(StringIO()) as out,
            redirect_stderr(StringIO()) as err,
        ):
            try:
                function = load_function(self.name, self.folder)
            except FunctionError as error:
                raise AgentUnavailableError(f"the agent {error}") from error
            call = _Call(function, context)
            call.start()
            call.join(context.timeout_s)
            if call.is_alive():
                call.join(_GRACE_S)
            end = call.end or AgentEnd(timed_out=True)
            return replace(end, stdout=out.getvalue()[-_KEPT_CHARACTERS:], stderr=err.getvalue()[-_KEPT_CHARACTERS:])


class _Call(threading.Thread):
    """The function's thread; ``end`` is there once it is over.

    A daemon, and no worker of a pool: Python waits for those at its exit.
    """

    def __init__(self, function: Callable[..., Any], context: AgentContext) -> None:
        super().__init__(name="harness-agent", daemon=True)
        self._function = function
        self._context = context
        self.end: AgentEnd | None = None

    def run(self) -> None:
        """Call it; what it gives is awaited in an event loop where it is async."""
        try:
            given = self._function(self._context)
            if inspect.isawaitable(given):
                self.end = asyncio.run(self._awaited(given))
            else:
                self.end = _ended(given)
        except BaseException as error:  # noqa: BLE001  SystemExit included: the agent's end is not the harness's
            self.end = _raised(error)
        finally:
            self._context.close()

    async def _awaited(self, given: Awaitable[Any]) -> AgentEnd:
        limit = asyncio.timeout(self._context.timeout_s)
        try:
            async with limit:
                return _ended(await given)
        except TimeoutError:
            if limit.expired():
                return AgentEnd(timed_out=True)
            raise
        finally:
            await self._context.aclose()


def _ended(given: object) -> AgentEnd:
    return AgentEnd(final_text=given if isinstance(given, str) else None)


def _raised(error: BaseException) -> AgentEnd:
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return AgentEnd()
    said = " ".join(str(error).split())
    frames = traceback.format_exception(error.with_traceback(_own_frames(error.__traceback__)))
    raised = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return AgentEnd(raised=raised, traceback="".join(frames)[-_KEPT_CHARACTERS:])


def _own_frames(frames: TracebackType | None) -> TracebackType | None:
    """The frames from the agent's first on."""
    own = frames
    while own is not None and _is_ours(own):
        own = own.tb_next
    return own or frames


def _is_ours(frame: TracebackType) -> bool:
    name = str(frame.tb_frame.f_globals.get("__name__", ""))
    return name.startswith(("harness.", "asyncio.", "concurrent."))


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
