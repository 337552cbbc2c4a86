"""Streamed deltas put together to one assistant message.

The rule for arguments: **plain concatenation of the fragments wins whenever it is valid JSON.** Only for a complete
stream where it is not may another reading be taken, and only if exactly one other reading is a JSON object; the
anomaly says which. Nothing is parsed before the stream has ended (seed 002: a partial arguments text must not be
parsed or run), except to tell whether a *new call* begins on an index already in use, where the bug reports ask for
completeness as evidence (A03 against A07).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import orjson

from harness.wire.chat import Anomaly, ModelTurn, ToolCall, arguments_text, error_of, text_of, turn_status
from harness.wire.json_text import is_json, is_json_object
from harness.wire.sse import SSEEvent, SSEParser

_DONE = b"[DONE]"
_KNOWN_DELTA_KEYS = frozenset({"role", "content", "refusal", "tool_calls", "function_call"})
_KNOWN_CALL_KEYS = frozenset({"index", "id", "type", "function"})


class _OpenCall:
    """A call while its fragments arrive."""

    __slots__ = ("extras", "fragments", "id", "legacy", "names")

    def __init__(self, *, legacy: bool = False) -> None:
        self.id: str | None = None
        self.names: list[str] = []
        self.fragments: list[str] = []
        self.extras: dict[str, Any] = {}
        self.legacy = legacy

    def arguments_complete(self) -> bool:
        # Looking at the last fragment first keeps streams linear in which every delta raises this question.
        last = self.fragments[-1].rstrip() if self.fragments else ""
        return (not last or last.endswith("}")) and is_json_object("".join(self.fragments))


class DeltaAssembler:
    """Takes events or parsed chunks, gives a `ModelTurn` at the end.

    ``tool_names`` are the names the request offered; they settle whether a name sent in two pieces was split or
    repeated (bug report A08).
    """

    def __init__(self, tool_names: Collection[str] = ()) -> None:
        self._tool_names = frozenset(tool_names)
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._extras: dict[str, Any] = {}
        self._extra_texts: dict[str, list[str]] = {}
        self._content_seen = False
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._choice: int | None = None
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self._error: dict[str, Any] | None = None
        self._model: str | None = None
        self._response_id: str | None = None
        self._role = "assistant"
        self._anomalies: list[Anomaly] = []
        self._at = -1
        self.done = False

    @property
    def finish_reason(self) -> str | None:
        """The finish_reason read so far."""
        return self._finish_reason

    def feed_event(self, event: SSEEvent) -> None:
        """Take one event of the stream."""
        self._at += 1
        data = event.data.strip()
        if data == _DONE:
            self.done = True
            return
        if not event.terminated:
            self._note("event_not_terminated")
        if not data:
            self._note("empty_event")
            return
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            if event.event != "error":
                self._note("broken_json", str(error))
                return
            chunk = None
        if event.event == "error" and not (isinstance(chunk, dict) and error_of(chunk)):
            chunk = {"error": chunk if chunk and isinstance(chunk, dict) else data.decode("utf-8", "replace")}
        self._take(chunk)

    def feed_chunk(self, chunk: object) -> None:
        """Take one parsed chunk (the JSON document of an event)."""
        self._at += 1
        self._take(chunk)

    def finish(self) -> ModelTurn:
        """The stream has ended: everything that arrived, as one turn."""
        status = turn_status(self._finish_reason, done=self.done, error=self._error)
        complete = status in ("complete", "truncated")
        calls = [self._finished_call(call, complete=complete) for call in self._calls]
        self._note_shared_ids(calls)
        content = "".join(self._content) if self._content_seen else None
        message: dict[str, Any] = {"role": self._role, "content": content}
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        for key, texts in self._extra_texts.items():
            message[key] = "".join(texts)
        message.update(self._extras)
        legacy = bool(self._calls) and all(call.legacy for call in self._calls)
        if legacy:
            message["function_call"] = {"name": calls[0].name, "arguments": calls[0].arguments}
        elif calls:
            message["tool_calls"] = [
                {**open_call.extras, **call.to_wire()} for open_call, call in zip(self._calls, calls, strict=True)
            ]
        return ModelTurn(
            message=message,
            content=content,
            tool_calls=tuple(calls),
            finish_reason=self._finish_reason,
            status=status,
            usage=self._usage,
            error=self._error,
            model=self._model,
            response_id=self._response_id,
            legacy_function_call=legacy,
            anomalies=tuple(self._anomalies),
        )

    def _note(self, code: str, detail: str = "") -> None:
        self._anomalies.append(Anomaly(code, max(self._at, 0), detail))

    def _take(self, chunk: object) -> None:
        if chunk is None:
            self._note("null_frame")
            return
        if not isinstance(chunk, dict):
            self._note("chunk_not_an_object", type(chunk).__name__)
            return
        if error := error_of(chunk):
            self._error = self._error or error
            self._note("error_in_stream", str(error.get("message", ""))[:200])
        if isinstance(usage := chunk.get("usage"), dict):
            if self._usage is not None and usage != self._usage:
                self._note("usage_repeated", "the last one counts")
            self._usage = usage
        if self._model is None and isinstance(chunk.get("model"), str):
            self._model = chunk["model"]
        if self._response_id is None and isinstance(chunk.get("id"), str):
            self._response_id = chunk["id"]
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            if choices is not None or not ("usage" in chunk or "error" in chunk):
                self._note("choices_missing")
            return
        for choice in choices:
            if isinstance(choice, dict):
                self._take_choice(choice)

    def _take_choice(self, choice: Mapping[str, Any]) -> None:
        index = choice.get("index") or 0
        if self._choice is None:
            self._choice = index
            if index != 0:
                self._note("choice_index_not_zero", str(index))
        elif index != self._choice:
            self._note("several_choices", f"choice {index} is left out")
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._take_delta(delta)
        elif isinstance(choice.get("message"), dict):
            self._note("message_in_place_of_delta")
            self._take_delta(choice["message"])
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            if not reason:
                self._note_once("finish_reason_empty")
            elif self._finish_reason:
                self._note("finish_reason_repeated", reason)
            if reason or self._finish_reason is None:
                self._finish_reason = reason

    def _take_delta(self, delta: Mapping[str, Any]) -> None:
        entries = delta.get("tool_calls")
        if entries:
            for entry in entries if isinstance(entries, list) else [entries]:
                if isinstance(entry, dict):
                    self._take_call_delta(entry)
                else:
                    self._note("call_delta_not_an_object")
        if "content" in delta:
            self._take_content(delta["content"])
        for key, value in delta.items():
            if key not in _KNOWN_DELTA_KEYS:
                self._take_extra(key, value)
        if isinstance(delta.get("refusal"), str):
            self._refusal.append(delta["refusal"])
        if isinstance(delta.get("role"), str) and delta["role"]:
            self._role = delta["role"]
        if isinstance(legacy := delta.get("function_call"), dict):
            self._take_legacy(legacy)

    def _take_content(self, content: object) -> None:
        if isinstance(content, str):
            self._content_seen = True
            self._content.append(content)
        elif content is not None:
            self._note("content_not_text")
            self._content_seen = True
            self._content.append(text_of(content) or "")

    def _take_extra(self, key: str, value: object) -> None:
        """Fields that other providers add (reasoning and the like) are kept as they are spread over the deltas."""
        if value is None:
            return
        if isinstance(value, str):
            self._extra_texts.setdefault(key, []).append(value)
        elif isinstance(value, list) and isinstance(self._extras.get(key, []), list):
            self._extras.setdefault(key, []).extend(value)
        else:
            self._extras[key] = value

    def _take_legacy(self, legacy: Mapping[str, Any]) -> None:
        if not self._calls:
            self._calls.append(_OpenCall(legacy=True))
        call = self._calls[0]
        if not call.legacy:
            self._note_once("function_call_beside_tool_calls")
            return
        if isinstance(legacy.get("name"), str) and legacy["name"]:
            call.names.append(legacy["name"])
        self._append_arguments(call, legacy.get("arguments"))

    def _take_call_delta(self, entry: Mapping[str, Any]) -> None:
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        call_id = entry.get("id") if isinstance(entry.get("id"), str) and entry.get("id") else None
        name = function.get("name") if isinstance(function.get("name"), str) and function.get("name") else None
        call = self._call_for(entry.get("index"), call_id, name, has_arguments=bool(function.get("arguments")))
        if call_id and call.id is None:
            call.id = call_id
        if name:
            call.names.append(name)
        for key, value in entry.items():
            if key not in _KNOWN_CALL_KEYS and value is not None:
                call.extras[key] = value
        if "arguments" in function:
            self._append_arguments(call, function["arguments"])

    def _append_arguments(self, call: _OpenCall, value: object) -> None:
        if value is None:
            return
        text, oddity = arguments_text(value)
        if oddity:
            self._note(oddity)
        if text:
            call.fragments.append(text)

    def _call_for(self, index: object, call_id: str | None, name: str | None, *, has_arguments: bool) -> _OpenCall:
        if not isinstance(index, int) or isinstance(index, bool):
            self._note("index_missing" if index is None else "index_not_a_number")
            return self._call_without_index(call_id, name)
        call = self._by_index.get(index)
        if call is None:
            return self._call_on_new_index(index, call_id, name)
        if self._starts_new_call(call, call_id, name, has_arguments=has_arguments):
            self._note("index_reused", f"index {index}")
            return self._open(index)
        if call_id and call.id and call_id != call.id:
            owner = next((other for other in self._calls if other.id == call_id), None)
            if owner is not None:
                self._note("index_changed", f"{call_id} arrived under index {index}")
                return owner
            self._note("id_changed", f"{call.id} stays, {call_id} is left out")
        elif call_id and call.id == call_id:
            self._note_once("id_repeated")
        return call

    def _call_without_index(self, call_id: str | None, name: str | None) -> _OpenCall:
        if call_id:
            known = next((call for call in self._calls if call.id == call_id), None)
            if known is not None:
                return known
        last = self._calls[-1] if self._calls else None
        if last is None:
            return self._open(None)
        if call_id and last.id is None and not name and not last.arguments_complete():
            return last
        if call_id or (name and (last.names and (last.fragments or not last.id))):
            return self._open(None)
        return last

    def _call_on_new_index(self, index: int, call_id: str | None, name: str | None) -> _OpenCall:
        owner = next((call for call in self._calls if call_id and call.id == call_id), None)
        if owner is not None and not owner.arguments_complete() and not name:
            self._note("index_changed", f"{call_id} arrived under index {index}")
            self._by_index[index] = owner
            return owner
        if call_id is None and name is None:
            open_calls = [call for call in self._calls if not call.arguments_complete()]
            if len(open_calls) == 1:
                self._note("orphan_fragment", f"index {index} joined to the one open call")
                self._by_index[index] = open_calls[0]
                return open_calls[0]
            self._note("orphan_fragment", f"index {index} belongs to no call")
        if not self._calls and index != 0:
            self._note("first_index_not_zero", str(index))
        return self._open(index)

    @staticmethod
    def _starts_new_call(call: _OpenCall, call_id: str | None, name: str | None, *, has_arguments: bool) -> bool:
        """Whether a used index begins another call (A03) or goes on with the one it has (A07).

        Evidence for another: a new id together with a name, or with a call already complete; without ids, a name and
        arguments after a complete call of another name.
        """
        if call_id and call.id and call_id != call.id:
            if name:
                return not call.fragments or call.arguments_complete()
            return call.arguments_complete()
        if call_id or not name or not has_arguments:
            return False
        return call.id is None and bool(call.names) and name != call.names[-1] and call.arguments_complete()

    def _open(self, index: int | None) -> _OpenCall:
        call = _OpenCall()
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _finished_call(self, call: _OpenCall, *, complete: bool) -> ToolCall:
        if call.id is None and not call.legacy:
            self._note("id_missing")
        return ToolCall(call.id, self._name_of(call), self._arguments_of(call, complete=complete))

    def _name_of(self, call: _OpenCall) -> str | None:
        if not call.names:
            self._note("name_missing")
            return None
        if len(call.names) == 1:
            return call.names[0]
        joined, repeated = "".join(call.names), call.names[-1]
        same = all(name == repeated for name in call.names)
        if (joined in self._tool_names) != (repeated in self._tool_names):
            choice = joined if joined in self._tool_names else repeated
        else:
            choice = repeated if same else joined
        self._note("name_repeated" if choice == repeated else "name_split", f"read as {choice}")
        return choice

    def _arguments_of(self, call: _OpenCall, *, complete: bool) -> str:
        plain = "".join(call.fragments)
        if not complete or not plain or is_json(plain):
            return plain
        readings: dict[str, str] = {}
        if _is_cumulative(call.fragments):
            readings[call.fragments[-1]] = "arguments_cumulative"
        for resent in _resent_readings(call.fragments):
            readings.setdefault(resent, "arguments_resent")
        objects = [text for text in readings if is_json_object(text)]
        if len(objects) != 1:
            return plain
        self._note(readings[objects[0]], f"call {call.id}")
        return objects[0]

    def _note_shared_ids(self, calls: list[ToolCall]) -> None:
        seen: set[str] = set()
        for call in calls:
            if call.id is None:
                continue
            if call.id in seen:
                self._note("id_shared", call.id)
            seen.add(call.id)

    def _note_once(self, code: str) -> None:
        if not any(anomaly.code == code for anomaly in self._anomalies):
            self._note(code)


def parse_stream(body: bytes, tool_names: Collection[str] = ()) -> ModelTurn:
    """A whole recorded stream as one turn."""
    parser = SSEParser()
    assembler = DeltaAssembler(tool_names)
    for event in parser.feed(body):
        assembler.feed_event(event)
    for event in parser.close():
        assembler.feed_event(event)
    return assembler.finish()


def _is_cumulative(fragments: list[str]) -> bool:
    return len(fragments) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(fragments))


def _resent_readings(fragments: list[str]) -> list[str]:
    """Readings in which a first, whole object was sent again: a placeholder ``{}``, or the same object."""
    head = ""
    for position in range(1, len(fragments)):
        head += fragments[position - 1]
        if not head.rstrip().endswith("}") or not is_json_object(head):
            continue
        tail = "".join(fragments[position:])
        if is_json_object(tail) and (orjson.loads(head) in ({}, orjson.loads(tail))):
            return [tail]
        return []
    return []
