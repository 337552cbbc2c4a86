"""Layouts in which recorders write cassettes, one file each, and the reader that tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import go_vcr, vcrpy
from harness.cassette.dialects.document import Document, read_document
from harness.cassette.dialects.fields import FieldError, kind_of
from harness.errors import InputError
from harness.wire.exchange import Exchange, Request, Response

Reader = Callable[[object], tuple[Request, Response]]

READERS: Mapping[str, Reader] = {vcrpy.NAME: vcrpy.read_interaction, go_vcr.NAME: go_vcr.read_interaction}


def load_cassette(path: Path) -> Cassette:
    """Read a cassette of any known dialect, packed with gzip or not; the dialect is told from the content.

    Work is linear in the size of the file; responses are parsed only when asked for. Raises InputError, naming the
    file and the interaction or line, when it cannot be read as it stands; nothing is ever left out of a cassette.
    """
    document = read_document(path)
    interactions = _interactions_of(document)
    dialect = _dialect_of(document, interactions)
    reader = READERS[dialect]
    exchanges: list[Exchange] = []
    for index, entry in enumerate(interactions):
        try:
            request, response = reader(entry)
        except FieldError as error:
            raise InputError(str(error), where=document.place(index)) from error
        exchanges.append(Exchange(request, response, index))
    return Cassette(path, dialect, tuple(exchanges))


def _interactions_of(document: Document) -> list[object]:
    value = document.value
    where = str(document.path)
    hint = f"the dialects read are {' and '.join(READERS)}"
    if isinstance(value, Mapping):
        if "http_interactions" in value:
            raise InputError("a Ruby VCR cassette (http_interactions): this dialect is not read yet", where=where)
        interactions = value.get("interactions")
        if isinstance(interactions, list):
            return interactions
        if "interactions" in value:
            raise InputError(f"interactions is not a list but {kind_of(interactions)}", where=where, hint=hint)
    if isinstance(value, list) and value and isinstance(value[0], Mapping) and "request" in value[0]:
        raise InputError(
            "a cassette of vcrpy before 1.0: this layout is not read", where=where, hint="run vcrpy's migration on it"
        )
    raise InputError(f"not a cassette: it holds {kind_of(value)}", where=where, hint=hint)


def _dialect_of(document: Document, interactions: list[object]) -> str:
    where = str(document.path)
    version = str(document.value.get("version", "1"))
    requests = [entry.get("request") for entry in interactions if isinstance(entry, Mapping)]
    responses = [entry.get("response") for entry in interactions if isinstance(entry, Mapping)]
    if any(isinstance(part, Mapping) and "parsed_body" in part for part in (*requests, *responses)):
        raise InputError("a pydantic-ai cassette (parsed_body): this dialect is not read yet", where=where)
    if any(isinstance(request, Mapping) and "uri" in request for request in requests):
        dialect = vcrpy.NAME
    elif any(isinstance(request, Mapping) and "url" in request for request in requests):
        dialect = go_vcr.NAME
    else:
        dialect = vcrpy.NAME if version == "1" else go_vcr.NAME
    if dialect == vcrpy.NAME and version != "1":
        raise InputError(f"a vcrpy cassette of version {version}: only version 1 is read", where=where)
    return dialect
