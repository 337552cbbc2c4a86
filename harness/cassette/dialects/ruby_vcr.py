"""Cassettes of Ruby's VCR, versions 2 to 6, in YAML or JSON.

https://github.com/vcr/vcr: interactions under ``http_interactions``, bodies as text with the name of its encoding, as
``!binary`` or ``base64_string``; methods in lower case. VCR's filters put placeholders into the file, so a URI may be
``<API_BASE>/chat/completions``; it stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.cassette.dialects import fields
from harness.wire.exchange import Request, Response

NAME = "ruby-vcr"
KEY = "http_interactions"

# Ruby's name for bytes of no particular encoding; what of it is text in the file is ASCII, or was UTF-8.
_NO_ENCODING = "ASCII-8BIT"


def read_interaction(entry: object) -> tuple[Request, Response]:
    """One interaction; raises FieldError with what is wrong with it."""
    asked = fields.section(entry, "request")
    answered = fields.section(entry, "response")
    status = answered.get("status")
    status = status if isinstance(status, Mapping) else {"code": status}
    request = Request(
        method=fields.text(asked, "method", "get").upper(),
        url=fields.text(asked, "uri"),
        headers=fields.headers(asked),
        body=_body(asked.get("body")),
    )
    response = Response(
        status=fields.status_code(status.get("code")),
        headers=fields.headers(answered),
        body=_body(answered.get("body")),
        reason=fields.text(status, "message", ""),
    )
    return request, response


def _body(value: object) -> bytes:
    """The bytes that VCR would play: text goes back to the encoding it had."""
    if not isinstance(value, Mapping) or not isinstance(text := value.get("string"), str):
        return fields.wrapped_body(value)
    encoding = fields.text(value, "encoding", _NO_ENCODING)
    if encoding == _NO_ENCODING:
        return fields.body_bytes(text)
    try:
        return text.encode(encoding)
    except (LookupError, UnicodeEncodeError):  # a label that is not true: VCR plays the text as it stands
        return fields.body_bytes(text)
