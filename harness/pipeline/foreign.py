"""Functions that were not written for this pipeline, as tools whose results have one explicit status (G06).

Elsewhere a failure is often a body that says so (``{"ok": false}``) and arrives as a success; a breaker that trusts it
never opens. Here the status is read out of the body once, at the border.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.pipeline.registry import ToolFunction
from harness.pipeline.result import ErrorCode, ToolResult

_FALSE_MEANS_FAILED = ("ok", "success", "succeeded")
_TRUE_MEANS_FAILED = ("isError", "is_error", "failed")
_FAILED_STATUSES = frozenset({"error", "errored", "failed", "failure"})
_REASONS = ("error", "errors", "message", "detail", "reason", "content")


def adapted(function: Callable[[str], object]) -> ToolFunction:
    """``function`` for `ToolRegistry.register_function`, whatever it returns; what it raises goes on up."""
    return lambda text: foreign_result(function(text))


def foreign_result(value: object) -> ToolResult:
    """What some function returned, as a ToolResult; a ToolResult stays as it is.

    A mapping, or a text that is a JSON object, becomes ``data``. It is an error (EXECUTION_ERROR) when ``ok`` or
    ``success`` is false, ``isError`` (MCP) or ``failed`` true, ``status`` says error or failed, or there is an
    ``error`` or there are ``errors`` and nothing of the former says the opposite. Any other text is a success. Raises
    TypeError for what JSON cannot say.
    """
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        body = _json_object(value)
        return ToolResult.success(value) if body is None else _of_body(body)
    if isinstance(value, Mapping):
        return _of_body(value)
    return ToolResult.success("" if value is None else _json(value), {} if value is None else {"value": value})


def _of_body(body: Mapping[str, Any]) -> ToolResult:
    if not _failed(body):
        return ToolResult.success(_text(body.get("content")) or _json(body), body)
    reason = next((text for key in _REASONS if (text := _text(body.get(key)))), _json(body))
    return ToolResult.error(ErrorCode.EXECUTION_ERROR, reason, body)


def _failed(body: Mapping[str, Any]) -> bool:
    said = [body[key] for key in _FALSE_MEANS_FAILED if isinstance(body.get(key), bool)]
    said += [not body[key] for key in _TRUE_MEANS_FAILED if isinstance(body.get(key), bool)]
    status = body.get("status")
    if not all(said) or (isinstance(status, str) and status.lower() in _FAILED_STATUSES):
        return True
    return not said and bool(body.get("error") or body.get("errors"))


def _text(value: object) -> str:
    """The words in a reason: a text, ``{"message": …}``, MCP's list of ``{"text": …}``, or several of them."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        return _text(value.get("message")) or _text(value.get("text"))
    if isinstance(value, Sequence):
        return "\n".join(text for item in value if (text := _text(item)))
    return ""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
