"""What two requests must have in common to count as the same.

The canonical form of a chat request leaves out what does not change what the model is asked: key order, paths that
the caller knows, durations in results, how arguments are spaced, and three ways to say that there is no content.
List order, all parameters and every other character count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from harness.wire.exchange import CHAT_PATH, Request, decoded

MS_PLACEHOLDER = "<ms>"

# In the text of a JSON document: inside a string value the quote behind the key would be escaped.
_MS_NUMBER = re.compile(r'(_ms"\s*:\s*)-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?')


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A canonical request as digests: ``key`` is all of it, the others are its parts, for finding near ones.

    ``parts`` holds the top-level keys but ``messages``; both are empty for a body that is not a JSON object.
    """

    key: bytes
    is_chat: bool
    messages: tuple[bytes, ...]
    parts: Mapping[str, bytes]


class Canonicalizer:
    """Brings requests into canonical form.

    ``placeholders`` maps directories to the name that stands for them (``{"/tmp/x": "<workspace>"}``); several may
    share a name. It applies wherever the path stands in a text, as a whole: ``/tmp/x`` is not found in ``/tmp/x2``.
    Messages seen before are not canonicalized again, so a conversation costs what its new messages cost.
    """

    def __init__(self, placeholders: Mapping[str, str] | None = None) -> None:
        self._replace = _replacer(placeholders or {})
        self._known: dict[bytes, bytes] = {}

    def key_of(self, request: Request) -> RequestKey:
        """The digests of a request; never fails: a body that is no JSON object counts as its text or bytes."""
        is_chat = request.is_chat
        # Where a chat API is mounted is a matter of the base URL, not of the conversation.
        head = f"{request.method.upper()} {CHAT_PATH if is_chat else request.path}".encode()
        body = _json_of(request)
        try:
            messages, digests, parts = self._parts_of(body)
        except (TypeError, RecursionError):  # no JSON object, or one nested deeper than can be written again
            return RequestKey(_digest(head, self._opaque(request)), is_chat, (), {})
        named = [piece for name in sorted(parts) for piece in (name.encode(), parts[name])]
        return RequestKey(_digest(head, *named, messages, *digests), is_chat, digests, parts)

    def body(self, request: Request) -> Any:
        """The canonical body as a JSON value, or None where the body is no JSON object."""
        body = _json_of(request)
        if not isinstance(body, dict):
            return None
        return {
            self._replace(name): [self.message(item) for item in value]
            if name == "messages" and isinstance(value, list)
            else self.value(value)
            for name, value in body.items()
        }

    def value(self, value: Any) -> Any:
        """A JSON value with its paths replaced, in keys too."""
        if isinstance(value, str):
            return self._replace(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self._replace(name): self.value(item) for name, item in value.items()}
        return value

    def message(self, message: Any) -> Any:
        """A message of the history: content, arguments and all other fields in canonical form."""
        if not isinstance(message, dict):
            return self.value(message)
        canonical: dict[str, Any] = {}
        for name, value in message.items():
            if name == "content":
                content = self._content(value)
                if content is not None:
                    canonical[name] = content
            elif name == "tool_calls" and isinstance(value, list):
                canonical[name] = [self._call(call) for call in value]
            elif name == "function_call":
                canonical[name] = self._function(value)
            else:
                canonical[self._replace(name)] = self.value(value)
        return canonical

    def _parts_of(self, body: Any) -> tuple[bytes, tuple[bytes, ...], dict[str, bytes]]:
        """How messages are given, their digests, and those of the other top-level keys."""
        if not isinstance(body, dict):
            raise TypeError("no JSON object")
        messages = body.get("messages")
        if not isinstance(messages, list):
            return b"", (), {name: self._part(b"part", value, self.value) for name, value in body.items()}
        digests = tuple(self._part(b"message", message, self.message) for message in messages)
        others = {name: self._part(b"part", value, self.value) for name, value in body.items() if name != "messages"}
        return b"list", digests, others

    def _content(self, content: Any) -> Any:
        """None, empty and missing are one; so are a text and a single part that holds it."""
        if isinstance(content, list) and len(content) == 1 and _is_text_part(content[0]):
            content = content[0]["text"]
        if isinstance(content, str):
            return self._text(content) or None
        if isinstance(content, list):
            return [self._content_part(part) for part in content]
        return self.value(content)

    def _content_part(self, part: Any) -> Any:
        if not isinstance(part, dict):
            return self.value(part)
        is_text = isinstance(part.get("text"), str)
        return {
            self._replace(name): self._text(value) if is_text and name == "text" else self.value(value)
            for name, value in part.items()
        }

    def _text(self, text: str) -> str:
        if '_ms"' in text and _parsed(text) is not None:
            text = _MS_NUMBER.sub(rf'\1"{MS_PLACEHOLDER}"', text)
        return self._replace(text)

    def _call(self, call: Any) -> Any:
        if not isinstance(call, dict):
            return self.value(call)
        return {
            self._replace(name): self._function(value) if name == "function" else self.value(value)
            for name, value in call.items()
        }

    def _function(self, function: Any) -> Any:
        if not isinstance(function, dict):
            return self.value(function)
        canonical = self.value(function)
        arguments = function.get("arguments")
        if isinstance(arguments, str) and (parsed := _parsed(arguments)) is not None:
            canonical["arguments"] = self.value(parsed)
        return canonical

    def _part(self, kind: bytes, value: Any, canonical: Callable[[Any], Any]) -> bytes:
        raw = orjson.dumps(value)
        seen = _digest(kind, raw)
        known = self._known.get(seen)
        if known is None:
            try:
                known = _digest(orjson.dumps(canonical(value), option=orjson.OPT_SORT_KEYS))
            except (RecursionError, orjson.JSONEncodeError):
                known = seen
            self._known[seen] = known
        return known

    def _opaque(self, request: Request) -> bytes:
        try:
            body = decoded(request.body, request.headers)
            return self._replace(body.decode()).encode()
        except ValueError:
            return request.body


def _json_of(request: Request) -> Any:
    try:
        return request.json()
    except ValueError:
        return None


def _parsed(text: str) -> Any:
    """The JSON object or list that a text holds, else None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _is_text_part(part: object) -> bool:
    return (
        isinstance(part, dict)
        and part.keys() == {"type", "text"}
        and part["type"] == "text"
        and isinstance(part["text"], str)
    )


def _digest(*pieces: bytes) -> bytes:
    """A hash over pieces with their lengths, so that no two lists of pieces run together."""
    state = blake2b(digest_size=16)
    for piece in pieces:
        state.update(b"%d:" % len(piece))
        state.update(piece)
    return state.digest()


def _replacer(placeholders: Mapping[str, str]) -> Callable[[str], str]:
    names = {path.rstrip("/"): name for path, name in placeholders.items()}
    if "" in names:
        raise ValueError("a placeholder cannot stand for the empty path or the root folder")
    if not names:
        return str
    longest_first = "|".join(re.escape(path) for path in sorted(names, key=len, reverse=True))
    # A dot ends a sentence or begins a suffix: /tmp/x. is the folder, /tmp/x.old is another.
    pattern = re.compile(rf"(?:{longest_first})(?![\w-]|\.\w)")
    return lambda text: pattern.sub(lambda found: names[found.group()], text)
