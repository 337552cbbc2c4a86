"""What must not, or need not, reach a recording.

So far headers only: credentials and account names, which would be published with the file, and the client's
self-description, which changes with every update and matters to no replay.
"""

from __future__ import annotations

from dataclasses import replace

from harness.wire.exchange import Exchange, Headers
from harness.wire.secret_headers import SECRET_HEADERS

VOLATILE_PREFIXES = ("user-agent", "x-stainless-")


def scrub_headers(exchange: Exchange) -> Exchange:
    """The exchange without secret headers on either side and without volatile request headers."""
    request = replace(exchange.request, headers=_kept(exchange.request.headers, VOLATILE_PREFIXES))
    response = replace(exchange.response, headers=_kept(exchange.response.headers, ()))
    return replace(exchange, request=request, response=response)


def _kept(headers: Headers, prefixes: tuple[str, ...]) -> Headers:
    return tuple(
        (name, value)
        for name, value in headers
        if name.lower() not in SECRET_HEADERS and not name.lower().startswith(prefixes)
    )
