"""What there is to judge: scenarios and cassettes found under the paths given."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.cassette import own
from harness.cassette.dialects.looks import looks_like_cassette
from harness.errors import InputError

Kind = Literal["scenario", "replay"]

_PLAIN_SUFFIXES = (".yaml", ".yml", ".json", own.SUFFIX)
_SUFFIXES = (*_PLAIN_SUFFIXES, *(f"{suffix}.gz" for suffix in _PLAIN_SUFFIXES))
_SCENARIO = re.compile(rb"^(?:player|prompt|expect):", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Item:
    """A file to judge; ``named`` when the user named it, not a folder around it.

    ``variant`` counts from 0 the cases of a scenario with a matrix; None is the file as a whole.
    """

    path: Path
    kind: Kind
    named: bool
    variant: int | None = None

    @property
    def slug(self) -> str:
        """A folder name for its run."""
        parts = [part for part in self.path.parts if part not in (self.path.anchor, "..", ".")]
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", "--".join(parts))[-200:]
        return name if self.variant is None else f"{name}--{self.variant + 1}"


def collect(paths: Sequence[Path], kinds: Iterable[Kind] = ("scenario", "replay")) -> list[Item]:
    """The files to judge, each once, folders searched in sorted order.

    In a folder, files that are neither are passed over. Raises InputError for a missing path, or a named file that is
    neither a cassette nor a scenario.
    """
    wanted = tuple(kinds)
    items: dict[Path, Item] = {}
    for path in paths:
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.name.endswith(_SUFFIXES) and file.is_file())
            for file in found:
                if file.resolve() not in items and (kind := _kind(file)) in wanted:
                    items[file.resolve()] = Item(file, kind, named=False)
        elif path.exists():
            kind = _kind(path)
            if kind not in wanted:
                kind = wanted[0]
            # The place is that of the first mention; that it is named too is what counts for its errors.
            known = items.get(path.resolve())
            items[path.resolve()] = Item(path if known is None else known.path, kind, named=True)
        else:
            raise InputError("no such file or folder", where=str(path))
    return list(items.values())


def _kind(path: Path) -> Kind | None:
    if looks_like_cassette(path):
        return "replay"
    try:
        text = path.read_bytes()
    except OSError:
        return None
    return "scenario" if _SCENARIO.search(text) and not path.name.endswith(".json") else None
