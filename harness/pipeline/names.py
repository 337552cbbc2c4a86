"""Names of tools: the one name under which the pipeline knows a call, and names that providers take (family B, C).

A name that was resolved is a tool's own, so permission, lock, batching and breaker all go by the same one.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence

from harness.wire.rules import LONGEST_TOOL_NAME, TOOL_NAME

PLACEHOLDER_NAME = "unknown_tool"
"""Stands in the history for a name that no provider takes back: none, or one with characters of another world."""

NAMES_TOLD = 40

_CONTROL_TOKEN = re.compile(r"<[|\uff5c][^<>]*[|\uff5c]>")
_NAMESPACES = ("functions.",)
_ECHO_CHARACTERS = 80
_HASH_CHARACTERS = 8
_UNSENDABLE = re.compile(r"[^A-Za-z0-9_-]")
_INVISIBLE = frozenset({"Cc", "Cf"})


def resolve_name(received: str, is_known: Callable[[str], bool], names: Collection[str]) -> str | None:
    """The tool's own name for what the model sent, or None for an unknown or ambiguous one.

    An exact name wins. Then what surrounds a name is left out: control tokens of a chat template and what follows them
    (vllm-project/vllm#32587), the prefix ``functions.``, spaces, invisible characters. Last, case: one name of
    ``names`` that differs in nothing else (B27); of two neither.
    """
    if received and is_known(received):
        return received
    plain = plain_name(received)
    if not plain or not plain.isascii():
        return None
    if is_known(plain):
        return plain
    alike = [name for name in names if name.lower() == plain.lower()]
    return alike[0] if len(alike) == 1 else None


def plain_name(received: str) -> str:
    """What the model sent without what surrounds a name, in the case in which it came."""
    pieces = [_trimmed(piece) for piece in _CONTROL_TOKEN.split(received)]
    name = next((piece for piece in pieces if piece), "")
    for namespace in _NAMESPACES:
        name = name.removeprefix(namespace)
    return _trimmed(name)


def sendable_name(received: str) -> str:
    """The name under which an unknown call stands in the history: its own if a provider takes it (B28, B30)."""
    plain = plain_name(received)
    return plain if TOOL_NAME.fullmatch(plain) else PLACEHOLDER_NAME


def wire_name(name: str) -> str:
    """A name that providers take for any name: itself, or a shortened one with a hash of the whole (C04, C05).

    The same on every machine, and different for names that only sanitising or shortening would make equal.
    """
    if TOOL_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARACTERS]
    kept = _UNSENDABLE.sub("_", name)[: LONGEST_TOOL_NAME - _HASH_CHARACTERS - 1]
    return f"{kept}_{digest}"


def unknown_tool_text(received: str, names: Sequence[str]) -> str:
    """What a model is told that called no tool of ``names``; at most NAMES_TOLD of them are named (B24).

    What it sent is only echoed, escaped and shortened.
    """
    known = ", ".join(names[:NAMES_TOLD]) or "none"
    if len(names) > NAMES_TOLD:
        known += f" and {len(names) - NAMES_TOLD} more"
    if not received.strip():
        return f"the call names no tool ({received!r}); the tools are: {known}"
    shown = repr(received[:_ECHO_CHARACTERS]) + ("…" if len(received) > _ECHO_CHARACTERS else "")
    near = _nearest(plain_name(received[:_ECHO_CHARACTERS]), names)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no tool {shown}{hint}; the tools are: {known}"


def _nearest(plain: str, names: Sequence[str]) -> list[str]:
    alike = [name for name in names if name.lower() == plain.lower()]
    return alike or difflib.get_close_matches(plain, names, n=1, cutoff=0.75)


def _trimmed(text: str) -> str:
    start, end = 0, len(text)
    while start < end and _surrounds(text[start]):
        start += 1
    while end > start and _surrounds(text[end - 1]):
        end -= 1
    return text[start:end]


def _surrounds(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in _INVISIBLE
