"""The generators of this package as Hypothesis strategies, for property tests of one's own.

Each takes plain JSON Schemas and ``tools`` arrays. Schemas are read when the strategy is made, so that a schema that
cannot be used is an InputError there and not a failing example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st

from harness.fuzz import calls, histories, results, streams, texts
from harness.fuzz.drawing import strategy
from harness.fuzz.near_miss import NearMiss, NearMissMaker
from harness.fuzz.schema import ValueMaker
from harness.fuzz.schema.document import Schema
from harness.pipeline.result import ToolResult
from harness.play.script import ScriptedTurn
from harness.wire.exchange import Response


def schema_values(schema: Schema, *, formats: bool = False, extras: bool = True) -> st.SearchStrategy[Any]:
    """Values that fit the schema.

    ``formats`` says that whoever validates checks ``format`` too. ``extras`` adds, now and then, properties that the
    schema does not list where it leaves them open. Raises InputError for a schema that is none or that nothing fits.
    """
    return strategy(ValueMaker(schema, formats=formats, extras=extras).value)


def near_misses(schema: Schema, *, formats: bool = False) -> st.SearchStrategy[NearMiss]:
    """Values that break one rule of the schema, each with the rule and the place.

    ``format`` is broken only with ``formats``. Raises InputError as `schema_values`, and where there is no rule.
    """
    return strategy(NearMissMaker(schema, formats=formats).near_miss)


def raw_texts(
    meant: st.SearchStrategy[dict[str, Any]] | None = None, *, family: str | None = None
) -> st.SearchStrategy[texts.RawText]:
    """``arguments`` texts of the objects given (any, by default), of all families or of one.

    Raises KeyError for a family that is none; `FAMILIES` has the names.
    """
    if family is not None:
        texts.FAMILIES[family]
    objects = schema_values({"type": "object"}) if meant is None else meant
    return objects.flatmap(lambda value: strategy(lambda choices: texts.raw_text(choices, value, family)))


def tool_calls(tools: Iterable[Mapping[str, Any]], *, valid: bool = False) -> st.SearchStrategy[calls.FuzzedCall]:
    """Calls of the tools, right and wrong; with ``valid`` only such as have to be accepted. Raises InputError."""
    schemas = calls.tool_schemas(tools)
    make = calls.valid_call if valid else calls.fuzzed_call
    return strategy(lambda choices: make(choices, schemas))


def tool_call_lists(
    tools: Iterable[Mapping[str, Any]], *, most: int = 6, valid: bool = False
) -> st.SearchStrategy[list[calls.FuzzedCall]]:
    """The calls of one step, 1 to ``most``. Raises InputError."""
    schemas = calls.tool_schemas(tools)
    make = calls.valid_call if valid else calls.fuzzed_call
    return strategy(lambda choices: calls.call_list(choices, schemas, most, make))


def fragmented_streams(turn: ScriptedTurn) -> st.SearchStrategy[Response]:
    """The turn as a conforming stream, in any fragments and reads: always the same message."""
    return strategy(lambda choices: streams.fragmented(choices, turn))


def faulty_streams(turn: ScriptedTurn) -> st.SearchStrategy[streams.FaultyStream]:
    """The turn as a stream in which one to three things go wrong."""
    return strategy(lambda choices: streams.faulty(choices, turn))


def tool_results() -> st.SearchStrategy[ToolResult]:
    """What a tool may return."""
    return strategy(results.tool_result)


def file_histories(*, most: int = 12) -> st.SearchStrategy[histories.FileHistory]:
    """Reads and edits of an agent among writes of others, each with its outcome."""
    return strategy(lambda choices: histories.file_history(choices, most))
