"""Texts printed on a terminal or a pipe, whatever its encoding."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def printable(text: Text, console: Console) -> Text:
    """What the console's encoding lacks as escapes: a report is worth more than its dots and arrows."""
    try:
        text.plain.encode(console.encoding)
    except UnicodeEncodeError:
        return Text(text.plain.encode(console.encoding, "backslashreplace").decode(console.encoding))
    return text


def print_line(console: Console, text: Text) -> None:
    """Print a text on one line, however long."""
    console.print(printable(text, console), soft_wrap=True)
