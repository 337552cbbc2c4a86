"""Shell commands, ruled on before they run (docs/shell.md)."""

from __future__ import annotations

from harness.pipeline.shell.classify import MAX_LENGTH, classify_command

__all__ = ["MAX_LENGTH", "classify_command"]
