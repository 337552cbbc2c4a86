"""Function schemas of other people: a sample of all kinds here, all of them in ``benchmarks/fuzz.py``."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.fuzz import NearMissMaker, RandomChoices, ValueMaker, attempt, repaired_schema
from harness.fuzz.definitions import Definition, definitions_in
from tests.fuzz.validators import Validators

pytestmark = pytest.mark.corpus

SAMPLE = 250

NOTHING_FITS = "extract_parameters_v1"
"""An array whose enum lists texts: what was meant cannot be told from it."""


@pytest.fixture(scope="module")
def definitions(shared_dir: Path) -> list[Definition]:
    corpus = shared_dir / "corpus"
    files = [
        *sorted((corpus / "bfcl").glob("*.json")),
        *sorted((corpus / "bfcl" / "multi_turn_func_doc").glob("*.json")),
        *sorted((corpus / "github-mcp-server" / "__toolsnaps__").iterdir()),
        *sorted((shared_dir / "agents").glob("*.tools.json")),
    ]
    found = [definition for file in files for definition in definitions_in(file)]
    distinct = {json.dumps(one.parameters, sort_keys=True): one for one in found}
    return [distinct[key] for key in sorted(distinct)]


def test_there_are_thousands_of_schemas(definitions: list[Definition]) -> None:
    assert len(definitions) > 1_800


def test_values_fit_and_near_misses_do_not_by_both_validators(definitions: list[Definition]) -> None:
    others = [one for one in definitions if "anyOf" in str(one.parameters) or "oneOf" in str(one.parameters)]
    usable = [one for one in definitions if one.name != NOTHING_FITS]
    sample = random.Random(9).sample(usable, SAMPLE) + others
    assert len(others) > 5
    for definition in sample:
        schema = repaired_schema(definition.parameters).schema
        validators = Validators(schema)
        values, misses, choices = ValueMaker(schema), NearMissMaker(schema), RandomChoices.seeded(1)
        for _ in range(10):
            assert validators.verdicts(values.value(choices)) == (True, True), definition
        for _ in range(5):
            assert validators.verdicts(attempt(misses.near_miss, choices).value) == (False, False), definition


def test_the_one_schema_that_takes_nothing_is_said_with_its_place(definitions: list[Definition]) -> None:
    refused = []
    for definition in definitions:
        try:
            ValueMaker(repaired_schema(definition.parameters).schema)
        except InputError as error:
            refused.append((definition.name, str(error)))
    assert refused == [(NOTHING_FITS, "#/properties/metrics: no value fits the schema")]


def test_type_names_of_other_languages_are_said(definitions: list[Definition]) -> None:
    faults = [fault for one in definitions for fault in repaired_schema(one.parameters).faults]
    names = {fault.why.split("'")[1] for fault in faults if fault.code == "type_unknown"}
    assert names == {"dict", "float", "tuple", "any"}
    assert {fault.code for fault in faults} == {"type_unknown"}
