"""Input for tool pipelines, right and wrong: Hypothesis strategies, and the generators under them."""

from harness.fuzz.calls import Due, FuzzedCall, ToolSchema, as_sent, flat
from harness.fuzz.choices import Choices, RandomChoices, RejectedError, attempt
from harness.fuzz.histories import Action, FileHistory, FileStep, Outcome, happen_outside
from harness.fuzz.near_miss import Broken, NearMiss, NearMissMaker
from harness.fuzz.schema import Repaired, ValueMaker, repaired_schema
from harness.fuzz.strategies import (
    faulty_streams,
    file_histories,
    fragmented_streams,
    near_misses,
    raw_texts,
    schema_values,
    tool_call_lists,
    tool_calls,
    tool_results,
)
from harness.fuzz.streams import FaultyStream, turn_of
from harness.fuzz.texts import FAMILIES, RawText, Reading

__all__ = [
    "FAMILIES",
    "Action",
    "Broken",
    "Choices",
    "Due",
    "FaultyStream",
    "FileHistory",
    "FileStep",
    "FuzzedCall",
    "NearMiss",
    "NearMissMaker",
    "Outcome",
    "RandomChoices",
    "RawText",
    "Reading",
    "RejectedError",
    "Repaired",
    "ToolSchema",
    "ValueMaker",
    "as_sent",
    "attempt",
    "faulty_streams",
    "file_histories",
    "flat",
    "fragmented_streams",
    "happen_outside",
    "near_misses",
    "raw_texts",
    "repaired_schema",
    "schema_values",
    "tool_call_lists",
    "tool_calls",
    "tool_results",
    "turn_of",
]
