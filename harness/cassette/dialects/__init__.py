"""Layouts in which recorders write cassettes, one file each, and the reader that tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.cassette import own
from harness.cassette.cassette import Cassette
from harness.cassette.dialects import go_vcr, pydantic_ai, ruby_vcr, vcrpy
from harness.cassette.dialects.document import INTERACTION_KEYS, Document, document_of, read_bytes
from harness.cassette.dialects.fields import FieldError, kind_of
from harness.errors import InputError
from harness.wire.exchange import Exchange, Request, Response

_TELLING_KEYS = frozenset({"uri", "url", pydantic_ai.KEY})

Reader = Callable[[object], tuple[Request, Response]]

READERS: Mapping[str, Reader] = {
    vcrpy.NAME: vcrpy.read_interaction,
    go_vcr.NAME: go_vcr.read_interaction,
    ruby_vcr.NAME: ruby_vcr.read_interaction,
    pydantic_ai.NAME: pydantic_ai.read_interaction,
}


def load_cassette(path: Path) -> Cassette:
    """Read a cassette of any known dialect, packed with gzip or not; the dialect is told from the content.

    Work is linear in the size of the file; responses are parsed only when asked for. Raises InputError, naming the
    file and the interaction or line, when it cannot be read as it stands; nothing is ever left out of a cassette, but
    for the torn end of one in the own format, which its ``notes`` then tell.
    """
    return cassette_of(path, read_bytes(path))


def cassette_of(path: Path, data: bytes) -> Cassette:
    """The cassette in the unpacked content of a file, see `load_cassette`; ``path`` is for its name only."""
    if own.is_own(path, data):
        return own.read_cassette(path, data)
    document = document_of(path, data)
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
    workspace, home = vcrpy.folders(document.value) if dialect == vcrpy.NAME else (None, None)
    return Cassette(path, dialect, tuple(exchanges), workspace, home)


def _interactions_of(document: Document) -> list[object]:
    value = document.value
    where = str(document.path)
    hint = f"the dialects read are {', '.join(READERS)}"
    if isinstance(value, Mapping):
        for key in INTERACTION_KEYS:
            interactions = value.get(key)
            if isinstance(interactions, list):
                return interactions
            if key in value:
                raise InputError(f"{key} is not a list but {kind_of(interactions)}", where=where, hint=hint)
    if isinstance(value, list) and value and isinstance(value[0], Mapping) and "request" in value[0]:
        raise InputError(
            "a cassette of vcrpy before 1.0: this layout is not read", where=where, hint="run vcrpy's migration on it"
        )
    raise InputError(f"not a cassette: it holds {kind_of(value)}", where=where, hint=hint)


def _dialect_of(document: Document, interactions: list[object]) -> str:
    if ruby_vcr.KEY in document.value and "interactions" not in document.value:
        return ruby_vcr.NAME
    version = str(document.value.get("version", "1"))
    entries = [entry for entry in interactions if isinstance(entry, Mapping)]
    sides = [entry.get(side) for entry in entries for side in ("request", "response")]
    keys = {key for side in sides if isinstance(side, Mapping) for key in side.keys() & _TELLING_KEYS}
    if pydantic_ai.KEY in keys:
        dialect = pydantic_ai.NAME
    elif "uri" in keys:
        dialect = vcrpy.NAME
    elif "url" in keys:
        dialect = go_vcr.NAME
    else:
        dialect = vcrpy.NAME if version == "1" else go_vcr.NAME
    if dialect != go_vcr.NAME and version != "1":
        raise InputError(f"a {dialect} cassette of version {version}: only version 1 is read", where=str(document.path))
    return dialect
