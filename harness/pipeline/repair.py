r"""Arguments that are no JSON but mean one object: read as what they mean, where nothing has to be guessed.

Four notations are understood: a code fence around the whole text (B17), a JSON text inside a JSON string (B03), commas
before a closing bracket (B09), Python's quotes and words (X01). A text that is JSON is never touched (B08), and
nothing that is missing is ever added, whatever the tool: a cut text cannot be told from a whole one (B14). What was
rewritten has to pass the strict reader, so sets, bytes, tuples, keys that are no strings (B11) and keys that appear
twice (X02) stay errors.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from harness.pipeline.arguments import parse_tool_input

_FENCED = re.compile(r"\s*(?P<fence>`{3,})[A-Za-z0-9_+-]*\s*(?P<inner>\{.*\})\s*(?P=fence)\s*", re.DOTALL)
_TOKEN = re.compile(
    r"""
    "[^"\\]*(?:\\.[^"\\]*)*"
    | '[^'\\]*(?:\\.[^'\\]*)*'
    | [A-Za-z_][A-Za-z0-9_]*
    | [{}\[\],:]
    | [^\s"'A-Za-z_{}\[\],:]+
    | \s+
    | .
    """,
    re.DOTALL | re.VERBOSE,
)
_IN_SINGLE_QUOTES = re.compile(r"\\.|\"", re.DOTALL)
_WORDS = {"True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class Repair:
    """The object that a text means, and in words what was done to read it."""

    parameters: dict[str, Any]
    steps: tuple[str, ...]


def repair_arguments(text: str) -> Repair | None:
    """Read a text that the strict reader refused; None where it means no object, or not surely one. Raises nothing."""
    steps: list[str] = []
    if (fenced := _FENCED.fullmatch(text)) is not None:
        text = fenced["inner"]
        steps.append("taken out of a code fence")
    if (decoded := _inner_text(text)) is not None:
        text = decoded
        steps.append("decoded once more")
    if not text.lstrip().startswith("{"):
        return None
    parameters, problem = parse_tool_input(text)
    if problem is not None:
        rewritten, rewriting = _as_json(text)
        steps += rewriting
        parameters, problem = parse_tool_input(rewritten)
    return Repair(parameters, tuple(steps)) if problem is None and steps else None


def _inner_text(text: str) -> str | None:
    """The text inside a JSON string, None for everything else."""
    if not text.lstrip().startswith('"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _as_json(text: str) -> tuple[str, list[str]]:
    """The text in JSON's notation, and what differed; it need not be JSON after that."""
    written: list[str] = []
    steps: dict[str, None] = {}
    last, before_last, last_at = "", "", 0
    for token in _TOKEN.findall(text):
        if token.isspace():
            written.append(token)
            continue
        if token in ("}", "]") and last == "," and before_last not in ("", "{", "[", ",", ":"):
            written[last_at] = ""
            steps["comma before a closing bracket left out"] = None
        kept = _in_double_quotes(token) if token[0] == "'" and len(token) > 1 else _WORDS.get(token, token)
        if kept != token:
            steps["Python literals read"] = None
        last_at = len(written)
        written.append(kept)
        last, before_last = token, last
    return "".join(written), list(steps)


def _in_double_quotes(token: str) -> str:
    """A single-quoted string as a JSON string; one whose escapes JSON reads otherwise stays as it is."""
    inner = token[1:-1]
    if "\\/" in inner:
        return token
    return '"' + _IN_SINGLE_QUOTES.sub(_requoted, inner) + '"'


def _requoted(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match.group(), match.group())
