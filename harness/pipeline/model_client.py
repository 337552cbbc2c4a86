"""One model call through the real ``openai`` client, read by this package's own parser.

The client builds the request, sends it and handles status codes; the body is parsed here, because the SDK's
accumulator loses what the wire held (bug reports, family A).
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.wire.chat import ModelTurn, parse_completion
from harness.wire.deltas import DeltaAssembler, parse_stream
from harness.wire.exchange import Response
from harness.wire.sse import SSEParser

if TYPE_CHECKING:
    import openai

_LONGEST_MESSAGE = 2000  # gateways answer with whole pages


class ModelCallError(HarnessError):
    """The call gave no turn: an HTTP error, no connection, or a body that is no chat completion.

    ``status`` is the HTTP status, None where there was no response.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


def invoke_raw(client: openai.OpenAI, body: Mapping[str, Any], tool_names: Collection[str] = ()) -> ModelTurn:
    """Send one chat completion request and read its answer, streamed when ``body["stream"]`` is true.

    ``body`` is the request as it goes over the wire; keys the SDK does not know travel in its ``extra_body``. A stream
    that breaks off gives a turn with status *incomplete*. Raises ModelCallError.
    """
    import httpx2  # noqa: PLC0415  start-up imports only what the command needs
    import openai  # noqa: PLC0415

    known = _known_parameters()
    arguments: dict[str, Any] = {key: value for key, value in body.items() if key in known}
    if extra := {key: value for key, value in body.items() if key not in known}:
        arguments["extra_body"] = extra
    try:
        if body.get("stream"):
            return _streamed(client, arguments, tool_names)
        response = client.chat.completions.with_raw_response.create(**arguments)
        return _whole(response.headers, response.content, tool_names)
    except openai.APIStatusError as error:
        raise ModelCallError(f"HTTP {error.status_code}: {_message_of(error)}", error.status_code) from error
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        raise ModelCallError(f"no answer: {type(cause).__name__}: {cause}") from error
    except httpx2.HTTPError as error:  # the client does not wrap what breaks while it reads the body of an error
        raise ModelCallError(f"the answer broke off: {type(error).__name__}: {error}") from error


def models_without_tools(client: openai.OpenAI, model: str) -> str | None:
    """Why tools must not be sent to ``model`` by what ``/v1/models`` lists (K01), or None.

    A list that says nothing of capabilities, or no list at all, is no reason.
    """
    import openai  # noqa: PLC0415

    try:
        listed = client.models.with_raw_response.list().content
        models = parse_models(listed)
    except (openai.OpenAIError, ValueError):
        return None
    entry = models.get(model)
    if entry is None:
        return None
    for key in ("capabilities", "supported_parameters"):
        offered = entry.get(key)
        if isinstance(offered, list) and offered and "tools" not in offered:
            return f"/v1/models lists {model} without tools ({key}: {', '.join(map(str, offered))})"
    return None


def parse_models(body: bytes) -> dict[str, dict[str, Any]]:
    """The entries of a ``/v1/models`` answer by id; raises ValueError when it is no JSON."""
    import orjson  # noqa: PLC0415

    document = orjson.loads(body)
    entries = document.get("data") if isinstance(document, dict) else document
    if isinstance(document, dict) and entries is None:
        entries = [document]
    return {
        entry["id"]: entry
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    }


def _is_stream(headers: Mapping[str, str], content: bytes) -> bool:
    kind = headers.get("content-type", "")
    try:
        return Response(200, (("content-type", kind),), content).streamed
    except ValueError:  # packed bytes that no header announced
        return False


def _whole(headers: Mapping[str, str], content: bytes, tool_names: Collection[str]) -> ModelTurn:
    if _is_stream(headers, content):
        return parse_stream(content, tool_names)
    try:
        return parse_completion(content, tool_names)
    except ValueError as error:
        raise ModelCallError(f"the body is no chat completion: {error}: {content[:120]!r}") from error


def _streamed(client: openai.OpenAI, arguments: dict[str, Any], tool_names: Collection[str]) -> ModelTurn:
    with client.chat.completions.with_streaming_response.create(**arguments) as response:
        chunks = response.iter_bytes()
        first = next(chunks, b"")
        if _is_stream(response.headers, first):
            return _assembled(first, chunks, tool_names)
        return _whole(response.headers, first + b"".join(chunks), tool_names)


def _assembled(first: bytes, chunks: Iterator[bytes], tool_names: Collection[str]) -> ModelTurn:
    """The turn of a stream; a broken connection ends it where it broke, which the status then says."""
    import httpx2  # noqa: PLC0415

    parser, assembler = SSEParser(), DeltaAssembler(tool_names)
    try:
        while True:
            for event in parser.feed(first):
                assembler.feed_event(event)
            first = next(chunks)
    except (StopIteration, httpx2.HTTPError):
        pass
    for event in parser.close():
        assembler.feed_event(event)
    return assembler.finish()


def _message_of(error: openai.APIStatusError) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else body
    if not isinstance(said, str) or not said.strip():
        said = error.response.text
    return said.strip()[:_LONGEST_MESSAGE] or str(error)


@cache
def _known_parameters() -> frozenset[str]:
    from openai.resources.chat.completions import Completions  # noqa: PLC0415

    return frozenset(inspect.signature(Completions.create).parameters) - {
        "self", "extra_headers", "extra_query", "extra_body", "timeout",
    }  # fmt: skip
