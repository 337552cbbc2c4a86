"""A call that a model wrote into its text, because a server did not take it out (A38).

Only a message that is a call and nothing else counts; prose that shows one is an answer. Text is never run: that a
message is a leak makes it an anomaly, so that a run can say "call emitted as text" where it would say "no call".
"""

from __future__ import annotations

import re
from collections.abc import Collection

import orjson

# What open models' chat templates put around calls; the text within is not looked at.
_MARKUP = re.compile(
    r"<(?P<tag>tool_calls?|function_calls?|toolcall|invoke)\b[^>]*>.*</(?P=tag)>"
    r"|<function=[^>\s]+>.*</function>"
    r"|<\|tool[^>]*begin\|>.*|<\uff5ctool[^>]*begin\uff5c>.*"
    r"|\[TOOL_CALLS\]\s*.+|<\|python_tag\|>\s*.+|functools\[.*\]",
    re.DOTALL,
)
_FENCE = re.compile(r"```(?:json|tool_call|tool_code)?\s*\n(?P<text>.*?)\n?```", re.DOTALL)
_STARTS = ("<", "{", "[", "`", "functools")
_ARGUMENTS = frozenset({"arguments", "parameters"})
_KEYS = _ARGUMENTS | {"name", "id", "type", "function"}


def is_call_in_text(content: str | None, tool_names: Collection[str] = ()) -> bool:
    """Whether a whole message is a call as text: in the markup of a chat template, or as a bare JSON object or array.

    Where ``tool_names`` are known, a bare object has to name one of them: an answer in JSON may have such keys.
    """
    text = (content or "").strip()
    if not text.startswith(_STARTS):
        return False
    if fenced := _FENCE.fullmatch(text):
        text = fenced["text"].strip()
    if _MARKUP.fullmatch(text):
        return True
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    entries = document if isinstance(document, list) else [document]
    return bool(entries) and all(_is_call(entry, tool_names) for entry in entries)


def _is_call(entry: object, tool_names: Collection[str]) -> bool:
    if not isinstance(entry, dict) or not entry.keys() <= _KEYS:
        return False
    function = entry.get("function")
    call = function if isinstance(function, dict) else entry
    name = call.get("name")
    if not isinstance(name, str) or not any(isinstance(call.get(key), dict | str) for key in _ARGUMENTS):
        return False
    return not tool_names or name in tool_names
