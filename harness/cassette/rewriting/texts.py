"""The texts of an answer, each joined from its fragments as the assembler joins them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.cassette.paths import PathMap
from harness.cassette.rewriting.changes import arguments_edits, cumulative_edits, text_edits
from harness.cassette.rewriting.cutting import Fragment, Path, recut
from harness.cassette.rewriting.edits import Edit
from harness.wire.deltas import DeltaAssembler

# Names and ids are no texts of the model; an agent looks them up as they are.
_NO_TEXT = frozenset({"role", "id", "type", "name", "index", "tool_calls", "function_call", "content", "function"})
# Fields of structured reasoning that arrive in pieces like content; all others are whole in each event.
_PIECEWISE = frozenset({"text", "summary", "thinking"})


class Located(str):
    """An arguments fragment that remembers where it came from while the assembler joins it to its call."""

    __slots__ = ("fragment",)
    fragment: Fragment


class CallTracer(DeltaAssembler):
    """Joins arguments to calls by the assembler's own rules, so that both mean the same call."""

    def fragments(self) -> Iterator[list[Fragment]]:
        """The fragments of each call, in order; what was not text in the stream parts a call in two."""
        for call in self._calls:
            run: list[Fragment] = []
            for text in call.fragments:
                if isinstance(text, Located):
                    run.append(text.fragment)
                elif run:
                    yield run
                    run = []
            if run:
                yield run


class Texts:
    """The texts of an answer, each as the list of its fragments."""

    def __init__(self, *, streamed: bool) -> None:
        self.is_chat = False
        self._streamed = streamed
        self._joined: dict[tuple[object, ...], list[Fragment]] = {}
        self._arguments: list[list[Fragment]] = []
        self._tracers: dict[str, CallTracer] = {}

    def take(self, number: int, document: object) -> None:
        """Take the texts of the next document."""
        if not isinstance(document, dict):
            return
        if isinstance(document.get("error"), dict | str):
            self._leaves(number, ("error",), document["error"])
        choices = document.get("choices")
        for position, choice in enumerate(choices if isinstance(choices, list) else ()):
            if not isinstance(choice, dict):
                continue
            for key in ("delta", "message") if self._streamed else ("message",):
                if isinstance(choice.get(key), dict):
                    self.is_chat = True
                    self._message(number, ("choices", position, key), choice[key], choice.get("index") or 0)
                    break

    def edits(self, paths: PathMap) -> Iterator[tuple[list[Fragment], list[list[Edit]]]]:
        """For each text that changes: its fragments, and for each of them what changes in it."""
        for fragments in self._joined.values():
            text = "".join(fragment.text for fragment in fragments)
            if edits := text_edits(text, paths):
                yield fragments, recut(edits, fragments)
        for fragments in (*self._arguments, *(run for tracer in self._tracers.values() for run in tracer.fragments())):
            if (cumulative := cumulative_edits(fragments, paths)) is not None:
                yield fragments, cumulative
            elif edits := arguments_edits("".join(fragment.text for fragment in fragments), paths):
                yield fragments, recut(edits, fragments)

    def _message(self, number: int, path: Path, message: dict[str, Any], choice: object) -> None:
        self._content(number, (*path, "content"), message.get("content"), choice)
        for key, value in message.items():
            if key not in _NO_TEXT:
                self._field(number, (*path, key), value, (repr(choice), key))
        calls = message.get("tool_calls")
        if calls and self._streamed:
            self._call_deltas(number, path, calls, choice)
        elif isinstance(calls, list):
            for position, call in enumerate(calls):
                self._call(number, (*path, "tool_calls", position), call)
        legacy = message.get("function_call")
        if isinstance(legacy, dict):
            located = self._function(number, (*path, "function_call"), legacy)
            if self._streamed:
                self._trace(choice, {"function_call": located})

    def _content(self, number: int, path: Path, content: object, choice: object) -> None:
        channel = (repr(choice), "content")
        if isinstance(content, str):
            self._piece(Fragment(number, path, content), channel)
        elif isinstance(content, list):
            for position, part in enumerate(content):
                if isinstance(part, dict) and isinstance(part.get("text"), str):
                    self._piece(Fragment(number, (*path, position, "text"), part["text"]), channel)
                elif isinstance(part, dict):
                    self._leaves(number, (*path, position), part)

    def _field(self, number: int, path: Path, value: object, channel: tuple[object, ...]) -> None:
        """A field of the message that no protocol names: texts are joined, structures looked through."""
        if isinstance(value, str):
            self._piece(Fragment(number, path, value), channel)
        elif isinstance(value, list):
            for position, item in enumerate(value):
                if not isinstance(item, dict):
                    self._leaves(number, (*path, position), item)
                    continue
                own = repr(item.get("index", position))
                for key, part in item.items():
                    if key in _PIECEWISE and isinstance(part, str):
                        self._piece(Fragment(number, (*path, position, key), part), (*channel, own, key))
                    elif key not in _NO_TEXT or not isinstance(part, str):
                        self._leaves(number, (*path, position, key), part)
        else:
            self._leaves(number, path, value)

    def _piece(self, fragment: Fragment, channel: tuple[object, ...]) -> None:
        key = channel if self._streamed else (fragment.path,)
        self._joined.setdefault(key, []).append(fragment)

    def _leaves(self, number: int, path: Path, value: object) -> None:
        """Every string in a structure, each a text of its own. Not recursive: bodies may be nested deeply."""
        waiting: list[tuple[Path, object]] = [(path, value)]
        while waiting:
            place, item = waiting.pop()
            if isinstance(item, str):
                self._joined[number, place] = [Fragment(number, place, item)]
            elif isinstance(item, dict):
                waiting += [((*place, key), part) for key, part in item.items()]
            elif isinstance(item, list):
                waiting += [((*place, position), part) for position, part in enumerate(item)]

    def _call_deltas(self, number: int, path: Path, calls: object, choice: object) -> None:
        if isinstance(calls, list):
            entries = [self._call(number, (*path, "tool_calls", position), call) for position, call in enumerate(calls)]
            self._trace(choice, {"tool_calls": entries})
        else:
            self._trace(choice, {"tool_calls": [self._call(number, (*path, "tool_calls"), calls)]})

    def _call(self, number: int, path: Path, call: object) -> object:
        """The call with its arguments located; in a plain answer the arguments are taken at once."""
        if not isinstance(call, dict):
            return call
        for key, value in call.items():
            if key not in _NO_TEXT:
                self._leaves(number, (*path, key), value)
        function = call.get("function")
        return {**call, "function": self._function(number, (*path, "function"), function)}

    def _function(self, number: int, path: Path, function: object) -> object:
        if not isinstance(function, dict):
            return function
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            self._leaves(number, (*path, "arguments"), arguments)
            return function
        fragment = Fragment(number, (*path, "arguments"), arguments)
        if not self._streamed:
            self._arguments.append([fragment])
            return function
        located = Located(arguments)
        located.fragment = fragment
        return {**function, "arguments": located}

    def _trace(self, choice: object, delta: dict[str, object]) -> None:
        """One tracer a choice: the assembler itself reads only the first."""
        tracer = self._tracers.setdefault(repr(choice), CallTracer())
        tracer.feed_chunk({"choices": [{"index": choice, "delta": delta}]})
