"""vcrpy's own classes, made to fail closed. Imported only where vcrpy is known to be there."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import vcr
from vcr.cassette import Cassette, CassetteContextDecorator
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.persisters.filesystem import FilesystemPersister
from vcr.record_mode import RecordMode
from vcr.serialize import serialize

from harness.cassette.file_lock import open_locked
from harness.cassette.vcr.hooks import canonical_body, scrubbed_request, scrubbed_response
from harness.errors import HarnessError, InputError
from harness.files import write_atomically

MATCH_ON = ("method", "scheme", "host", "port", "path", "query", "canonical_body")


class IncompleteReplayError(HarnessError):
    """A request had no recorded answer, or a recorded answer had no request: the replay proves nothing."""


class AtomicPersister(FilesystemPersister):  # type: ignore[misc] # vcrpy has no types
    """Writes a cassette whole or not at all."""

    @staticmethod
    def save_cassette(cassette_path: str, cassette_dict: dict[str, Any], serializer: Any) -> None:
        """Replace the file."""
        write_atomically(Path(cassette_path), serialize(cassette_dict, serializer).encode())


class SessionCassette(Cassette):  # type: ignore[misc]
    """Remembers misses, and keeps what it records in ``NAME.partial`` from the first exchange on."""

    _path: str

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.misses: list[Any] = []
        self._loading = False
        self._locked: int | None = None

    @property
    def partial(self) -> Path:
        """Where the exchanges stand until the block has succeeded."""
        return Path(f"{self._path}.partial")

    @property
    def unused(self) -> list[Any]:
        """The recorded requests that were not made."""
        return [request for index, (request, _) in enumerate(self.data) if not self.play_counts[index]]

    def can_play_response_for(self, request: Any) -> bool:
        """Also notes a request that nothing will answer."""
        playable = bool(super().can_play_response_for(request))
        if not playable and self.write_protected and self.filter_request(request) is not None:
            self.misses.append(request)
        return playable

    def append(self, request: Any, response: Any) -> None:
        """Also write what was recorded, since the process may be killed."""
        super().append(request, response)
        if not self._loading and self.dirty:
            self._save_to(self.partial)

    def open(self) -> None:
        """Keep other processes from recording the same cassette."""
        if not self.write_protected:
            self._locked = open_locked(Path(f"{self._path}.lock"))

    def close(self) -> None:
        """Let others record it."""
        if self._locked is not None:
            with contextlib.suppress(OSError):
                Path(f"{self._path}.lock").unlink()
            os.close(self._locked)
            self._locked = None

    def _load(self) -> None:
        self._loading = True
        try:
            super()._load()
        finally:
            self._loading = False

    def _save_to(self, path: Path) -> None:
        named, self._path = self._path, str(path)
        try:
            self._save(force=True)
        finally:
            self._path = named
            self.dirty = True


class SessionContext(CassetteContextDecorator):  # type: ignore[misc]
    """Judges the block when it ends."""

    _non_cassette_arguments = (*CassetteContextDecorator._non_cassette_arguments, "allow_unused")  # noqa: SLF001
    _opened: SessionCassette

    def __enter__(self) -> SessionCassette:
        self._opened = super().__enter__()
        try:
            self._opened.open()
            _demand_patched()
        except BaseException:
            super().__exit__(HarnessError, None, None)
            raise
        return self._opened

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        cassette = self._opened
        try:
            super().__exit__(kind, error, traceback)
            options = self._args_getter()
            if error is None or options.get("record_on_exception"):
                cassette.partial.unlink(missing_ok=True)
        finally:
            cassette.close()
        if error is not None and not isinstance(error, Exception):
            return
        if cassette.misses:
            raise IncompleteReplayError(_miss_text(cassette)) from error
        if error is None and cassette.write_protected and cassette.unused and not options.get("allow_unused"):
            raise IncompleteReplayError(_unused_text(cassette))


class HarnessVCR(vcr.VCR):  # type: ignore[misc]
    """``vcr.VCR`` with the defaults of `harness.cassette.vcr`; each ``use_cassette`` may still be given options."""

    def __init__(self, *, allow_unused: bool = False, **options: Any) -> None:
        self._allow_unused = allow_unused
        safe = {"record_mode": RecordMode.NONE, "match_on": MATCH_ON, "record_on_exception": False}
        _demand_lossless(options)
        super().__init__(**{**safe, **options})
        self.register_matcher("canonical_body", canonical_body)
        self.register_persister(AtomicPersister)

    def get_merged_config(self, **options: Any) -> dict[str, Any]:
        """The options of one cassette; scrubbing comes behind the user's own hooks and cannot be switched off."""
        _demand_lossless(options)
        allow_unused = options.pop("allow_unused", self._allow_unused)
        asked = options.get("before_record_request", options.get("before_record", self.before_record_request))
        options["before_record_request"] = [*_hooks(asked), scrubbed_request]
        answered = options.get("before_record_response", self.before_record_response)
        options["before_record_response"] = [*_hooks(answered), scrubbed_response]
        return {**super().get_merged_config(**options), "allow_unused": allow_unused}

    def _use_cassette(self, with_current_defaults: bool = False, **options: Any) -> SessionContext:  # noqa: FBT001, FBT002 - vcrpy's own signature
        if with_current_defaults:
            config = self.get_merged_config(**options)
            return SessionContext(SessionCassette, lambda: dict(config))
        return SessionContext(SessionCassette, functools.partial(self.get_merged_config, **options))


def _demand_lossless(options: dict[str, Any]) -> None:
    if options.get("decode_compressed_response"):
        raise InputError(
            "decode_compressed_response stores other bytes than the server sent, and hides what decodes them twice",
            hint="leave it out: clients decode what is replayed",
        )
    if options.get("serializer", "yaml") == "json":
        raise InputError("vcrpy's JSON serializer cannot store bytes", hint="leave serializer out: YAML can")
    if "httpx2" in options.get("skip_patchers", ()):
        raise InputError("with httpx2 in skip_patchers its requests would reach the live server")


def _demand_patched() -> None:
    """That the client's transport is really vcrpy's by now, whatever the versions say."""
    try:
        import httpx2  # noqa: PLC0415
    except ImportError:
        return
    for transport, method in (
        (httpx2.HTTPTransport, "handle_request"),
        (httpx2.AsyncHTTPTransport, "handle_async_request"),
    ):
        if not hasattr(getattr(transport, method), "__wrapped__"):
            raise InputError(
                f"vcrpy has not replaced httpx2.{transport.__name__}: requests would reach the live server"
            )


def _hooks(hooks: Any) -> list[Any]:
    if hooks is None:
        return []
    return list(hooks) if isinstance(hooks, Iterable) else [hooks]


def _miss_text(cassette: SessionCassette) -> str:
    first, *others = cassette.misses
    reason = str(CannotOverwriteExistingCassetteException(cassette=cassette, failed_request=first))
    also = f"\n\n{len(others)} more requests were not answered." if others else ""
    return f"a request had no recorded answer; what the program made of it proves nothing\n\n{reason}{also}"


def _unused_text(cassette: SessionCassette) -> str:
    unused = cassette.unused
    shown = "".join(f"\n  {request.method} {request.uri}" for request in unused[:5])
    more = f"\n  … and {len(unused) - 5} more" if len(unused) > 5 else ""
    return (
        f"{len(unused)} of {len(cassette)} recorded answers in {cassette.path} were not asked for:{shown}{more}\n"
        "the program does less than when it was recorded; if that is meant, record again, or give allow_unused=True"
    )
