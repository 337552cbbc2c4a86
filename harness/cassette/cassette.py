"""The exchanges of one recorded session, whatever recorder wrote the file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.wire.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Cassette:
    """A file of exchanges in recorded order; ``dialect`` names the layout it was read from."""

    path: Path
    dialect: str
    exchanges: tuple[Exchange, ...]

    @property
    def chat_exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges with a chat model, error answers included; other traffic is left out."""
        return tuple(exchange for exchange in self.exchanges if exchange.is_chat)
