"""Cassettes of go-vcr, versions 1 to 4.

https://github.com/dnaeon/go-vcr: flat string bodies, ``url``, a status text beside a status code. Its transport has
undone the content encoding (``uncompressed: true``) and keeps no chunk boundaries.
"""

from __future__ import annotations

from harness.cassette.dialects import fields
from harness.wire.exchange import Request, Response

NAME = "go-vcr"


def read_interaction(entry: object) -> tuple[Request, Response]:
    """One interaction; raises FieldError with what is wrong with it."""
    asked = fields.section(entry, "request")
    answered = fields.section(entry, "response")
    status = answered.get("status")
    code = next((answered[key] for key in ("code", "status_code") if answered.get(key) is not None), status)
    request = Request(
        method=fields.text(asked, "method", "") or "GET",
        url=fields.text(asked, "url"),
        headers=fields.headers(asked),
        body=fields.body_bytes(asked.get("body")),
    )
    number = fields.status_code(code)
    response = Response(
        status=number,
        headers=fields.headers(answered),
        body=fields.body_bytes(answered.get("body")),
        reason=_reason(status, number),
    )
    return request, response


def _reason(status: object, code: int) -> str:
    """The phrase of ``200 OK``; net/http puts the code before it, other writers leave it out."""
    return status.removeprefix(str(code)).strip() if isinstance(status, str) else ""
