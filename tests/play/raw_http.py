"""An HTTP client that sees what the real ones hide: each frame of a chunked body, and how the body ended."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urlsplit

import orjson


@dataclass
class RawAnswer:
    """``pieces`` are the frames of a chunked body, or the body in one; ``whole`` whether it came to its end."""

    status: int
    headers: list[tuple[str, str]]
    pieces: list[bytes]
    whole: bool

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


@contextmanager
def asking(url: str, body: object = None, method: str = "POST", headers: str = "") -> Iterator[BinaryIO]:
    """Send a request; gives what can be read of the answer."""
    parts = urlsplit(url)
    content = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    head = f"{method} {target} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-length: {len(content)}\r\n{headers}\r\n"
    with socket.create_connection((parts.hostname or "", parts.port or 80), 20) as connection:
        connection.sendall(head.encode() + content)
        with connection.makefile("rb") as reader:
            yield reader


def ask(url: str, body: object = None, method: str = "POST", headers: str = "") -> RawAnswer:
    with asking(url, body, method, headers) as reader:
        return read_answer(reader, method)


def read_head(reader: BinaryIO) -> tuple[int, list[tuple[str, str]]]:
    status = int(reader.readline().split()[1])
    headers = []
    while (line := reader.readline().rstrip(b"\r\n")) != b"":
        name, _, value = line.decode("latin-1").partition(": ")
        headers.append((name.lower(), value))
    return status, headers


def read_answer(reader: BinaryIO, method: str = "POST") -> RawAnswer:
    status, headers = read_head(reader)
    found = dict(headers)
    if method == "HEAD" or status in (204, 304):
        return RawAnswer(status, headers, [], whole=True)
    if "transfer-encoding" not in found:
        length = int(found["content-length"])
        body = reader.read(length)
        return RawAnswer(status, headers, [body], whole=len(body) == length)
    pieces: list[bytes] = []
    while size := reader.readline().strip():
        if int(size, 16) == 0:
            return RawAnswer(status, headers, pieces, whole=reader.readline() == b"\r\n")
        piece = reader.read(int(size, 16))
        assert reader.read(2) == b"\r\n"
        pieces.append(piece)
    return RawAnswer(status, headers, pieces, whole=False)
