"""Streamed recordings in reach of the tests: those shipped, scripted ones, and the shared corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.play.script import ScriptedCall, ScriptedTurn, render_turn
from harness.wire.exchange import Exchange, decoded

ROOT = Path(__file__).resolve().parents[2]
CORPUS_FOLDERS = ("crush", "fantasy", "openllmetry", "otel-contrib", "pydantic-ai", "ruby_llm")


class Recording(NamedTuple):
    """A stream's body and where it comes from."""

    name: str
    body: bytes


def streamed(cassette: Cassette, root: Path) -> Iterator[tuple[Recording, Exchange]]:
    """The streamed answers of chat exchanges."""
    for exchange in cassette.chat_exchanges:
        if exchange.response.streamed:
            body = decoded(exchange.response.body, exchange.response.headers)
            yield Recording(f"{cassette.path.relative_to(root)}:{exchange.index}", body), exchange


def shipped() -> list[Recording]:
    """The streams among the shipped cassettes."""
    files = sorted((ROOT / "cassettes").glob("*.yaml"))
    return [recording for file in files for recording, _ in streamed(load_cassette(file), ROOT)]


def scripted() -> list[Recording]:
    """Streams of the script player: one call and several, with text, cut small and sent whole, without an end mark."""
    words = '{"text": "gr\\u00fcn 山🏔 \\\\ \\" {}"}'
    one, two = ScriptedCall("note", words, "c1"), ScriptedCall("clock", "{}", "c2")
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    turns = {
        "one call": ScriptedTurn(calls=(one,), finish_reason="tool_calls", fragment=1),
        "one call at once": ScriptedTurn(calls=(one,), finish_reason="tool_calls", fragment=500),
        "two calls": ScriptedTurn(calls=(one, two), finish_reason="tool_calls", fragment=7),
        "text and a call": ScriptedTurn(text="Let me see.", calls=(two,), finish_reason="tool_calls", fragment=4),
        "stop": ScriptedTurn(calls=(one,), finish_reason="stop", fragment=9, usage=usage),
        "only [DONE]": ScriptedTurn(calls=(one, two), finish_reason=None, fragment=9),
        "no [DONE]": ScriptedTurn(calls=(two, one), finish_reason="tool_calls", fragment=9, done=False),
    }
    request = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
    recordings = [Recording(name, render_turn(turn, 0, request).body) for name, turn in turns.items()]
    crlf = recordings[2].body.replace(b"\n", b"\r\n")
    return [*recordings, Recording("CRLF", crlf), Recording("CR", recordings[2].body.replace(b"\n", b"\r"))]


def corpus_files(corpus: Path) -> list[Path]:
    """The cassettes of the corpus."""
    return sorted(path for folder in CORPUS_FOLDERS for path in (corpus / folder).rglob("*.y*ml"))


def completing_byte(body: bytes) -> int:
    """How many bytes it takes until the line is there that makes the turn complete, by a reading of its own."""
    offset = 0
    for line in body.splitlines(keepends=True):
        content = line.rstrip(b"\r\n")
        if content.startswith(b"data:"):
            data = content.removeprefix(b"data:").strip()
            if data == b"[DONE]" or _finishes(data):
                return offset + len(content)
        offset += len(line)
    raise AssertionError("the stream never becomes complete")


def _finishes(data: bytes) -> bool:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    choices = document.get("choices") if isinstance(document, dict) else None
    return any(choice.get("finish_reason") for choice in choices or ())
