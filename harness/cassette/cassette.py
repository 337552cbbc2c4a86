"""The exchanges of one recorded session, whatever recorder wrote the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.wire.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Cassette:
    """A file of exchanges in recorded order; ``dialect`` names the layout it was read from.

    ``workspace`` and ``home`` are the folders of the recorded session, where the file says so. ``notes`` say what was
    left out of a file whose end is torn.
    """

    path: Path
    dialect: str
    exchanges: tuple[Exchange, ...]
    workspace: str | None = None
    home: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def chat_exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges with a chat model, error answers included; other traffic is left out."""
        return tuple(exchange for exchange in self.exchanges if exchange.is_chat)
