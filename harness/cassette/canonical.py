"""What two requests must have in common to count as the same.

The canonical form leaves out what does not change what the model is asked: key order, the folders that both sides know
(as placeholders), how arguments are spaced, three ways to say that there is no content, and volatile values, which are
numbered by first appearance over the whole request. List order, all parameters and every other character count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import orjson

from harness.cassette.drift import DriftClass
from harness.cassette.messages import leading_system
from harness.cassette.paths import KnownPaths
from harness.cassette.volatile import MARK, NUMBER, Value, VolatileRules
from harness.wire.chat import text_of
from harness.wire.exchange import CHAT_PATH, Request, decoded, header
from harness.wire.half_pairs import dumps

CLASSES: tuple[DriftClass, ...] = ("model", "system", "tools", "parameters", "history")
"""The order in which differences are told."""

_BOUNDARY = re.compile(r'multipart/[^;]*;.*?boundary=(?:"([^"]+)"|([^\s;]+))', re.IGNORECASE)
_CLASS_OF_KEY: dict[str, DriftClass] = {
    "model": "model", "tools": "tools", "functions": "tools", "system": "system", "instructions": "system",
    "input": "history", "prompt": "history",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a request: the digest of its canonical form, the volatile values taken out of it, in order."""

    digest: bytes
    values: tuple[Value, ...] = ()


@dataclass(frozen=True)
class CanonicalRequest:
    """A request as parts.

    ``keys`` are its top-level keys but the messages; ``system`` counts the messages in front that have the role system
    or developer.
    """

    head: bytes
    is_chat: bool
    keys: Mapping[str, Part]
    messages: tuple[Part, ...]
    system: int

    @cached_property
    def key(self) -> bytes:
        """Equal for equal requests."""
        return self.key_without(frozenset())

    def key_without(self, left_out: frozenset[DriftClass]) -> bytes:
        """`key` with some classes left out: they may differ."""
        kept = [(name, part) for drift_class, name, part in self.parts() if drift_class not in left_out]
        names = "\0".join([name for name, _ in kept if name]).encode("utf-8", "surrogatepass")
        digests = b"".join([part.digest for _, part in kept])
        return _digest(self.head, names, digests, _numbering([part for _, part in kept]))

    def parts(self) -> Iterable[tuple[DriftClass, str, Part]]:
        """Class, top-level key (empty for a message) and part, in the order in which values are numbered."""
        for number, message in enumerate(self.messages):
            yield ("system" if number < self.system else "history"), "", message
        for name in sorted(self.keys):
            yield class_of_key(name), name, self.keys[name]


def class_of_key(name: str) -> DriftClass:
    """The drift class of a top-level key of a body."""
    return _CLASS_OF_KEY.get(name, "parameters")


def numbered(parts: Iterable[Part]) -> list[list[int]]:
    """For each part the numbers of its volatile values, by first appearance over all of them."""
    seen: dict[str, int] = {}
    return [[seen.setdefault(value.text, len(seen)) for value in part.values] for part in parts]


@dataclass(slots=True)
class _Taken:
    """What was taken out of a piece; ``numbers`` says whether volatile numbers are: in messages, not in parameters."""

    numbers: bool
    values: list[Value] = field(default_factory=list)


class Canonicalizer:
    """Brings the requests of one side, the recorded or the present one, into canonical form.

    Messages and tools seen before are not looked at again, so a conversation costs what its new messages cost.
    ``shared_objects`` says that requests share the objects of their parts for as long as this lives (a loaded
    cassette's do): then not even their bytes are made again.
    """

    def __init__(
        self,
        paths: KnownPaths | None = None,
        rules: VolatileRules | None = None,
        *,
        shared_objects: bool = False,
    ) -> None:
        self._paths = paths or KnownPaths({})
        self._rules = rules or VolatileRules()
        self._by_content: dict[bytes, Part] = {}
        self._by_object: dict[int, tuple[object, Part]] | None = {} if shared_objects else None

    def canonical(self, request: Request) -> CanonicalRequest:
        """The canonical form; never fails: a body that is no JSON object counts as its text or bytes."""
        # Where a chat API is mounted is a matter of the base URL, not of the conversation.
        is_chat = request.is_chat
        head = f"{request.method.upper()} {CHAT_PATH if is_chat else request.path}".encode()
        try:
            body = request.parts()
        except (ValueError, RecursionError):
            body = None
        if body is None:
            return CanonicalRequest(head, is_chat, {"": self._opaque(request)}, (), 0)
        keys = {name: self._part(name, value) for name, value in body.rest.items()}
        if body.tools is not None:
            keys["tools"] = self._part("tools", body.tools)
        messages = tuple(self._part("message", message) for message in body.messages or ())
        return CanonicalRequest(head, is_chat, keys, messages, leading_system(body.messages or ()))

    def value(self, name: str, value: object) -> tuple[object, list[Value]]:
        """A canonical JSON value for a top-level key or a ``message``, and the volatile values taken out of it."""
        taken = _Taken(numbers=name == "message")
        canonical = self._message(value, taken) if name == "message" else self._json(value, taken)
        return canonical, taken.values

    def _part(self, name: str, value: object) -> Part:
        known = self._by_object.get(id(value)) if self._by_object is not None else None
        if known is not None:
            return known[1]
        try:
            raw = dumps([name == "message", value])
        except (TypeError, RecursionError):
            return Part(_digest(repr(value).encode("utf-8", "replace")))
        content = blake2b(raw, digest_size=16).digest()
        part = self._by_content.get(content)
        if part is None:
            part = self._by_content[content] = self._made(name, value, content)
        if self._by_object is not None and isinstance(value, dict | list):
            self._by_object[id(value)] = (value, part)
        return part

    def _made(self, name: str, value: object, content: bytes) -> Part:
        try:
            canonical, values = self.value(name, value)
            return Part(_digest(dumps(canonical, option=orjson.OPT_SORT_KEYS)), tuple(values))
        except (RecursionError, TypeError):  # deeper than can be written again
            return Part(content)

    def _opaque(self, request: Request) -> Part:
        """A body that is no JSON object; the boundary of a multipart body is drawn anew each time (H14)."""
        taken = _Taken(numbers=False)
        try:
            text = decoded(request.body, request.headers).decode()
        except ValueError:
            return Part(_digest(request.body))
        boundary = _BOUNDARY.search(header(request.headers, "content-type") or "")
        if boundary is not None:
            text = text.replace(boundary[1] or boundary[2], "<boundary>")
        return Part(_digest(self._text(text, taken).encode()), tuple(taken.values))

    def _text(self, text: str, taken: _Taken) -> str:
        text = self._rules.take_out(self._paths.to_placeholders(text), taken.values)
        return self._rules.without_numbers(text) if taken.numbers else text

    def _json(self, value: object, taken: _Taken) -> object:
        if isinstance(value, str):
            return self._text(value, taken)
        if isinstance(value, list | tuple):
            return [self._json(item, taken) for item in value]
        if isinstance(value, Mapping):
            return {self._text(str(key), taken): self._item(str(key), item, taken) for key, item in value.items()}
        return value

    def _item(self, key: str, value: object, taken: _Taken) -> object:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and taken.numbers and self._rules.is_number_key(key):
            return NUMBER
        return self._json(value, taken)

    def _message(self, message: object, taken: _Taken) -> object:
        if not isinstance(message, Mapping):
            return self._json(message, taken)
        canonical: dict[str, object] = {}
        for name in sorted(message):
            value = message[name]
            if name == "content":
                content = self._content(value, taken)
                if content is not None:
                    canonical[name] = content
            elif name == "tool_calls" and isinstance(value, list):
                canonical[name] = [self._call(call, taken) for call in value]
            elif name == "function_call":
                canonical[name] = self._function(value, taken)
            elif name == "tool_call_id" and isinstance(value, str) and value:
                canonical[name] = _identifier(value, taken)
            else:
                canonical[self._text(name, taken)] = self._item(name, value, taken)
        return canonical

    def _content(self, content: object, taken: _Taken) -> object:
        """None, empty and missing are one; so are a text and the text parts that make it up."""
        if isinstance(content, list) and all(_is_text_part(part) for part in content):
            content = text_of(content)
        if isinstance(content, str):
            return self._text(content, taken) or None
        return self._json(content, taken)

    def _call(self, call: object, taken: _Taken) -> object:
        if not isinstance(call, Mapping):
            return self._json(call, taken)
        canonical: dict[str, object] = {}
        for name in sorted(call):
            value = call[name]
            if name == "function":
                canonical[name] = self._function(value, taken)
            elif name == "id" and isinstance(value, str) and value:
                canonical[name] = _identifier(value, taken)
            else:
                canonical[self._text(name, taken)] = self._item(name, value, taken)
        return canonical

    def _function(self, function: object, taken: _Taken) -> object:
        if not isinstance(function, Mapping):
            return self._json(function, taken)
        return {
            self._text(name, taken): self._arguments(value, taken)
            if name == "arguments"
            else self._item(name, value, taken)
            for name, value in sorted(function.items())
        }

    def _arguments(self, arguments: object, taken: _Taken) -> object:
        """Arguments are compared as JSON; ones that do not parse are compared as the text they are."""
        if isinstance(arguments, str) and arguments.lstrip().startswith(("{", "[")):
            try:
                return self._json(orjson.loads(arguments), taken)
            except orjson.JSONDecodeError:
                return self._text(arguments, taken)
        return self._json(arguments, taken)


def _identifier(value: str, taken: _Taken) -> str:
    taken.values.append(Value("id", value))
    return f"{MARK}id{MARK}"


def _is_text_part(part: object) -> bool:
    return isinstance(part, Mapping) and part.keys() == {"type", "text"} and part["type"] == "text"


def _numbering(parts: Sequence[Part]) -> bytes:
    seen: dict[str, int] = {}
    numbers = [str(seen.setdefault(value.text, len(seen))) for part in parts for value in part.values]
    return ",".join(numbers).encode()


def _digest(*pieces: bytes) -> bytes:
    """A hash over pieces with their lengths, so that no two lists of pieces run together."""
    state = blake2b(digest_size=16)
    for piece in pieces:
        state.update(b"%d:" % len(piece))
        state.update(piece)
    return state.digest()
