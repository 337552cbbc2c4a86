"""A test's answers from its cassette; nobody else is ever asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.judge.serving import judge_session
from harness.judge.verdict import Case
from harness.play.cassette_player import CassettePlayer
from harness.plugin.host import PlayerHost
from harness.scenario.serving import ServingPolicy, played
from harness.wire.exchange import CHAT_PATH

_MOUNT = "/v1"


class Replaying:
    """Plays a cassette, in the folders of this session where it was recorded with its own.

    Raises InputError for a file that cannot be read.
    """

    def __init__(self, path: Path, host: PlayerHost, folders: Mapping[str, str]) -> None:
        cassette = load_cassette(path)
        recorded = {"workspace": cassette.workspace, "home": cassette.home}
        present = {name: folder for name, folder in folders.items() if recorded.get(name)}
        self._host = host
        self.player: CassettePlayer | None
        self.player, made = played(cassette, ServingPolicy(present=present))
        self.session = host.open(made)
        self.base_url = host.url_of(self.session, _mount(cassette))

    def judge(self, path: str) -> Case:
        """Every request answered, every exchange asked for, every request a valid one."""
        return judge_session(self.session, path)

    def keep(self) -> int:
        """Nothing new."""
        return 0

    def close(self) -> None:
        """Answer no more."""
        self._host.end(self.session)


def _mount(cassette: Cassette) -> str:
    """The path under which the recorded API lies: that of its chat requests without their end."""
    path = next((exchange.request.path for exchange in cassette.chat_exchanges), _MOUNT + CHAT_PATH)
    mount = path.rstrip("/").removesuffix(CHAT_PATH)
    return mount if mount.startswith("/") or not mount else _MOUNT
