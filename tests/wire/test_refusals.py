from __future__ import annotations

import pytest

from harness.wire.refusals import explain_refusal

PROPERTIES = {"type": "object", "properties": {}, "required": []}
TOOL = {"function": {"parameters": PROPERTIES}}
REQUEST = {"messages": [{"role": "user", "content": "{}"}], "tools": [TOOL]}
SEED = 'Invalid JSON schema: [] is not of type "object"'


@pytest.mark.seed("E02")
@pytest.mark.parametrize("message", [SEED, f"HTTP 400: {SEED}", "[] is not of type 'object' in schema"])
def test_e02_the_refusal_names_the_fault_and_its_place(message: str) -> None:
    assert explain_refusal(REQUEST, message) == (
        "the request as sent has {}, the provider read []: a gateway re-encoded the body, "
        "{} became [] at $.tools[0].function.parameters.properties"
    )


def test_many_places_are_counted() -> None:
    assert explain_refusal({"tools": [TOOL] * 5}, SEED).endswith(
        "$.tools[2].function.parameters.properties and 2 more places"
    )


def test_nothing_is_made_up() -> None:
    assert explain_refusal(REQUEST, "the context is too long") == ""
    assert explain_refusal({"tools": []}, SEED) == "the request as sent has [] where an object belongs"
