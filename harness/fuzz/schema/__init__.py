"""JSON Schema to values: the schema read as a graph of places, values made out of choices."""

from harness.fuzz.schema.repair import EMPTY_PARAMETERS, Repaired, repaired_schema
from harness.fuzz.schema.values import ValueMaker

__all__ = ["EMPTY_PARAMETERS", "Repaired", "ValueMaker", "repaired_schema"]
