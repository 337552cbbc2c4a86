"""What puts a stream's calls together: this package, what others use today, and anything that a name points to.

An assembler takes the bytes of a stream and gives the calls that an agent would run, in order: each a mapping with
``id``, ``name`` and ``arguments`` (a JSON text, or an object), or as the API has them, under ``function``. Where
nothing may be run it gives none, or raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from harness.errors import InputError
from harness.play.client import openai_client
from harness.play.transport import PlayerTransport
from harness.scenario.functions import user_object
from harness.wire.deltas import parse_stream
from harness.wire.exchange import Request, Response

Calls = Iterable[Mapping[str, Any]]
Assembler = Callable[[bytes], Calls]

# What a careful caller of the other assemblers looks at before running anything.
_NOT_TO_RUN = frozenset({None, "length"})


def this_package(tools: Iterable[str]) -> Assembler:
    """`harness.wire.deltas`, given the names that the request offers."""
    names = tuple(tools)

    def assemble(body: bytes) -> Calls:
        turn = parse_stream(body, names)
        return [call.to_wire() for call in turn.tool_calls] if turn.status == "complete" else []

    return assemble


def openai_stream_helper(body: bytes) -> Calls:
    """The ``stream()`` helper of openai-python: its final completion, if that has a finish_reason to run it on."""
    with (
        warnings.catch_warnings(action="ignore"),  # arguments that are no text: pydantic tells about them
        openai_client(PlayerTransport(_Playing(body))) as client,
        client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "go"}]) as stream,
    ):
        choice = stream.get_final_completion().choices[0]
        calls = [call.model_dump() for call in choice.message.tool_calls or ()]
    return [] if choice.finish_reason in _NOT_TO_RUN else calls


def append_by_index(body: bytes) -> Calls:
    """The loop of most tutorials: a list of calls by index, arguments added up; stops without a finish_reason."""
    calls: list[dict[str, Any]] = []
    reason = None
    for line in body.decode().split("\n"):
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        choice = orjson.loads(line[len("data: ") :])["choices"][0]
        reason = choice["finish_reason"] or reason
        for part in choice["delta"].get("tool_calls") or []:
            if part["index"] == len(calls):
                calls.append({"id": part["id"], "name": part["function"]["name"], "arguments": ""})
            calls[part["index"]]["arguments"] += part["function"]["arguments"]
    return [] if reason in _NOT_TO_RUN else calls


def load_assembler(name: str) -> Assembler:
    """The callable that ``module:object`` names, looked for in the working folder first; raises InputError."""
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute):
        raise InputError(f"{name!r} is not module:object", where="--assembler")
    value = user_object(name)
    if not callable(value):
        raise InputError(f"a {type(value).__name__}, not a callable that takes bytes", where=name)
    assembler: Assembler = value
    return assembler


class _Playing:
    """Answers every request with one stream."""

    def __init__(self, body: bytes) -> None:
        self._response = Response(200, (("content-type", "text/event-stream"),), body)

    def answer(self, request: Request) -> Response:  # noqa: ARG002
        return self._response
