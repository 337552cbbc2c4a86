"""What happens to each request and response before vcrpy keeps or compares it, and how requests are compared.

Each request is scrubbed by itself, with placeholders numbered from 1. So the same request always becomes the same text,
when it is recorded and when it is asked for again; the price is that a placeholder may stand for different secrets in
different requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from vcr.request import Request as VcrRequest

from harness.cassette.differences import first_difference
from harness.cassette.scrubbing import Scrubber, scrub_headers
from harness.wire.exchange import Exchange, Headers, Request, Response, decoded
from harness.wire.half_pairs import dumps, loads

_CANONICAL = "_harness_canonical"


def scrubbed_request(request: Any) -> Any:
    """A vcrpy request without secrets and without the client's self-description."""
    body, back = _bytes_of(request)
    headers = tuple((str(name), str(value)) for name, value in request.headers.items())
    plain = Scrubber().request(Request(request.method, request.uri, headers, body))
    kept = scrub_headers(Exchange(plain, Response(200))).request
    return VcrRequest(kept.method, kept.url, back(kept.body), dict(kept.headers))


def scrubbed_response(response: dict[str, Any]) -> dict[str, Any]:
    """A vcrpy response without secrets; its chunks are dropped where they no longer fit."""
    body = response.get("body")
    content = body.get("string") if isinstance(body, Mapping) else None
    before = content.encode() if isinstance(content, str) else content or b""
    headers = tuple((str(name), str(value)) for name, values in response["headers"].items() for value in _list(values))
    plain = Scrubber().response(Response(response["status"]["code"], headers, before))
    kept = scrub_headers(Exchange(Request("GET", ""), plain)).response
    changed = {**response, "headers": _grouped(kept.headers)}
    if kept.body != before:
        changed["body"] = {"string": kept.body}
        changed.pop("chunks", None)
    return changed


def canonical_body(asked: Any, recorded: Any) -> None:
    """The matcher for bodies: equal as JSON, whatever the order of keys and the spaces; else equal in bytes.

    Raises AssertionError with the first difference, as vcrpy expects of a matcher.
    """
    new, old = _canonical(asked), _canonical(recorded)
    if new == old:
        return
    values = [_json_of(one) for one in (recorded, asked)]
    found = first_difference(*values) if None not in values else None
    if found is None:
        raise AssertionError(f"the bodies differ ({len(old)} bytes recorded, {len(new)} in this request)")
    before, after = found.shown()
    raise AssertionError(f"{found.path} was recorded as {before} and is {after} in this request")


def _canonical(request: Any) -> bytes:
    """Kept on the request: vcrpy compares each recorded one with each request that is made."""
    known = getattr(request, _CANONICAL, None)
    if isinstance(known, bytes):
        return known
    value = _json_of(request)
    canonical = _bytes_of(request)[0] if value is None else dumps(value, option=orjson.OPT_SORT_KEYS)
    setattr(request, _CANONICAL, canonical)
    return canonical


def _json_of(request: Any) -> Any:
    """The body as JSON, or None; null alone is no body that anybody sends."""
    try:
        return loads(decoded(_bytes_of(request)[0], tuple(request.headers.items())))
    except ValueError:
        return None


def _bytes_of(request: Any) -> tuple[bytes, Any]:
    """The body as bytes, and how to make from such bytes what it was (aiohttp's ``json=`` is kept as data)."""
    body = request.body_bytes
    if body is None:
        return b"", lambda changed: changed or None
    if isinstance(body, (bytes, bytearray)):
        return bytes(body), bytes
    return dumps(body), loads


def _grouped(headers: Headers) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return grouped


def _list(values: object) -> list[object]:
    return values if isinstance(values, list) else [values]
