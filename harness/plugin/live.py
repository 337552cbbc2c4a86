"""A test against a live model: nothing is recorded, nothing judged."""

from __future__ import annotations

from harness.play.cassette_player import CassettePlayer
from harness.play.sessions import Session, SessionPlayer
from harness.plugin.unasked import NOBODY


class Live:
    """The API itself, of whose answers nothing is known here."""

    player: CassettePlayer | None = None

    def __init__(self, upstream: str) -> None:
        self.base_url = upstream
        self.session = Session("live", SessionPlayer(NOBODY))

    def judge(self, path: str) -> None:
        """The test alone decides."""

    def keep(self) -> int:
        """Nothing."""
        return 0

    def close(self) -> None:
        """Nothing is open."""
