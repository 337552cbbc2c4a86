"""What must not, or need not, reach a recording.

`Scrubber` takes out the secrets, see `harness.wire.secrets`; it lies there because saved runs need it too.
`scrub_headers` leaves out whole headers: those with credentials, and the client's self-description, which changes with
every update and matters to no replay.
"""

from __future__ import annotations

from dataclasses import replace

from harness.wire.exchange import Exchange, Headers
from harness.wire.secret_headers import is_secret_header
from harness.wire.secrets import Scrubber

__all__ = ["VOLATILE_PREFIXES", "Scrubber", "recordable", "scrub_headers"]

VOLATILE_PREFIXES = ("user-agent", "x-stainless-")


def recordable(exchange: Exchange, scrubber: Scrubber) -> Exchange:
    """The exchange as it may be written to a cassette: without secrets and without volatile request headers."""
    return scrub_headers(scrubber.exchange(exchange))


def scrub_headers(exchange: Exchange) -> Exchange:
    """The exchange without secret headers on either side and without volatile request headers; bodies as they are."""
    request = replace(exchange.request, headers=_kept(exchange.request.headers, VOLATILE_PREFIXES))
    response = replace(exchange.response, headers=_kept(exchange.response.headers, ()))
    return replace(exchange, request=request, response=response)


def _kept(headers: Headers, prefixes: tuple[str, ...]) -> Headers:
    return tuple(
        (name, value) for name, value in headers if not is_secret_header(name) and not name.lower().startswith(prefixes)
    )
