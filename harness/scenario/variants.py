"""The ``matrix`` of a scenario file: named variants, each the file's own document with some of it replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from harness.scenario.part import Part

Overrides = dict[str, Any]
"""What a variant changes of a mapping; judged as a part of the whole scenario once it is merged."""


class VariantSpec(Part):
    """A variant of the scenario: its mappings are merged into the file's, everything else takes its place."""

    name: Annotated[str, Field(min_length=1)]
    description: str | None = None
    tags: list[str] | None = None
    workspace: Overrides | None = None
    agent: Overrides | None = None
    prompt: str | None = None
    prompts: list[Any] | None = None
    player: Overrides | None = None
    events: list[Any] | None = None
    limits: Overrides | None = None
    expect: Overrides | None = None


_EITHER = {"prompt": "prompts", "prompts": "prompt"}


def merged_documents(document: Mapping[str, Any], entries: list[Any]) -> Iterator[dict[str, Any]]:
    """The document of each variant, in order, without the matrix."""
    base = {key: value for key, value in document.items() if key != "matrix"}
    for entry in entries:
        overrides = {key: value for key, value in entry.items() if key != "name"}
        kept = {key: value for key, value in base.items() if _EITHER.get(key) not in overrides}
        yield merged(kept, overrides)


def merged(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings merged key by key at every depth; a list or a text takes the place of what stood there, null the key."""
    whole = dict(base)
    for key, value in overrides.items():
        if value is None:
            whole.pop(key, None)
        elif isinstance(value, Mapping):
            inner = whole.get(key)
            whole[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            whole[key] = value
    return whole
