"""Running sums over the messages of a conversation, which can go back to an earlier point and on from there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from harness.measure.encodings import Encoding
from harness.measure.messages import RESULT_ROLES, SYSTEM_ROLES, Unit, role_of, units


class Ledger:
    """The units counted so far; each is counted once and taken out again only where the history was rewritten."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.by_role: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.units: list[Unit] = []
        self._system: list[int] = []
        self._not_counted: list[str] = []

    @property
    def end(self) -> int:
        """How many messages are counted."""
        return self.units[-1].end if self.units else 0

    @property
    def first_system(self) -> int | None:
        """The index of the first system or developer message, which the tools are appended to (rule 5)."""
        return self._system[0] if self._system else None

    def advance(self, messages: Sequence[object], shared: int) -> int:
        """Count the messages from ``shared`` on and return from where on units were counted (again).

        A unit that reaches beyond ``shared``, or that a result of the new messages belongs to, is counted again.
        """
        while self.units and self.end > shared:
            self._pop()
        if self.units and self.end < len(messages) and role_of(messages[self.end]) in RESULT_ROLES:
            self._pop()
        first = self.end
        for unit in units(messages, first, self.encoding):
            self._push(unit)
        return first

    def history(self) -> Mapping[str, int]:
        """Tokens by role, without the system's."""
        return {role: tokens for role, tokens in self.by_role.items() if role not in SYSTEM_ROLES}

    def system_tokens(self) -> int:
        """Tokens of all system and developer messages."""
        return sum(self.by_role[role] for role in SYSTEM_ROLES if role in self.by_role)

    def units_from(self, first: int) -> list[Unit]:
        """The units that begin at a message or behind it."""
        found: list[Unit] = []
        for unit in reversed(self.units):
            if unit.start < first:
                break
            found.append(unit)
        return found[::-1]

    def not_counted(self) -> tuple[str, ...]:
        """What in the messages was left out, with its place."""
        return tuple(self._not_counted)

    def _push(self, unit: Unit) -> None:
        self.units.append(unit)
        for offset, (role, tokens) in enumerate(zip(unit.roles, unit.tokens, strict=True)):
            self.by_role[role] += tokens
            if role in SYSTEM_ROLES:
                self._system.append(unit.start + offset)
        self.reasons.update(unit.reasons)
        self._not_counted += unit.not_counted

    def _pop(self) -> None:
        unit = self.units.pop()
        for role, tokens in zip(unit.roles, unit.tokens, strict=True):
            self.by_role[role] -= tokens
        for reason in unit.reasons:
            self.reasons[reason] -= 1
        if unit.not_counted:
            del self._not_counted[-len(unit.not_counted) :]
        while self._system and self._system[-1] >= unit.start:
            self._system.pop()
