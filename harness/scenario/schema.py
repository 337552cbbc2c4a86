"""The scenario format as a JSON Schema, for editors that complete and check YAML (docs/scenario.schema.json)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from harness.scenario.format import Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_NO_KEYS = ("path", "variants")
"""What the model holds beside what stands in the file."""

_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "FileSpec": ("text", "base64", "link"),
    "BatchExpectation": ("concurrent", "serial"),
}
"""Parts that have exactly one of these keys."""


def scenario_schema() -> dict[str, Any]:
    """The schema, each key with what it means.

    What depends on several keys at once, or on the workspace, is left to `load_scenario`: a file that the schema takes
    may still be wrong, one that it refuses is.
    """
    whole = Scenario.model_json_schema(mode="validation", by_alias=True)
    parts = whole.get("$defs", {})
    top = parts.pop("Scenario") if "$ref" in whole else {key: value for key, value in whole.items() if key != "$defs"}
    for key in _NO_KEYS:
        top["properties"].pop(key, None)
    described = descriptions()
    for name, part in {"Scenario": top, **parts}.items():
        _describe(part, described.get(name, {}))
    for name, keys in _ONE_OF.items():
        parts[name]["oneOf"] = [{"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in keys]
    top.pop("required", None)
    asked = {"anyOf": [{"required": ["prompt"]}, {"required": ["prompts"]}]}
    alone = {"allOf": [{"required": ["player"]}, asked]}
    top["anyOf"] = [{"required": ["matrix"]}, alone]
    return {"$schema": DIALECT, "title": "A scenario of the test harness", **top, "$defs": dict(sorted(parts.items()))}


@cache
def descriptions() -> Mapping[str, Mapping[str, str]]:
    """What the keys mean, by part of the format."""
    return tomllib.loads(files(__package__).joinpath("descriptions.toml").read_text("utf-8"))


def _describe(part: dict[str, Any], described: Mapping[str, str]) -> None:
    for key, schema in part.get("properties", {}).items():
        schema.pop("title", None)
        if key in described:
            schema["description"] = described[key]
    part.pop("title", None)
