"""Recording a test: a proxy between it and the API, and a cassette that is replaced when the test has passed."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from harness.cassette import own
from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.file_lock import open_locked
from harness.cassette.paths import KnownPaths
from harness.cassette.scrubbing import Scrubber
from harness.errors import HarnessError, InputError
from harness.files import write_atomically
from harness.judge.serving import judge_session
from harness.judge.verdict import Case, Check, Verdict, judged
from harness.play.cassette_player import CassettePlayer
from harness.play.proxy import RecordingProxy
from harness.play.record_command import PARTIAL, cassette_writer
from harness.play.sessions import Session, SessionPlayer
from harness.plugin.unasked import NOBODY
from harness.wire.exchange import Exchange, decoded

_SETTLE_S = 10.0


class Recording:
    """Passes everything on to ``upstream``, and keeps a copy in ``NAME.partial`` beside the cassette.

    Raises InputError for a URL that is none, and a file that cannot be written or that another process writes.
    """

    player: CassettePlayer | None = None

    def __init__(self, path: Path, upstream: str, folders: Mapping[str, str], secrets: Sequence[str]) -> None:
        self._path = path
        self._folders = folders
        self._partial = path.with_name(path.name + PARTIAL)
        self._lock = threading.Lock()
        self.session = Session("recording", SessionPlayer(NOBODY))
        with ExitStack() as stack:
            self._add = stack.enter_context(
                cassette_writer(
                    path.name, _fresh(self._partial), folders["workspace"], folders["home"], Scrubber(secrets)
                )
            )
            try:
                self._proxy = stack.enter_context(RecordingProxy(upstream, self._keep))
            except InputError as error:
                raise InputError(error.what, where="--cassette-upstream", hint=error.hint) from error
            self._open = stack.pop_all()
        self.base_url = self._proxy.base_url

    def judge(self, path: str) -> Case:
        """What a replay would say of the requests, and whether the API answered each."""
        self._proxy.settle(_SETTLE_S)
        case = judge_session(self.session, path)
        name = "the recording"
        found = [Check(name, Verdict.FAIL, problem) for problem in list(self._proxy.problems)]
        found += [Check(name, Verdict.ERROR, lost) for lost in list(self._proxy.lost)]
        checks = (*found, *case.checks)
        verdict, first_line = judged(checks)
        return replace(case, checks=checks, verdict=verdict, first_line=first_line)

    def keep(self) -> int:
        """Replace the cassette by what was recorded; raises HarnessError where that is not whole."""
        self._open.close()
        if self._proxy.lost or not self.session.exchanges:
            raise HarnessError(f"{self._path.name} was not recorded: {'; '.join(self._proxy.lost) or 'nothing asked'}")
        if self._path.name.endswith(own.SUFFIX):
            recorded = load_cassette(self._partial)
            write_atomically(self._path, own.dump_cassette(_without_needless_folders(recorded, self._folders)))
            self._partial.unlink()
        else:
            self._partial.replace(self._path)
        return len(self.session.exchanges)

    def close(self) -> None:
        """Stop recording; what was not kept stays in ``NAME.partial``."""
        self._open.close()

    def _keep(self, exchange: Exchange) -> None:
        self._add(exchange)
        with self._lock:
            self.session.requests += 1
            self.session.asked.append(exchange.request)
            self.session.exchanges.append(replace(exchange, index=len(self.session.exchanges)))


def _fresh(partial: Path) -> Path:
    """The file without what an earlier recording left; raises InputError where another process is writing it."""
    try:
        descriptor = open_locked(partial)
        try:
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(f"cannot be written: {error}", where=str(partial)) from error
    return partial


def _without_needless_folders(cassette: Cassette, folders: Mapping[str, str]) -> Cassette:
    """A cassette names the folders of the machine that recorded it only where a replay has to know them."""
    texts = [
        decoded(side.body, side.headers).decode("utf-8", "replace")
        for exchange in cassette.exchanges
        for side in (exchange.request, exchange.response)
    ]
    named = {found.name for text in texts for found in KnownPaths(folders).find(text)}
    return replace(
        cassette,
        workspace=cassette.workspace if "workspace" in named else None,
        home=cassette.home if "home" in named else None,
    )
