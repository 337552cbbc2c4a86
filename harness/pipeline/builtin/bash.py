"""Bash: a shell command in the workspace."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from harness.pipeline.builtin.base import Arguments, BuiltinTool, CallError
from harness.pipeline.builtin.process import Finished, run_group
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus
from harness.pipeline.tool import ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace

DEFAULT_TIMEOUT_S = 120.0
MAX_TIMEOUT_S = 600.0
OUTPUT_BYTES = 8 * 1024 * 1024
"""Output that is kept of one command, half of it from the start and half from the end (bug report F02)."""

MAX_COMMAND_BYTES = 100_000
"""Below what one command line argument can hold."""

_SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links
    r"|[PX^_][^\x1b]*\x1b\\"  # strings for the terminal
    r"|[ -/]*[0-~])"
)
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}


class BashTool(BuiltinTool):
    """Runs a command with the workspace as its folder, without input, as a process group that ends with the call.

    Its environment is PATH, HOME (the workspace), LANG and TERM; nothing else of this process's is passed on. This is
    no sandbox: what may run is decided before. ``data``: ``exit_code`` (128 + n for signal n, None after a timeout) and
    ``output``, both streams in the order in which they were written, as text without terminal escapes (F09). The
    workspace's alias is understood in commands, and is what output says. A code
    other than 0 is EXECUTION_ERROR, a timeout TIMEOUT, both with the output. PARTIAL where output was left out.
    Raises ValueError for a default time limit outside 0 to MAX_TIMEOUT_S seconds.
    """

    kind = ToolKind.SHELL

    def __init__(self, workspace: Workspace, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        super().__init__(
            workspace,
            "Bash",
            "Run a shell command in the workspace. No input, no terminal; background processes end with the command.",
        )
        if not 0 < timeout_s <= MAX_TIMEOUT_S:
            raise ValueError(f"a command may run between 0 and {MAX_TIMEOUT_S:g} s, not {timeout_s:g}")
        self._timeout_s = timeout_s

    def get_parameters(self) -> Sequence[ToolParameter]:
        """Command and time limit."""
        return (
            ToolParameter("command", "string", extra={"minLength": 1}),
            ToolParameter(
                "timeout_s",
                "number",
                f"Seconds; {self._timeout_s:g} by default.",
                required=False,
                extra={"exclusiveMinimum": 0, "maximum": MAX_TIMEOUT_S},
            ),
        )

    def perform(self, arguments: Arguments) -> ToolResult:
        """Run the command."""
        command = arguments.system_text("command")
        timeout_s = arguments.seconds("timeout_s", self._timeout_s, maximum=MAX_TIMEOUT_S)
        if not command.strip():
            raise CallError(ErrorCode.INVALID_PARAM, "command is empty")
        if len(command.encode()) > MAX_COMMAND_BYTES:
            reason = f"command has more than {MAX_COMMAND_BYTES} bytes; put it into a file and run that"
            raise CallError(ErrorCode.INVALID_PARAM, reason)
        finished = run_group(
            [_shell(), "-c", "--", self.workspace.real_paths(command)],
            cwd=self.workspace.root,
            env=self._environment(),
            timeout_s=timeout_s,
            limit_bytes=OUTPUT_BYTES,
        )
        return _result(finished, timeout_s, self.workspace.shown_paths)

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.workspace.root),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }


def plain_text(output: bytes) -> str:
    """Terminal output as text: invalid UTF-8 replaced, escape sequences removed, other controls shown as pictures.

    Tab, LF and CR stay; NUL becomes U+2400 (bug report F09).
    """
    return _ESCAPES.sub("", output.decode("utf-8", "replace")).translate(_PICTURES)


def _result(finished: Finished, timeout_s: float, shown: Callable[[str], str]) -> ToolResult:
    plain = plain_text(finished.head + finished.tail)
    output = shown(plain)
    # Counted as shown: the same command has the same result in every folder.
    size = len(finished.head) + finished.dropped + len(finished.tail) - len(plain.encode()) + len(output.encode())
    remarks = []
    if finished.dropped:
        head, tail = (shown(plain_text(part)) for part in (finished.head, finished.tail))
        output = f"{head}\n… [{finished.dropped} bytes left out] …\n{tail}"
        remarks.append(f"{finished.dropped} bytes in the middle of the output were not kept; send it to a file.")
    if not output:
        remarks.append("No output.")
    if finished.stopped_background:
        remarks.append("Processes left in the background were stopped.")
    status, code, summary = _outcome(finished, timeout_s)
    return ToolResult(
        status,
        " ".join([summary, *remarks]),
        {"exit_code": finished.exit_code, "output": output},
        error_code=code,
        stats={"output_bytes": size},
    )


def _outcome(finished: Finished, timeout_s: float) -> tuple[ToolStatus, ErrorCode | None, str]:
    if finished.exit_code is None:
        text = f"Stopped after {timeout_s:g} s; the output so far is kept. Do less, or give a longer timeout_s."
        return ToolStatus.ERROR, ErrorCode.TIMEOUT, text
    if finished.exit_code:
        return ToolStatus.ERROR, ErrorCode.EXECUTION_ERROR, f"Exit code {_named(finished.exit_code)}."
    return ToolStatus.PARTIAL if finished.dropped else ToolStatus.SUCCESS, None, "Exit code 0."


def _named(exit_code: int) -> str:
    try:
        return f"{exit_code} ({signal.Signals(exit_code - 128).name})"
    except ValueError:
        return str(exit_code)


@lru_cache(maxsize=1)
def _shell() -> str:
    return next((shell for shell in _SHELLS if Path(shell).exists()), _SHELLS[-1])
