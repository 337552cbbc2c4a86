"""The ToolResult protocol: an immutable object in the pipeline, serialized once at the model boundary (seed 000)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

DEEPEST_VALUE = 128

_LARGEST_INTEGER_BITS = 4096


class ToolStatus(StrEnum):
    """How a call ended. *partial* means that what is shown is not all there is."""

    SUCCESS = "success"
    PARTIAL = "partial"
    ERROR = "error"


class ErrorCode(StrEnum):
    """Why a call ended in an error.

    The first group says what the tool met with. CANCELLED is a run that was stopped from outside, no evidence about the
    tool (bug report G05). All others are refusals: the tool was not run.
    """

    NOT_FOUND = "NOT_FOUND"
    NOT_UNIQUE = "NOT_UNIQUE"
    CONFLICT = "CONFLICT"
    ACCESS_DENIED = "ACCESS_DENIED"
    TIMEOUT = "TIMEOUT"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    INTERNAL_ERROR = "INTERNAL_ERROR"

    CANCELLED = "CANCELLED"

    INVALID_PARAM = "INVALID_PARAM"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    CIRCUIT_OPEN = "CIRCUIT_OPEN"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    TOO_MANY_CALLS = "TOO_MANY_CALLS"
    REPEATED_CALLS = "REPEATED_CALLS"


REFUSALS = frozenset(
    {
        ErrorCode.INVALID_PARAM,
        ErrorCode.UNKNOWN_TOOL,
        ErrorCode.PERMISSION_DENIED,
        ErrorCode.CIRCUIT_OPEN,
        ErrorCode.OUTPUT_LIMIT,
        ErrorCode.TOO_MANY_CALLS,
        ErrorCode.REPEATED_CALLS,
    }
)


class FrozenDict(dict[str, Any]):
    """A dict that refuses every change, and that ``json`` writes like any other."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a ToolResult is immutable; use dataclasses.replace with a new mapping")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))


@dataclass(frozen=True)
class ToolResult:
    """What every tool returns.

    ``text`` is for the model to read, ``data`` the payload (never None), ``stats`` metrics such as ``time_ms``,
    ``context`` where the call ran (``cwd``, ``params_input``). The mappings hold JSON values; they are copied and made
    read-only, lists become tuples, and lone surrogates in texts become U+FFFD, so that a result can always be
    serialized. Raises TypeError for values that JSON has no form for, ValueError for an error without a code, a code
    without an error, and values nested deeper than 128 levels, which the next reader might not survive.
    """

    status: ToolStatus
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    error_code: ErrorCode | None = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"text is a string, not {type(self.text).__name__}")
        if not isinstance(self.status, ToolStatus):
            raise TypeError(f"status is a ToolStatus, not {self.status!r}")
        if self.error_code is not None and not isinstance(self.error_code, ErrorCode):
            raise TypeError(f"error_code is an ErrorCode, not {self.error_code!r}")
        if (self.status is ToolStatus.ERROR) != (self.error_code is not None):
            raise ValueError(f"status {self.status} and error code {self.error_code} do not go together")
        object.__setattr__(self, "text", _writable_text(self.text))
        for name in ("data", "stats", "context"):
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise TypeError(f"{name} is a mapping, not {type(value).__name__}")
            object.__setattr__(self, name, _frozen(value, name))

    @property
    def refused(self) -> bool:
        """Whether the call was turned away before the tool ran."""
        return self.error_code in REFUSALS

    @classmethod
    def success(cls, text: str, data: Mapping[str, Any] | None = None, **stats: Any) -> ToolResult:
        """A result that is all there is."""
        return cls(ToolStatus.SUCCESS, text, data or {}, stats=stats)

    @classmethod
    def partial(cls, text: str, data: Mapping[str, Any] | None = None, **stats: Any) -> ToolResult:
        """A result that leaves something out; ``text`` says what and how to get it."""
        return cls(ToolStatus.PARTIAL, text, data or {}, stats=stats)

    @classmethod
    def error(cls, code: ErrorCode, text: str, data: Mapping[str, Any] | None = None, **stats: Any) -> ToolResult:
        """A call that failed or was refused; ``text`` says why and what to do."""
        return cls(ToolStatus.ERROR, text, data or {}, error_code=code, stats=stats)


def tool_result_payload(result: ToolResult) -> dict[str, Any]:
    """The external form of a result; ``error`` appears only on errors, so that no success is misread (seed 000)."""
    payload: dict[str, Any] = {
        "status": result.status.value,
        "data": result.data,
        "text": result.text,
        "stats": result.stats,
        "context": result.context,
    }
    if result.error_code is not None:
        payload["error"] = {"code": result.error_code.value, "message": result.text}
    return payload


def serialize_tool_result(result: ToolResult) -> str:
    """The text that enters the history: JSON, characters as they are (``ensure_ascii=False``)."""
    return json.dumps(tool_result_payload(result), ensure_ascii=False, allow_nan=False)


def verbatim(result: ToolResult) -> str:
    """A serializer that sends the result's text alone; replay uses it, where recorded results are text."""
    return result.text


def _writable_text(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _frozen(value: Any, path: str, depth: int = 0) -> Any:
    if isinstance(value, str):
        return _writable_text(str(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_INTEGER_BITS:
            raise TypeError(f"{path} has {value.bit_length()} bits, an integer that Python may refuse to write")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{path} is {value}, which JSON cannot say")
        return value
    if depth > DEEPEST_VALUE:
        raise ValueError(f"{path[:80]}… is nested deeper than {DEEPEST_VALUE} levels")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path} has a key {key!r}; JSON keys are strings")
        return FrozenDict(
            {_writable_text(key): _frozen(item, f"{path}.{key}", depth + 1) for key, item in value.items()}
        )
    if isinstance(value, list | tuple):
        return tuple(_frozen(item, f"{path}[{position}]", depth + 1) for position, item in enumerate(value))
    raise TypeError(f"{path} is a {type(value).__name__}, which is not a JSON value")
