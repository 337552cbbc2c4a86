"""What to change in a body, by the kind of body; all functions look once and say what they found."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote_plus

from harness.wire.exchange import Headers, decoded, header
from harness.wire.secrets import shapes
from harness.wire.secrets.finder import Secret
from harness.wire.secrets.json_text import values
from harness.wire.secrets.stream import Edit, Find, Found, Name, stream_edits, text_edits

Edits = tuple[list[Edit], list[Found]]
EditsOf = Callable[[bytes, Find, Name], Edits]

_PARAMETER = re.compile(rb"(?:^|[&;])([^=&;]{1,100})=([^&;]+)")
_TEXT_STARTS = (b"{", b"[", b"<", b'"', b":", b"data:", b"event:", b"id:", b"retry:")
_SPACE = b"\xef\xbb\xbf \r\n\t"
_FORM = "application/x-www-form-urlencoded"


def readable(body: bytes, headers: Headers) -> bytes | None:
    """The body without its content-encoding, None where that is unknown or damaged."""
    try:
        plain = decoded(body, headers)
    except ValueError:
        return None
    encoding = (header(headers, "content-encoding") or "").strip().lower()
    unknown = encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}
    if plain is body and unknown and not plain.lstrip(_SPACE).startswith(_TEXT_STARTS):
        return None
    return plain


def edits_for(headers: Headers, plain: bytes, *, streamed: bool) -> EditsOf:
    """The way to look at a body."""
    if _FORM in (header(headers, "content-type") or ""):
        return _form_edits
    if streamed and plain.lstrip(_SPACE)[:1] not in {b"{", b"["}:
        return stream_edits
    return _document_edits


def document_edits(content: bytes, find: Find, name: Name) -> Edits:
    """A JSON document, or any text."""
    found: list[Found] = []
    return list(text_edits(content, 0, find, name, found)), found


def _document_edits(content: bytes, find: Find, name: Name) -> Edits:
    """An answer's log probabilities go with the text that they spell out token by token."""
    edits, found = document_edits(content, find, name)
    if not edits or b'"logprobs"' not in content:
        return edits, found
    places = {value.path: (value.start, value.end) for value in values(content.decode("latin-1"))}
    for path, (start, end) in places.items():
        if len(path) != 3 or path[0] != "choices" or path[2] != "logprobs" or content[start:end] == b"null":
            continue
        first, last = places[path[:2]]
        if any(first <= edit.start < last for edit in edits):
            edits = [edit for edit in edits if not start <= edit.start < end]
            edits.append(Edit(start, end, b"null"))
    return sorted(edits), found


def _form_edits(content: bytes, find: Find, name: Name) -> Edits:
    edits: list[Edit] = []
    found: list[Found] = []
    for parameter in _PARAMETER.finditer(content):
        key = unquote_plus(parameter[1].decode("latin-1"))
        value = unquote_plus(parameter[2].decode("latin-1"))
        if shapes.is_secret_parameter(key) and not shapes.PLACEHOLDER.fullmatch(value):
            secret = Secret(0, len(value), shapes.key_kind(key), value)
            edits.append(Edit(*parameter.span(2), name(secret).encode()))
            found.append(Found(secret, parameter.start(2)))
    return (edits, found) if edits else document_edits(content, find, name)
