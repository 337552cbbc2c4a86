"""How a request differs from the recorded one: class, JSON path, and the cause in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness.cassette.differences import ABSENT, Difference, first_difference
from harness.cassette.messages import canonical_messages, extensions, leading_system

DriftClass = Literal["system", "tools", "history", "parameters", "model"]

_TOOL_KEYS = ("tools", "functions")


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference. ``path`` is in the request body, ``why`` names the cause with the old and the new value."""

    kind: DriftClass
    path: str
    why: str


def request_drift(recorded: Mapping[str, Any], built: Mapping[str, Any]) -> list[Drift]:
    """The differences of two chat request bodies, at most one of each class; empty when the model sees the same.

    Messages are compared in the protocol's canonical form: call ids by first appearance, arguments as JSON, contents
    character by character. What else differs in messages is `extension_differences`.
    """
    found: list[Drift] = []
    if recorded.get("model") != built.get("model"):
        found.append(Drift("model", "$.model", f"the model was {recorded.get('model')!r}, now {built.get('model')!r}"))
    old, new = canonical_messages(_messages(recorded)), canonical_messages(_messages(built))
    old_start, new_start = leading_system(old), leading_system(new)
    if old[:old_start] != new[:new_start]:
        found.append(_differing("system", old[:old_start], new[:new_start], "$.messages"))
    found += [_differing("tools", recorded.get(key), built.get(key), f"$.{key}") for key in _TOOL_KEYS
              if recorded.get(key) != built.get(key)]  # fmt: skip
    if old[old_start:] != new[new_start:]:
        found.append(_history_drift(old[old_start:], new[new_start:], old_start))
    rest = sorted((recorded.keys() | built.keys()) - {"model", "messages", *_TOOL_KEYS})
    for key in rest:
        if recorded.get(key, ABSENT) != built.get(key, ABSENT):
            found.append(_differing("parameters", recorded.get(key, ABSENT), built.get(key, ABSENT), f"$.{key}"))
            break
    return found


def extension_differences(recorded: Mapping[str, Any], built: Mapping[str, Any]) -> list[str]:
    """Fields outside the protocol that one side sends and the other does not, or differently; sorted names."""
    names: set[str] = set()
    for old, new in zip(_messages(recorded), _messages(built), strict=False):
        before, after = extensions(old), extensions(new)
        names |= {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return sorted(names)


def _history_drift(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]], offset: int) -> Drift:
    position = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    if position is None:
        position = min(len(old), len(new))
        more, side = (old, "recorded request") if len(old) > len(new) else (new, "pipeline's request")
        what = _describe(more[position])
        return Drift("history", f"$.messages[{offset + position}]", f"only the {side} has {what}")
    before, after = old[position], new[position]
    path = f"$.messages[{offset + position}]"
    if before.get("role") != after.get("role"):
        why = f"{_describe(before)} was recorded, the pipeline has {_describe(after)}"
        return Drift("history", path, why)
    if before.get("role") == "tool" and before.get("tool_call_id") != after.get("tool_call_id"):
        why = f"{_describe(before)} was recorded where the pipeline has {_describe(after)}"
        return Drift("history", f"{path}.tool_call_id", why)
    if before.get("role") == "assistant" and before.get("content") != after.get("content"):
        return _text_drift(before, after, f"{path}.content")
    return _differing("history", before, after, path)


def _text_drift(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Drift:
    """The pipeline repeats a model's text as it came, so a difference is the recorded agent's doing."""
    repeated, sent = Difference(path, before.get("content", ""), after.get("content", "")).shown()
    calls = after.get("tool_calls") or ()
    names = ", ".join(str(call["function"]["name"]) for call in calls)
    beside = f" beside the call{'s' if len(calls) > 1 else ''} of {names}" if calls else ""
    return Drift(
        "history",
        path,
        f"the recorded agent repeats other text{beside} than the model sent: recorded {repeated}, built {sent}",
    )


def _differing(kind: DriftClass, old: object, new: object, path: str) -> Drift:
    difference = first_difference(old, new, path)
    if difference is None:
        return Drift(kind, path, "the order of keys or the kind of a number differs")
    before, after = difference.shown()
    return Drift(kind, difference.path, f"recorded {before}, built {after}")


def _describe(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    if role in ("tool", "function"):
        content = str(message.get("content", ""))
        return f"the result of {message.get('tool_call_id') or message.get('name')}: {content[:40]!r}"
    if calls := message.get("tool_calls"):
        names = ", ".join(str(call["function"]["name"]) for call in calls)
        return f"an {role} message calling {names}"
    return f"a message of {role}: {str(message.get('content', ''))[:40]!r}"


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [message for message in body.get("messages") or () if isinstance(message, Mapping)]
