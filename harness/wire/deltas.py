"""Streamed deltas put together to one assistant message.

**Completeness.** A turn is complete when a finish_reason or ``[DONE]`` was read (`harness.wire.chat.turn_status` is the
one place that says so), and not when a text happens to parse: arguments may be valid JSON and go on (A29). An event
that was to hold a chunk and cannot be read, before the turn has finished, leaves it incomplete: what it held is lost.

**Arguments.** Plain concatenation wins whenever it is valid JSON; see `harness.wire.readings` for the rest of the rule.
Nothing is parsed before the stream has ended (seed 002: a partial arguments text must not be parsed or run), except
to tell whether a *new call* begins on an index already in use (`harness.wire.open_calls`), where the bug reports ask
for completeness as evidence (A03 against A07).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from harness.wire.chat import Anomaly, ModelTurn, ToolCall, arguments_text, error_of, text_of, turn_status
from harness.wire.half_pairs import dumps, loads, rejoined
from harness.wire.leaks import is_call_in_text
from harness.wire.open_calls import OpenCall, OpenCalls
from harness.wire.readings import Reading, read_arguments, read_name
from harness.wire.sse import SSEEvent, SSEParser

_DONE = b"[DONE]"
_KNOWN_DELTA_KEYS = frozenset({"role", "content", "refusal", "tool_calls", "function_call"})
_KNOWN_CALL_KEYS = frozenset({"index", "id", "type", "function"})
# Some servers send these in every chunk; once is enough to know.
_NOTED_ONCE = frozenset({"finish_reason_empty", "function_call_beside_tool_calls", "id_repeated"})


class Delta(NamedTuple):
    """One thing that an event added: ``kind`` says to what, ``text`` what, ``call`` to which call, by its place.

    Kinds are ``role``, ``content``, ``refusal``, a call's ``id``, ``name`` and ``arguments``, ``finish_reason``,
    ``usage``, ``error``, ``done``, and the names of fields beyond the protocol; what is no text there is JSON here.
    ``at`` is the event, counted from 0.
    """

    at: int
    kind: str
    text: str
    call: int | None = None


class DeltaAssembler:
    """Takes events or parsed chunks, gives a `ModelTurn` at the end.

    ``tool_names`` are the names the request offered; they settle whether a name sent in two pieces was split or
    repeated (bug report A08). With ``keep_deltas`` everything taken is also listed in ``deltas``.
    """

    def __init__(self, tool_names: Collection[str] = (), *, keep_deltas: bool = False) -> None:
        self._tool_names = frozenset(tool_names)
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._extras: dict[str, Any] = {}
        self._extra_texts: dict[str, list[str]] = {}
        self._content_seen = False
        self._calls = OpenCalls(self._note)
        self._choice: int | None = None
        self._finish_reason: str | None = None
        self._usage: dict[str, Any] | None = None
        self._error: dict[str, Any] | None = None
        self._model: str | None = None
        self._response_id: str | None = None
        self._role = "assistant"
        self._anomalies: list[Anomaly] = []
        self._once: set[str] = set()
        self._lost = False
        self._at = -1
        self.deltas: list[Delta] | None = [] if keep_deltas else None
        self.done = False

    @property
    def finish_reason(self) -> str | None:
        """The finish_reason read so far."""
        return self._finish_reason

    def feed_event(self, event: SSEEvent) -> None:
        """Take one event of the stream."""
        data, kind, _, _, terminated = event
        self._at += 1
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError:
            try:
                chunk = loads(data)
            except orjson.JSONDecodeError as error:
                self._take_unparsed(data.strip(), error, event)
                return
        if terminated and kind != "error" and self._goes_on(chunk):
            return
        if not terminated:
            self._note("event_not_terminated")
        if kind == "error" and not (isinstance(chunk, dict) and error_of(chunk)):
            chunk = _error_chunk(chunk, data)
        self._take(chunk)

    def feed_events(self, events: Iterable[SSEEvent]) -> None:
        """Take the next events of the stream."""
        feed = self.feed_event
        for event in events:
            feed(event)

    def feed_chunk(self, chunk: object) -> None:
        """Take one parsed chunk (the JSON document of an event)."""
        self._at += 1
        self._take(chunk)

    def finish(self) -> ModelTurn:
        """Everything that has arrived, as one turn, as if the stream ended here; more can be fed afterwards."""
        status = turn_status(self._finish_reason, done=self.done, error=self._error, lost=self._lost)
        complete = status in ("complete", "truncated")
        found: list[Anomaly] = []
        calls = [self._finished_call(call, found, complete=complete) for call in self._calls]
        self._find_shared_ids(calls, found)
        content = rejoined(self._content) if self._content_seen else None
        if complete and not calls and is_call_in_text(content, self._tool_names):
            found.append(self._anomaly("call_in_text", "the message is a call, written as text: nothing of it is run"))
        message: dict[str, Any] = {"role": self._role, "content": content}
        if self._refusal:
            message["refusal"] = rejoined(self._refusal)
        for key, texts in self._extra_texts.items():
            message[key] = rejoined(texts)
        message.update(self._extras)
        legacy = bool(calls) and all(call.legacy for call in self._calls)
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
            anomalies=(*self._anomalies, *found),
        )

    def _anomaly(self, code: str, detail: str = "") -> Anomaly:
        return Anomaly(code, max(self._at, 0), detail)

    def _note(self, code: str, detail: str = "") -> None:
        if code in _NOTED_ONCE:
            if code in self._once:
                return
            self._once.add(code)
        self._anomalies.append(self._anomaly(code, detail))

    def _keep(self, kind: str, value: object, call: OpenCall | None = None) -> None:
        if self.deltas is not None:
            text = value if isinstance(value, str) else dumps(value).decode()
            self.deltas.append(Delta(self._at, kind, text, None if call is None else call.number))

    def _take_unparsed(self, data: bytes, error: ValueError, event: SSEEvent) -> None:
        """An event whose data is no JSON: the end mark, an error in words, or something broken."""
        if data == _DONE:
            self.done = True
            self._keep("done", "")
            return
        if not event.terminated:
            self._note("event_not_terminated")
        if not data:
            self._note("empty_event")
        elif event.event == "error":
            self._take(_error_chunk(None, data))
        else:
            self._note("broken_json", str(error))
            # Keep-alives in words are no chunks.
            self._lost = self._lost or (data.startswith(b"{") and not self._finish_reason)

    def _goes_on(self, chunk: object) -> bool:
        """Take a chunk that holds the next fragment of a known call and nothing else, as most do.

        It does what `_take` does with such a chunk, without asking for what is not there. Any other chunk is left
        alone, and the answer is False.
        """
        if type(chunk) is not dict or self._model is None or self._response_id is None:
            return False
        choices = chunk.get("choices")
        if type(choices) is not list or len(choices) != 1 or chunk.get("usage") is not None or "error" in chunk:
            return False
        choice = choices[0]
        if type(choice) is not dict or choice.get("finish_reason") is not None or (choice.get("index") != self._choice):
            return False
        delta = choice.get("delta")
        if type(delta) is not dict or len(delta) != 1:
            return False
        entries = delta.get("tool_calls")
        if type(entries) is not list or len(entries) != 1:
            return False
        entry = entries[0]
        if type(entry) is not dict or len(entry) != 2 or type(index := entry.get("index")) is not int:
            return False
        function = entry.get("function")
        if type(function) is not dict or len(function) != 1 or type(text := function.get("arguments")) is not str:
            return False
        call = self._calls.by_index.get(index)
        if call is None or not text:
            return False
        self._calls.append(call, text)
        if self.deltas is not None:
            self.deltas.append(Delta(self._at, "arguments", text, call.number))
        return True

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
            self._keep("error", error)
        if isinstance(usage := chunk.get("usage"), dict):
            if self._usage is not None and usage != self._usage:
                self._note("usage_repeated", "the last one counts")
            self._usage = usage
            self._keep("usage", usage)
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
                self._note("finish_reason_empty")
            elif self._finish_reason:
                self._note("finish_reason_repeated", reason)
            if reason or self._finish_reason is None:
                self._finish_reason = reason
            self._keep("finish_reason", reason)

    def _take_delta(self, delta: Mapping[str, Any]) -> None:
        entries = delta.get("tool_calls")
        if entries:
            for entry in entries if isinstance(entries, list) else [entries]:
                if isinstance(entry, dict):
                    self._take_call_delta(entry)
                else:
                    self._note("call_delta_not_an_object")
        for key, value in delta.items():
            if key == "content":
                self._take_content(value)
            elif key not in _KNOWN_DELTA_KEYS and value is not None:
                self._take_extra(key, value)
        if isinstance(refusal := delta.get("refusal"), str):
            self._refusal.append(refusal)
            self._keep("refusal", refusal)
        if isinstance(role := delta.get("role"), str) and role:
            self._role = role
            self._keep("role", role)
        if isinstance(legacy := delta.get("function_call"), dict):
            self._take_legacy(legacy)

    def _take_content(self, content: object) -> None:
        if content is None:
            return
        if not isinstance(content, str):
            self._note("content_not_text")
            content = text_of(content) or ""
        self._content_seen = True
        self._content.append(content)
        self._keep("content", content)

    def _take_extra(self, key: str, value: object) -> None:
        """Fields that other providers add (reasoning and the like) are kept as they are spread over the deltas."""
        if isinstance(value, str):
            self._extra_texts.setdefault(key, []).append(value)
        elif isinstance(value, list) and isinstance(self._extras.get(key, []), list):
            self._extras.setdefault(key, []).extend(value)
        else:
            self._extras[key] = value
        self._keep(key, value)

    def _take_legacy(self, legacy: Mapping[str, Any]) -> None:
        call = self._calls[0] if self._calls else self._calls.open(legacy=True)
        if not call.legacy:
            self._note("function_call_beside_tool_calls")
            return
        if isinstance(name := legacy.get("name"), str) and name:
            call.names.append(name)
            self._keep("name", name, call)
        self._append_arguments(call, legacy.get("arguments"))

    def _take_call_delta(self, entry: Mapping[str, Any]) -> None:
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        call_id = entry.get("id") if isinstance(entry.get("id"), str) and entry.get("id") else None
        name = function.get("name") if isinstance(function.get("name"), str) and function.get("name") else None
        arguments = function.get("arguments")
        call = self._calls.place(entry.get("index"), call_id, name, has_arguments=bool(arguments))
        if call_id:
            self._keep("id", call_id, call)
        if name:
            call.names.append(name)
            self._keep("name", name, call)
        for key, value in entry.items():
            if key not in _KNOWN_CALL_KEYS and value is not None:
                call.extras[key] = value
                self._keep(key, value, call)
        self._append_arguments(call, arguments)

    def _append_arguments(self, call: OpenCall, value: object) -> None:
        if value is None:
            return
        text, oddity = arguments_text(value)
        if oddity:
            self._note(oddity)
        if text:
            self._calls.append(call, text)
            self._keep("arguments", text, call)

    def _finished_call(self, call: OpenCall, found: list[Anomaly], *, complete: bool) -> ToolCall:
        if call.id is None and not call.legacy:
            found.append(self._anomaly("id_missing"))
        name = None
        if call.names:
            name = self._read(read_name(call.names, self._tool_names), found)
        else:
            found.append(self._anomaly("name_missing"))
        if not complete:
            return ToolCall(call.id, name, rejoined(call.fragments))
        return ToolCall(call.id, name, self._read(read_arguments(call.fragments), found, f"call {call.id}"))

    def _read(self, reading: Reading, found: list[Anomaly], detail: str = "") -> str:
        if reading.code:
            found.append(self._anomaly(reading.code, reading.detail or detail))
        return reading.text

    def _find_shared_ids(self, calls: list[ToolCall], found: list[Anomaly]) -> None:
        seen: set[str] = set()
        for call in calls:
            if call.id is None:
                continue
            if call.id in seen:
                found.append(self._anomaly("id_shared", call.id))
            seen.add(call.id)


def parse_stream(body: bytes, tool_names: Collection[str] = ()) -> ModelTurn:
    """A whole recorded stream as one turn."""
    parser = SSEParser()
    assembler = DeltaAssembler(tool_names)
    assembler.feed_events(parser.feed(body))
    assembler.feed_events(parser.close())
    return assembler.finish()


def _error_chunk(chunk: object, data: bytes) -> dict[str, Any]:
    """What an event of the type ``error`` says, in the form of an error inside a chunk."""
    return {"error": chunk if chunk and isinstance(chunk, dict) else data.decode("utf-8", "replace")}
