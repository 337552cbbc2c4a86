"""Fields that the dialects share. All functions raise FieldError with a text for the person who owns the file."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from harness.wire.exchange import Headers


class FieldError(Exception):
    """What is wrong with an interaction; the reader of the file adds where."""


def section(entry: object, name: str) -> Mapping[str, Any]:
    """The ``request`` or ``response`` of an interaction."""
    if not isinstance(entry, Mapping):
        raise FieldError(f"an interaction is a mapping with request and response, this is {kind_of(entry)}")
    if name not in entry:
        raise FieldError(f"the interaction has no {name}")
    value = entry[name]
    if not isinstance(value, Mapping):
        raise FieldError(f"{name} is not a mapping but {kind_of(value)}")
    return value


def text(owner: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """A field that must be text; ``default`` stands in where it is absent or null."""
    value = owner.get(name)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise FieldError(f"{name} is missing" if value is None else f"{name} is not text but {kind_of(value)}")
    return value


def headers(owner: Mapping[str, Any]) -> Headers:
    """Headers kept as a mapping from name to a text or a list of texts."""
    value = owner.get("headers")
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise FieldError(f"headers are not a mapping but {kind_of(value)}")
    pairs: list[tuple[str, str]] = []
    for name, values in value.items():
        pairs.extend((str(name), _header_text(name, one)) for one in (values if isinstance(values, list) else [values]))
    return tuple(pairs)


def body_bytes(value: object) -> bytes:
    """A body as text (UTF-8), as bytes, or absent."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise FieldError(f"the body is no valid text: {error.reason}") from error
    if value is None:
        return b""
    raise FieldError(f"the body is neither text nor bytes but {kind_of(value)}")


def wrapped_body(value: object) -> bytes:
    """A body as `body_bytes` takes it, or a mapping that holds one under ``string`` or ``base64_string``."""
    if not isinstance(value, Mapping):
        return body_bytes(value)
    if "base64_string" in value:
        try:
            return base64.b64decode(b"".join(body_bytes(value["base64_string"]).split()), validate=True)
        except binascii.Error as error:
            raise FieldError(f"base64_string cannot be decoded: {error}") from error
    if "string" not in value:
        raise FieldError(f"the body has neither string nor base64_string, it is {kind_of(value)}")
    return body_bytes(value["string"])


def is_data(body: object) -> bool:
    """Whether a body is neither text, bytes nor a wrapping of them, but a JSON value kept as data."""
    return isinstance(body, list) or (isinstance(body, Mapping) and not body.keys() & {"string", "base64_string"})


def json_bytes(value: object) -> bytes:
    """A body that the recorder kept as data, as compact JSON in the order of the file."""
    try:
        # The standard library's: it has numbers of any size, and NaN, which Python's recorders read and write.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")  # half a surrogate pair stays an escape
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldError(f"the body cannot be written as JSON: {error}") from error


def status_code(value: object) -> int:
    """An HTTP status as a number or as text that begins with one (``200 OK``)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (digits := value.strip().partition(" ")[0]).isdecimal():
        return int(digits)
    raise FieldError("the response has no status code" if value is None else f"{value!r} is no status code")


def kind_of(value: object) -> str:
    """What a value is, in the words of the file format."""
    if isinstance(value, Mapping):
        names = ", ".join(str(name) for name in list(value)[:6])
        return f"a mapping with the keys {names}" if names else "an empty mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    names_of_types = {str: "text", bytes: "bytes", int: "a number", float: "a number", bool: "true or false"}
    return names_of_types.get(type(value), "nothing" if value is None else type(value).__name__)


def _header_text(name: object, value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if value is None:
        return ""
    if isinstance(value, (str, int, float)):
        return str(value)
    raise FieldError(f"the header {name} is not text but {kind_of(value)}")
