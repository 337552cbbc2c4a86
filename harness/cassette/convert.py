"""Cassettes from any dialect into the harness's own format or into stock vcrpy YAML, checked before they are kept."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cassette import own
from harness.cassette.cassette import Cassette
from harness.cassette.dialects import READERS, cassette_of, load_cassette, vcrpy
from harness.errors import InputError
from harness.files import write_atomically
from harness.wire.exchange import Exchange

KINDS = (own.NAME, *READERS)

_VCRPY_SUFFIXES = (".yaml", ".yml")
_PACKED = f"{own.SUFFIX}.gz"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was written. ``notes`` say what the source or the target does not hold."""

    source: Cassette
    target: Path
    dialect: str
    notes: tuple[str, ...]


def convert_cassette(source: Path, target: Path, kind: str | None = None, *, force: bool = False) -> Conversion:
    """Write the cassette ``source`` to ``target`` in the dialect of its name; nothing is scrubbed.

    ``kind`` says what the source must be; by default its content says it. What was written is read again, and kept
    only if requests and responses are the same, byte for byte. Raises InputError for a source that cannot be read or
    is something else, a target of no known suffix, or one that exists (unless ``force``).
    """
    dialect = _dialect_of(target)
    _demand_kind(kind)
    if target.exists() and not force:
        raise InputError("this file exists", where=str(target), hint="--force replaces it")
    cassette = load_cassette(source)
    if kind is not None and cassette.dialect != kind:
        raise InputError(f"this is a cassette of {cassette.dialect}, not of {kind}", where=str(source))
    data = _written(cassette, dialect)
    # Read back under the target's name, so that an error would name it.
    again = cassette_of(target, data)
    if (again.workspace, again.home) != (cassette.workspace, cassette.home):
        raise InputError(f"its workspace or home cannot be stored as {dialect}", where=str(source))
    notes = (*cassette.notes, *_order_notes(cassette.exchanges, again.exchanges, source))
    write_atomically(target, gzip.compress(data, mtime=0) if target.name.endswith(_PACKED) else data)
    return Conversion(cassette, target, dialect, notes)


def _dialect_of(target: Path) -> str:
    if target.name.endswith((own.SUFFIX, _PACKED)):
        return own.NAME
    if target.suffix in _VCRPY_SUFFIXES:
        return vcrpy.NAME
    raise InputError(
        "the name does not say what to write",
        where=str(target),
        hint=f"{own.SUFFIX} (also {_PACKED}) for the harness's own format, .yaml or .yml for vcrpy",
    )


def _demand_kind(kind: str | None) -> None:
    if kind is not None and kind not in KINDS:
        raise InputError(f"{kind!r} is no kind of cassette", where="--from", hint=f"one of {', '.join(KINDS)}")


def _written(cassette: Cassette, dialect: str) -> bytes:
    if dialect == own.NAME:
        return own.dump_cassette(cassette)
    return vcrpy.dump_vcrpy(cassette.exchanges, cassette.workspace, cassette.home)


def _order_notes(before: Sequence[Exchange], after: Sequence[Exchange], source: Path) -> list[str]:
    """A note for exchanges whose headers stand in another order; raises InputError for any other difference."""
    moved: list[str] = []
    for position, (old, new) in enumerate(zip(before, after, strict=True), 1):
        if old == new:
            continue
        if _sorted(old) != _sorted(new):
            raise InputError("cannot be stored without loss", where=f"{source}, exchange {position}")
        moved.append(str(position))
    if not moved:
        return []
    return [f"vcrpy keeps repeats of a header together: their order changed in exchange {', '.join(moved)}"]


def _sorted(exchange: Exchange) -> Exchange:
    request = replace(exchange.request, headers=tuple(sorted(exchange.request.headers)))
    response = replace(exchange.response, headers=tuple(sorted(exchange.response.headers)))
    return replace(exchange, request=request, response=response)
