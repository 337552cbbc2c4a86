"""The command line. Each command imports what it needs when it runs, so that ``--help`` loads almost nothing."""

from harness.cli.main import main

__all__ = ["main"]
