"""To which call a fragment of a stream belongs.

The protocol says it by ``index``. Providers leave it out, start it at 1, give all calls the same or change it half-way,
and do the like with ids; so where an index alone doesn't decide, id, name and *completeness* (whether the arguments so
far are one whole object) do. That a fragment is put where a strict reader would not look is always an anomaly.

Every question is answered by look-up: work is linear in the fragments, whatever their indexes and ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from harness.wire.json_text import GrowingObject

Note = Callable[[str, str], None]


class OpenCall:
    """A call while its fragments arrive. ``number`` is its place among the calls of the turn."""

    __slots__ = ("_growing", "extras", "fragments", "id", "legacy", "names", "number", "settled")

    def __init__(self, number: int, *, legacy: bool = False) -> None:
        self.number = number
        self.id: str | None = None
        self.names: list[str] = []
        self.fragments: list[str] = []
        self.extras: dict[str, Any] = {}
        self.legacy = legacy
        self.settled = False
        self._growing = GrowingObject()

    def is_complete(self) -> bool:
        """Whether the arguments so far are one whole JSON object."""
        return self._growing.is_whole(self.fragments)


class OpenCalls:
    """The calls of one turn, in order of first appearance. An index is an opaque key, not a position.

    ``note`` takes the code and the detail of an anomaly.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._unfinished: dict[int, OpenCall] = {}
        self.by_index: dict[int, OpenCall] = {}

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, number: int) -> OpenCall:
        return self._calls[number]

    def open(self, *, legacy: bool = False) -> OpenCall:
        """A new call."""
        call = OpenCall(len(self._calls), legacy=legacy)
        self._calls.append(call)
        self._unfinished[call.number] = call
        return call

    def place(self, index: object, call_id: str | None, name: str | None, *, has_arguments: bool) -> OpenCall:
        """The call to which an entry of ``tool_calls`` with these fields belongs; where it has none, a new one."""
        if not isinstance(index, int) or isinstance(index, bool):
            self._note("index_missing" if index is None else "index_not_a_number", "")
            call = self._without_index(call_id, name)
        elif (known := self.by_index.get(index)) is not None:
            call = self._on_used_index(known, index, call_id, name, has_arguments=has_arguments)
        else:
            call = self._on_new_index(index, call_id, name)
        if call_id and call.id is None:
            call.id = call_id
            self._by_id.setdefault(call_id, call)
        return call

    def append(self, call: OpenCall, text: str) -> None:
        """The next fragment of a call's arguments."""
        call.fragments.append(text)
        if call.settled:
            call.settled = False
            self._unfinished[call.number] = call

    def _on_used_index(
        self, call: OpenCall, index: int, call_id: str | None, name: str | None, *, has_arguments: bool
    ) -> OpenCall:
        if _starts_another(call, call_id, name, has_arguments=has_arguments):
            self._note("index_reused", f"index {index}")
            return self._opened_at(index)
        if call_id and call.id and call_id != call.id:
            owner = self._by_id.get(call_id)
            if owner is not None:
                self._note("index_changed", f"{call_id} arrived under index {index}")
                return owner
            self._note("id_changed", f"{call.id} stays, {call_id} is left out")
        elif call_id and call.id == call_id:
            self._note("id_repeated", "")
        return call

    def _on_new_index(self, index: int, call_id: str | None, name: str | None) -> OpenCall:
        owner = self._by_id.get(call_id) if call_id else None
        if owner is not None and not name and not owner.is_complete():
            self._note("index_changed", f"{call_id} arrived under index {index}")
            self.by_index[index] = owner
            return owner
        if call_id is None and name is None:
            only = self._only_unfinished()
            if only is not None:
                self._note("orphan_fragment", f"index {index} joined to the one open call")
                self.by_index[index] = only
                return only
            self._note("orphan_fragment", f"index {index} belongs to no call")
        if not self._calls and index != 0:
            self._note("first_index_not_zero", str(index))
        return self._opened_at(index)

    def _without_index(self, call_id: str | None, name: str | None) -> OpenCall:
        if call_id and (known := self._by_id.get(call_id)) is not None:
            return known
        if not self._calls:
            return self.open()
        last = self._calls[-1]
        if call_id and last.id is None and not name and not last.is_complete():
            return last
        if call_id or (name and (last.names and (last.fragments or not last.id))):
            return self.open()
        return last

    def _only_unfinished(self) -> OpenCall | None:
        """The call whose arguments are not whole, if there is just one; those found whole are not looked at again."""
        finished: list[OpenCall] = []
        unfinished: list[OpenCall] = []
        for call in self._unfinished.values():
            (finished if call.is_complete() else unfinished).append(call)
            if len(unfinished) > 1:
                break
        for call in finished:
            call.settled = True
            del self._unfinished[call.number]
        return unfinished[0] if len(unfinished) == 1 else None

    def _opened_at(self, index: int) -> OpenCall:
        call = self.by_index[index] = self.open()
        return call


def _starts_another(call: OpenCall, call_id: str | None, name: str | None, *, has_arguments: bool) -> bool:
    """Whether a used index begins another call (A03) or goes on with the one it has (A07).

    Evidence for another: a new id together with a name, or with a call already complete; without ids, a name and
    arguments after a complete call of another name.
    """
    if call_id and call.id and call_id != call.id:
        if name:
            return not call.fragments or call.is_complete()
        return call.is_complete()
    if call_id or not name or not has_arguments:
        return False
    return call.id is None and bool(call.names) and name != call.names[-1] and call.is_complete()
