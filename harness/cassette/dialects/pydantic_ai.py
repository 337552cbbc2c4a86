"""Cassettes of pydantic-ai's tests: vcrpy's layout with JSON bodies as data under ``parsed_body``.

https://github.com/pydantic/pydantic-ai (``tests/json_body_serializer.py``): what was no ``application/json`` stays
text or bytes under ``body``. The spacing of a JSON body and, because the recorder sorts them, the order of its keys
are not in the file; the bytes here are compact JSON in the file's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.cassette.dialects import fields, vcrpy
from harness.wire.exchange import Request, Response

NAME = "pydantic-ai"
KEY = "parsed_body"


def read_interaction(entry: object) -> tuple[Request, Response]:
    """One interaction; raises FieldError with what is wrong with it."""
    return vcrpy.read_interaction({name: _with_body(fields.section(entry, name)) for name in ("request", "response")})


def _with_body(section: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**section, "body": fields.json_bytes(section[KEY])} if KEY in section else section
