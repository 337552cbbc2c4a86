"""Secrets that a recording still holds (bug reports H05, H06); none is ever printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.cassette.linting.finding import Note, Rule, Severity, View
from harness.wire.exchange import Headers
from harness.wire.secret_headers import ACCOUNT_HEADERS, is_secret_header
from harness.wire.secrets import Scrubber, SecretFinder
from harness.wire.secrets.bodies import edits_for
from harness.wire.secrets.json_text import path_at
from harness.wire.secrets.shapes import ACCOUNT_KINDS, PLACEHOLDER, is_dummy

_TODO = "revoke it if it is real, and record again: recorders of this harness take it out"
_ACCOUNT_TODO = "record again, or remove it: it names an account"
# What content networks set on every answer; bound to an address, gone within the hour.
_NETWORK_COOKIE = re.compile(r"\s*(?:__cf_bm|_cfuvid|__cflb|cf_clearance|AWSALB\w*)=", re.IGNORECASE)
_TEST_VALUE = re.compile(
    r"(?:^|[^A-Za-z0-9])(?:test|dummy|fake|mock|example|sample|none|unused)(?:$|[^A-Za-z0-9])",
    re.IGNORECASE,
)


class SecretRules:
    """The rules that look for secrets; they share the user's own patterns."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._patterns = patterns
        self._finder = SecretFinder(patterns)
        self.rules: tuple[Rule, ...] = (self.headers, self.urls, self.bodies)

    def headers(self, view: View) -> Iterator[Note]:
        """No header holds a credential or names an account."""
        for side, headers in self._sides(view):
            for name, value in headers:
                if is_secret_header(name):
                    yield from _header(f"{side} header {name.lower()}", name.lower(), value)
                elif self._finder.find(value):
                    kinds = ", ".join(sorted({secret.kind for secret in self._finder.find(value)}))
                    path = f"{side} header {name.lower()}"
                    yield Note(path, "secret_left", Severity.ERROR, f"the header holds a secret ({kinds})", _TODO)

    def urls(self, view: View) -> Iterator[Note]:
        """No URL holds a credential."""
        scrubber = Scrubber(self._patterns)
        scrubber.url(view.exchange.request.url)
        for placeholder in scrubber.replaced:
            kind = PLACEHOLDER.sub(r"\1", placeholder)
            yield _note("request url", kind, "the URL")

    def bodies(self, view: View) -> Iterator[Note]:
        """No body holds a secret, in whatever pieces."""
        exchange = view.exchange
        sides = (
            ("request", exchange.request.headers, view.request_body, False),
            ("response", exchange.response.headers, view.response_body, view.streamed),
        )
        for side, headers, body, streamed in sides:
            if not body:
                continue
            looked = edits_for(headers, body, streamed=streamed)
            _, found = looked(body, self._finder.find, lambda _: "")
            for secret, at in found:
                if streamed:
                    path = f"{side} event {body.count(b'data:', 0, at + 5) - 1}"
                else:
                    path = f"{side} {path_at(body.decode('latin-1'), at)}"
                yield _note(path, secret.kind, f"a text of {len(secret.value)} characters")

    @staticmethod
    def _sides(view: View) -> Iterator[tuple[str, Headers]]:
        yield "request", view.exchange.request.headers
        yield "response", view.exchange.response.headers


def _header(path: str, name: str, value: str) -> Iterator[Note]:
    if is_dummy(value) or PLACEHOLDER.search(value) or _TEST_VALUE.search(value.replace("_", " ")):
        return
    if is_dummy(value.partition(" ")[2]) and value.partition(" ")[2]:
        return
    if name in ACCOUNT_HEADERS:
        yield Note(path, "account_left", Severity.WARNING, "the header names an account", _ACCOUNT_TODO)
    elif "cookie" in name and all(_NETWORK_COOKIE.match(part) for part in _cookies(name, value)):
        what = "the header holds a cookie of a content network"
        yield Note(path, "cookie_left", Severity.WARNING, what, "remove it: it is of no use to a replay")
    else:
        yield Note(path, "secret_left", Severity.ERROR, "the header holds a credential", _TODO)


def _cookies(name: str, value: str) -> list[str]:
    """The cookies of a header; in ``set-cookie`` what follows the first is about it."""
    parts = [part for part in value.split(";") if part.strip()]
    return parts[:1] if name.startswith("set-") else parts


def _note(path: str, kind: str, where: str) -> Note:
    if kind in ACCOUNT_KINDS:
        what = f"{where} names an account ({kind})"
        return Note(path, "account_left", Severity.WARNING, what, _ACCOUNT_TODO)
    return Note(path, "secret_left", Severity.ERROR, f"{where} looks like a secret ({kind})", _TODO)
