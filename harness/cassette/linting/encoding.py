"""Headers that say something untrue of their body (bug reports H03, H04, H27).

https://www.rfc-editor.org/rfc/rfc9110#name-content-encoding. Clients differ in what they make of it: httpx raises,
requests lets it pass; `harness` itself decodes by the body. So one recording passes here and fails there.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.cassette.linting.finding import Note, Severity, View
from harness.wire.exchange import Headers, header

_GZIP = b"\x1f\x8b"
_WITHOUT_BODY = frozenset({204, 304})


def content_encoding(view: View) -> Iterator[Note]:
    """``content-encoding`` and body agree; an empty body agrees with everything."""
    exchange = view.exchange
    sides = (
        ("request", exchange.request.headers, exchange.request.body, view.request_body),
        ("response", exchange.response.headers, exchange.response.body, view.response_body),
    )
    for side, headers, body, plain in sides:
        if body:
            yield from _encoding(f"{side} header content-encoding", headers, body, plain)


def _encoding(path: str, headers: Headers, body: bytes, plain: bytes | None) -> Iterator[Note]:
    encoding = (header(headers, "content-encoding") or "").strip().lower()
    packed = body.startswith(_GZIP)
    if plain is None and (packed or encoding == "deflate"):
        what = f"the body says {encoding or 'gzip'} and cannot be decoded: it is damaged or cut off"
        yield Note(path, "body_damaged", Severity.ERROR, what, "record it again")
    elif plain is None:
        what = f"the body is encoded as {encoding}, which cannot be read here: neither its content nor secrets in it"
        todo = "record it with accept-encoding: gzip or identity"
        yield Note(path, "encoding_unknown", Severity.WARNING, what, todo)
    elif packed and encoding not in {"gzip", "x-gzip"}:
        what = f"the body is gzip and the header says {encoding or 'nothing'}"
        yield Note(path, "content_encoding", Severity.ERROR, what, "add content-encoding: gzip, or store it unpacked")
    elif encoding not in {"", "identity"} and plain is body:
        what = f"the header says {encoding} and the body is not encoded: the recorder decoded it and kept the header"
        yield Note(path, "content_encoding", Severity.ERROR, what, "remove the header from the recording")


def content_length(view: View) -> Iterator[Note]:
    """``content-length`` is the number of bytes; answers to HEAD and those without a body say what would be there."""
    exchange = view.exchange
    bodyless = exchange.request.method.upper() == "HEAD" or exchange.response.status in _WITHOUT_BODY
    sides = [("request", exchange.request.headers, exchange.request.body)]
    if not bodyless:
        sides.append(("response", exchange.response.headers, exchange.response.body))
    for side, headers, body in sides:
        length = (header(headers, "content-length") or "").strip()
        # Recorders of Go write -1 where the length was not known.
        if length in {"", "-1"} or length == str(len(body)):
            continue
        what = f"it says {length[:20]} and the body has {len(body)} bytes"
        todo = "remove the header from the recording; if the body was edited or cut, record it again"
        yield Note(f"{side} header content-length", "content_length", Severity.WARNING, what, todo)
