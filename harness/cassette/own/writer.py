"""Writing a cassette in the harness's own format: whole, or exchange by exchange while a session is recorded."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.cassette.cassette import Cassette
from harness.cassette.file_lock import open_locked
from harness.cassette.own.encoder import Encoder, header_line
from harness.cassette.own.reader import parse
from harness.cassette.scrubbing import Scrubber, recordable
from harness.errors import InputError
from harness.wire.exchange import Exchange


def dump_cassette(cassette: Cassette) -> bytes:
    """The cassette as a file of this format, as it is: nothing is scrubbed.

    The same exchanges always give the same bytes. Raises InputError for text that is not valid Unicode.
    """
    encoder = Encoder()
    header = header_line(cassette.workspace, cassette.home)
    return header + b"".join(encoder.lines(exchange) for exchange in cassette.exchanges)


class CassetteWriter:
    """Appends to a cassette while a session is recorded; safe to use from several threads.

    Each `add` writes what the exchange adds in one piece and waits until it is on the disk, so a killed recorder loses
    at most the exchange in flight. A file that is there is gone on with: what a killed recorder left behind its last
    whole exchange is cut off first. The file is locked until `close`, or the end of the process.
    """

    def __init__(
        self, path: Path, workspace: str | None = None, home: str | None = None, scrubber: Scrubber | None = None
    ) -> None:
        """Open or create the file; raises InputError where it cannot be gone on with, or another one writes it.

        ``scrubber`` takes the secrets out; by default one of this file, without patterns of the user's own.
        """
        self.path = path
        self._scrubber = scrubber or Scrubber()
        self._folders = {"workspace": workspace, "home": home}
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._encoder: Encoder | None = None
        self._empty = False
        self._descriptor = open_locked(path)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        try:
            self._encoder = self._resumed()
        except BaseException:
            self._close()
            raise

    def add(self, exchange: Exchange) -> None:
        """Store a finished exchange without its secrets.

        Raises OSError when it cannot be written, and InputError when it cannot be stored; the file then holds what it
        held before, and recording can go on.
        """
        with self._lock:
            self._demand_own_process()
            encoder, self._encoder = self._encoder or self._resumed(), None
            end = os.fstat(self._descriptor).st_size
            try:
                self._write(self._lines(encoder, exchange))
            except BaseException:
                # Best effort: whatever stays behind is cut off before the next exchange.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, end)
                raise
            self._encoder = encoder
            self._empty = False

    def close(self) -> None:
        """Unlock the file; one that this writer made and that holds no exchange is removed."""
        with self._lock:
            if self._close.alive and self._empty and os.getpid() == self._process:
                # Before it is unlocked, so that nobody can have begun to write it.
                with contextlib.suppress(OSError):
                    self.path.unlink()
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _lines(self, encoder: Encoder, exchange: Exchange) -> bytes:
        try:
            return encoder.lines(recordable(exchange, self._scrubber))
        except (UnicodeError, InputError) as error:
            raise InputError(f"this exchange cannot be stored: {error}", where=str(self.path)) from error

    def _resumed(self) -> Encoder:
        """Cut off what belongs to no whole exchange, and know all that stays."""
        data = self._content()
        if data.startswith(b"\x1f\x8b"):
            raise InputError("a packed file cannot be appended to", where=str(self.path), hint="unpack it with gunzip")
        content = parse(self.path, data)
        self._scrubber.reserve(data)
        for name, folder in self._folders.items():
            recorded = getattr(content, name)
            if content.has_header and folder is not None and folder != recorded:
                raise InputError(
                    f"its {name} is {recorded or 'not known'}, the one now is {folder}",
                    where=str(self.path),
                    hint="a cassette is one session's: record to another file",
                )
        if content.complete < len(data):
            os.ftruncate(self._descriptor, content.complete)
        if not content.has_header:
            self._empty = True
            self._write(header_line(**self._folders))
            self._sync_folder()
        elif not data[: content.complete].endswith(b"\n"):
            self._write(b"\n")
        return Encoder.after(content.tables, len(content.exchanges))

    def _content(self) -> bytes:
        with open(os.dup(self._descriptor), "rb") as file:  # noqa: PTH123 - the file that is locked, not its name
            file.seek(0)
            return file.read()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        os.fsync(self._descriptor)

    def _sync_folder(self) -> None:
        """A new file's name is on the disk only when its folder is; not all systems can say so."""
        with contextlib.suppress(OSError):
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _demand_own_process(self) -> None:
        """A forked process inherits the lock, and would write between the lines of its parent."""
        if not self._close.alive:
            raise InputError("the writer is closed", where=str(self.path))
        if os.getpid() != self._process:
            raise InputError(
                f"process {self._process} opened this writer, process {os.getpid()} has a copy of it",
                where=str(self.path),
                hint="record to another file: one file for each worker",
            )
