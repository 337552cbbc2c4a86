"""Exchanges and texts without their secrets."""

from __future__ import annotations

import gzip
import re
import threading
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response
from harness.wire.secret_headers import is_secret_header
from harness.wire.secrets import shapes
from harness.wire.secrets.bodies import EditsOf, document_edits, edits_for, readable
from harness.wire.secrets.finder import Secret, SecretFinder
from harness.wire.secrets.stream import Edit

_ENCODING = ("utf-8", "surrogatepass")
_USERINFO = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:([^/?#@]*):)?([^/?#@]+)@")
_PARAMETER = re.compile(r"([?&;#])([^=&;#?]{1,100})=([^&;#]+)")
_CREDENTIAL = re.compile(r"(?:(?:bearer|basic|token)\s+)?(\S+)", re.IGNORECASE)
_KNOWN_FROM = 12  # a shorter credential of a header is not looked for elsewhere: it could be any word
_PLACEHOLDER = re.compile(shapes.PLACEHOLDER.pattern.encode())


class Scrubber:
    """Replaces secrets by placeholders: the same secret by the same one as long as the scrubber lives.

    Headers that hold credentials, cookies or the name of an account are left out. In URLs, in other headers and in
    bodies a secret becomes ``<openai-key-1>``, ``<password-2>``, …, numbered in the order of appearance; see
    `SecretFinder` for what is one. ``patterns`` are further regular expressions. What is scrubbed stays as it is when
    scrubbed again, also by another scrubber; the numbers of placeholders seen are not given to other secrets.

    Everything else keeps its bytes. ``content-length`` and the ends of chunks follow the body. A gzip or deflate body
    that holds a secret is packed again, its chunks cut in proportion; one that holds none is not touched. Bodies in
    other encodings cannot be read: they stay, and ``unreadable`` counts them. A scrubber may be shared between threads.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        """Raises InputError for a pattern that is no regular expression."""
        self._finder = SecretFinder(patterns)
        self._placeholders: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()
        self._lock = threading.RLock()
        self.unreadable = 0

    @property
    def replaced(self) -> Mapping[str, int]:
        """How often each placeholder was put in; it does not say what for."""
        with self._lock:
            return dict(self._replaced)

    def exchange(self, exchange: Exchange) -> Exchange:
        """The exchange without secrets on either side."""
        with self._lock:
            return replace(exchange, request=self.request(exchange.request), response=self.response(exchange.response))

    def request(self, request: Request) -> Request:
        """The request without secrets; credentials of its headers are known from then on, wherever they turn up."""
        with self._lock:
            self._learn(request.headers)
            url = self.url(request.url)
            body, _ = self._body(request.body, request.headers, (), streamed=False)
            headers = self._headers(request.headers, len(request.body), len(body))
            return replace(request, url=url, headers=headers, body=body)

    def response(self, response: Response) -> Response:
        """The response without secrets, its chunks fitting."""
        with self._lock:
            try:
                streamed = response.streamed
            except ValueError:  # a damaged gzip body
                streamed = False
            body, chunks = self._body(response.body, response.headers, response.chunks, streamed=streamed)
            headers = self._headers(response.headers, len(response.body), len(body))
            return replace(response, headers=headers, body=body, chunks=chunks)

    def reserve(self, content: bytes) -> None:
        """Keep the numbers of placeholders that are there already (a file is gone on with) from new secrets."""
        with self._lock:
            for kind, number in _PLACEHOLDER.findall(content):
                self._numbers[kind.decode()] = max(self._numbers[kind.decode()], int(number))

    def text(self, text: str) -> str:
        """A text, or a JSON document as text, without secrets."""
        content = self.document(text.encode(*_ENCODING))
        try:
            return content.decode(*_ENCODING)
        except UnicodeDecodeError:  # a secret that ends within the bytes of half a surrogate pair
            return content.decode("utf-8", "replace")

    def document(self, content: bytes) -> bytes:
        """The bytes of a text or of a JSON document without secrets."""
        with self._lock:
            return self._edited(content, (), document_edits)[0]

    def url(self, url: str) -> str:
        """A URL without the secrets of its user part and its parameters."""
        with self._lock:
            if found := _USERINFO.match(url):
                user = f"{found[2]}:" if found[2] is not None else ""
                url = f"{found[1]}{user}{self._placed(found[3], 'password')}@{url[found.end() :]}"
            return self.text(_PARAMETER.sub(self._parameter, url))

    def _parameter(self, found: re.Match[str]) -> str:
        if not shapes.is_secret_parameter(unquote(found[2])):
            return found[0]
        return f"{found[1]}{found[2]}={self._placed(found[3], shapes.key_kind(found[2]))}"

    def _placed(self, value: str, kind: str) -> str:
        """A credential of a URL as its placeholder; its shape, if it has one, outweighs the name."""
        plain = unquote(value)
        if shapes.PLACEHOLDER.fullmatch(plain):
            return value
        found = self._finder.find(plain)
        if found and found[0][:2] == (0, len(plain)):
            kind = found[0].kind
        return self._name(Secret(0, len(plain), kind, plain))

    def _learn(self, headers: Headers) -> None:
        for name, value in headers:
            if not is_secret_header(name) or "cookie" in name.lower():
                continue
            found = _CREDENTIAL.fullmatch(value.strip())
            if found and len(found[1]) >= _KNOWN_FROM and not shapes.is_dummy(found[1]):
                self._finder.learn(found[1])

    def _headers(self, headers: Headers, before: int, after: int) -> Headers:
        kept = []
        for name, value in headers:
            if is_secret_header(name):
                continue
            if name.lower() == "content-length" and before != after and value.strip() == str(before):
                kept.append((name, str(after)))
            else:
                kept.append((name, self.text(value)))
        return tuple(kept)

    def _body(
        self, body: bytes, headers: Headers, chunks: tuple[Chunk, ...], *, streamed: bool
    ) -> tuple[bytes, tuple[Chunk, ...]]:
        plain = readable(body, headers)
        if plain is None:
            self.unreadable += 1
            return body, chunks
        packed = plain is not body
        ends = () if packed else tuple(chunk.end for chunk in chunks)
        after, ends = self._edited(plain, ends, edits_for(headers, plain, streamed=streamed))
        if after == plain:
            return body, chunks
        if packed:
            after = gzip.compress(after, mtime=0) if body.startswith(b"\x1f\x8b") else zlib.compress(after)
            ends = tuple(_in_proportion(chunk.end, len(body), len(after)) for chunk in chunks)
        return after, tuple(replace(chunk, end=end) for chunk, end in zip(chunks, ends, strict=True))

    def _edited(self, content: bytes, ends: tuple[int, ...], edits_of: EditsOf) -> tuple[bytes, tuple[int, ...]]:
        """Look and replace until nothing is found: a placeholder may have uncovered what stands beside it."""
        while True:
            self.reserve(content)
            edits, _ = edits_of(content, self._finder.find, self._name)
            if not edits:
                return content, ends
            content, ends = _applied(content, ends, edits)

    def _name(self, secret: Secret) -> str:
        if secret.value not in self._placeholders:
            self._numbers[secret.kind] += 1
            self._placeholders[secret.value] = f"<{secret.kind}-{self._numbers[secret.kind]}>"
        placeholder = self._placeholders[secret.value]
        self._replaced[placeholder] += 1
        return placeholder


def _applied(content: bytes, ends: tuple[int, ...], edits: Sequence[Edit]) -> tuple[bytes, tuple[int, ...]]:
    """The content with ascending edits made, and where the ends now are; one inside an edit stays inside it."""
    pieces: list[bytes] = []
    moved: list[int] = []
    waiting = iter(ends)
    end = next(waiting, None)
    position = shift = 0
    for edit in edits:
        while end is not None and end <= edit.start:
            moved.append(end + shift)
            end = next(waiting, None)
        while end is not None and end < edit.end:
            moved.append(edit.start + shift + min(end - edit.start, len(edit.new)))
            end = next(waiting, None)
        pieces += (content[position : edit.start], edit.new)
        position = edit.end
        shift += len(edit.new) - (edit.end - edit.start)
    pieces.append(content[position:])
    while end is not None:
        moved.append(end + shift)
        end = next(waiting, None)
    return b"".join(pieces), tuple(moved)


def _in_proportion(end: int, before: int, after: int) -> int:
    return after if end >= before else end * after // before
