"""A new text cut into as many fragments as the old one, near the old places."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from harness.cassette.rewriting.edits import Edit
from harness.wire.json_spans import character_offsets

Path = tuple[str | int, ...]
"""The steps to a value in a JSON document."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A string value: in which document, where in it, and its text."""

    document: int
    path: Path
    text: str


def recut(edits: Iterable[Edit], fragments: Sequence[Fragment]) -> list[list[Edit]]:
    """Edits of a joined text as edits of its fragments.

    A new text is never cut inside of an escape. A fragment that had text keeps some, as far as there is enough.
    """
    starts = [0, *accumulate(len(fragment.text) for fragment in fragments)]
    result: list[list[Edit]] = [[] for _ in fragments]
    for start, end, new in edits:
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        touched = [number for number in range(first, last + 1) if starts[number] < starts[number + 1]]
        inner = [starts[number] for number in touched[1:]]
        places = character_offsets(new)
        cuts = spread(
            [cut - start for cut in inner],
            end - start,
            len(places) - 1,
            low=0 if starts[first] < start else 1,
            high=len(places) - 1 if end < starts[last + 1] else len(places) - 2,
        )
        bounds = [0, *(places[cut] for cut in cuts), len(new)]
        for number, (left, right) in zip(touched, pairwise(bounds), strict=True):
            own_start, own_end = max(start, starts[number]), min(end, starts[number + 1])
            result[number].append(Edit(own_start - starts[number], own_end - starts[number], new[left:right]))
    return result


def spread(cuts: Sequence[int], length: int, places: int, *, low: int, high: int) -> list[int]:
    """Cuts of an old text of some length as rising places between 0 and ``places`` of a new one, near their share.

    They are all different and within ``low`` and ``high`` where there are enough places.
    """
    count = len(cuts)
    wanted = [round(cut * places / length) for cut in cuts]
    if count > high - low + 1:
        return [min(max(place, 0), places) for place in wanted]
    chosen: list[int] = []
    for number, place in enumerate(wanted):
        least = chosen[-1] + 1 if chosen else low
        chosen.append(max(least, min(place, high - (count - 1 - number))))
    return chosen
