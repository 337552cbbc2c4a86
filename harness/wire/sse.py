"""Server-sent events out of bytes, incrementally and whatever the split.

Follows the event-stream format of the HTML standard: LF, CRLF or CR end a line, a blank line ends an event, ``:``
starts a comment, one blank after the field's colon is optional, several ``data`` lines are joined by LF, a leading
byte-order mark is dropped. Beyond the standard, `SSEParser.close` gives out a last event that no blank line
followed, because providers end streams that way.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import accumulate, repeat
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_PLAIN_START = b"data: "
_PLAIN_END = b"\n\n"
_PLAIN_SKIP, _PLAIN_TAIL = len(_PLAIN_START), len(_PLAIN_END)


class SSEEvent(NamedTuple):
    """One event: ``data`` undecoded, ``event`` its type, ``start`` and ``end`` byte offsets in the stream.

    ``terminated`` is false for a last event that the end of the stream closed instead of a blank line.
    """

    data: bytes
    event: str
    start: int
    end: int
    terminated: bool = True


# Twice as fast as the class itself; thousands of events are made.
_new_event = partial(tuple.__new__, SSEEvent)


class SSEParser:
    """Feed bytes as they come; whole events come out. Work is linear in the bytes fed."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._offset = 0
        self._started = False
        self._data: list[bytes] = []
        self._event = b""
        self._event_start: int | None = None
        self.comments = 0

    def feed(self, data: bytes) -> list[SSEEvent]:
        """Take the next bytes of the stream, return the events they complete."""
        if self._is_one_plain_event(data):
            start = self._offset
            self._offset += len(data)
            return [_new_event((data[_PLAIN_SKIP:-_PLAIN_TAIL], "message", start, self._offset, True))]
        if not data:
            return []
        if b"\n" not in data and b"\r" not in data:
            self._pending.append(data)
            return []
        if self._pending:
            self._pending.append(data)
            data = b"".join(self._pending)
            self._pending.clear()
        if not self._started:
            data = self._skip_bom(data)
        complete, rest = _split_after_last_line(data)
        if rest:
            self._pending.append(rest)
        return self._take(complete) if complete else []

    def close(self) -> list[SSEEvent]:
        """The stream has ended: return what the last bytes hold, an unterminated event included."""
        rest = b"".join(self._pending)
        self._pending.clear()
        if not self._started:
            rest = self._skip_bom(rest)
        events = self._take(rest) if rest else []
        if self._data:
            events.append(self._dispatch(self._offset, terminated=False))
        return events

    def _is_one_plain_event(self, data: bytes) -> bool:
        """Whether these bytes are one event in the common layout, as most servers send each in a write of its own."""
        return (
            data.startswith(_PLAIN_START)
            and data.endswith(_PLAIN_END)
            and data.count(b"\n") == 2
            and b"\r" not in data
            and self._started
            and self._event_start is None
            and not self._pending
        )

    def _skip_bom(self, data: bytes) -> bytes:
        self._started = True
        if data.startswith(_BOM):
            self._offset += len(_BOM)
            return data[len(_BOM) :]
        return data

    def _take(self, block: bytes) -> list[SSEEvent]:
        events: list[SSEEvent] = []
        if b"\r" not in block and self._event_start is None:
            block = self._take_plain_events(block, events)
        position = 0
        while position < len(block):
            found = _LINE_END.search(block, position)
            line_end, after = (found.start(), found.end()) if found else (len(block), len(block))
            self._take_line(block[position:line_end], self._offset + position, self._offset + after, events)
            position = after
        self._offset += len(block)
        return events

    def _take_plain_events(self, block: bytes, events: list[SSEEvent]) -> bytes:
        """The common layout, ``data: …`` and a blank line, without looking at each line; returns what is left."""
        cut = block.rfind(_PLAIN_END) + _PLAIN_TAIL
        if cut < _PLAIN_TAIL or not block.startswith(_PLAIN_START):
            return block
        data = block[_PLAIN_SKIP : cut - _PLAIN_TAIL].split(_PLAIN_END + _PLAIN_START)
        # Two line ends an event: so none holds another line.
        if block.count(b"\n", 0, cut) != 2 * len(data):
            return block
        around = _PLAIN_SKIP + _PLAIN_TAIL
        ends = list(accumulate([len(piece) + around for piece in data], initial=self._offset))
        terminated = repeat(True)  # noqa: FBT003
        events += map(_new_event, zip(data, repeat("message"), ends, ends[1:], terminated, strict=False))
        self._offset = ends[-1]
        return block[cut:]

    def _take_line(self, line: bytes, start: int, end: int, events: list[SSEEvent]) -> None:
        if not line:
            if self._data:
                events.append(self._dispatch(end, terminated=True))
            self._event = b""
            self._event_start = None
            return
        if line.startswith(b":"):
            self.comments += 1
            return
        if self._event_start is None:
            self._event_start = start
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value

    def _dispatch(self, end: int, *, terminated: bool) -> SSEEvent:
        start = self._event_start if self._event_start is not None else end
        name = self._event.decode("utf-8", "replace") or "message"
        event = SSEEvent(b"\n".join(self._data), name, start, end, terminated)
        self._data.clear()
        return event


def _split_after_last_line(data: bytes) -> tuple[bytes, bytes]:
    """Cut behind the last whole line; a CR at the very end may be half of a CRLF, so it waits."""
    cut = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
    return data[:cut], data[cut:]
