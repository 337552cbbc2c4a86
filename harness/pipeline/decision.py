"""The three answers of a permission check (seed 000, gate 1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    """ALLOW runs, ASK needs somebody's yes, DENY never runs."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_ORDER = (Decision.ALLOW, Decision.ASK, Decision.DENY)


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and its reason in words."""

    decision: Decision
    reason: str


def strictest(rulings: Iterable[Ruling]) -> Ruling:
    """The strictest of several rulings, the first of equals; raises ValueError for none."""
    return max(rulings, key=lambda ruling: _ORDER.index(ruling.decision))
