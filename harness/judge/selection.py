"""Which of the collected cases are judged: by tag, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from harness.errors import InputError
from harness.judge.collecting import Item
from harness.judge.variants import expanded, scenario_of


@dataclass(frozen=True, slots=True)
class Listed:
    """An item with what its file says of it; ``problem`` is why that could not be read."""

    item: Item
    name: str
    tags: tuple[str, ...] = ()
    description: str = ""
    problem: str = ""

    def document(self) -> Mapping[str, object]:
        """The entry of ``--list --json``."""
        return {
            "name": self.name,
            "kind": self.item.kind,
            "path": str(self.item.path),
            "tags": list(self.tags),
            "description": self.description,
            **({"problem": self.problem} if self.problem else {}),
        }


@dataclass(frozen=True, slots=True)
class Selection:
    """Cases with any of ``tags`` (with none named: all), with none of ``without``, and with any of ``names``.

    A name is any part of a case's name or path, in upper or lower case, or a pattern with ``*`` and ``?`` for the whole
    of either. A cassette has no tags.
    """

    tags: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.without or self.names)

    def takes(self, listed: Listed) -> bool:
        """Whether a case is judged; one whose file cannot be read is, so that nothing broken goes unseen."""
        if listed.problem:
            return True
        tags = set(listed.tags)
        if self.tags and not tags & set(self.tags):
            return False
        return not tags & set(self.without) and (not self.names or any(_fits(name, listed) for name in self.names))


def listed(items: Iterable[Item]) -> list[Listed]:
    """The cases of the items, a scenario with a matrix as one for each variant."""
    return [_listed(item) for item in expanded(items)]


def selected(items: Sequence[Item], selection: Selection) -> list[Item]:
    """The items that are judged; without a selection all, and no file is read for it."""
    if not selection:
        return list(items)
    return [entry.item for entry in listed(items) if selection.takes(entry)]


def _listed(item: Item) -> Listed:
    if item.kind == "replay":
        return Listed(item, item.path.name.split(".")[0])
    try:
        scenario = scenario_of(item)
    except InputError as error:
        return Listed(item, item.path.stem, problem=str(error))
    return Listed(item, scenario.name, tuple(scenario.tags), scenario.description)


def _fits(pattern: str, case: Listed) -> bool:
    wanted = pattern.casefold()
    texts = [case.name.casefold(), case.item.path.as_posix().casefold()]
    if "*" in wanted or "?" in wanted:
        return any(fnmatchcase(text, wanted) for text in texts)
    return any(wanted in text for text in texts)
