"""Which of two lists' items stand for each other: as many pairs as there can be, never the first that comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

MOST_CELLS = 250_000
"""Of the table that `aligned` makes; longer lists are aligned by their order alone, so that work stays bounded."""

Weight = Callable[[int, int], int]
"""How well two items fit, by their positions: 0 not at all."""


def maximum_matching(accepted: Sequence[Sequence[int]]) -> dict[int, int]:
    """Pairs of a left and a right position, each used once, as many as possible.

    ``accepted`` has the right positions that will do for each left one. An augmenting path is looked for from each
    (H. W. Kuhn's method, breadth first); where several matchings are largest, early positions are preferred.
    """
    pairs: dict[int, int] = {}
    owner: dict[int, int] = {}
    for root in range(len(accepted)):
        came_from: dict[int, int] = {}
        waiting = deque([root])
        while waiting:
            left = waiting.popleft()
            free = _step(left, accepted[left], owner, came_from, waiting)
            if free is not None:
                _augment(free, came_from, pairs, owner)
                break
    return pairs


def _step(
    left: int, rights: Sequence[int], owner: Mapping[int, int], came_from: dict[int, int], waiting: deque[int]
) -> int | None:
    """Go from a left position to all right ones that are new; the first that nobody has ends the path."""
    for right in rights:
        if right in came_from:
            continue
        came_from[right] = left
        if right not in owner:
            return right
        waiting.append(owner[right])
    return None


def _augment(free: int, came_from: Mapping[int, int], pairs: dict[int, int], owner: dict[int, int]) -> None:
    right: int | None = free
    while right is not None:
        left = came_from[right]
        before = pairs.get(left)
        pairs[left], owner[right] = right, left
        right = before


def aligned(left: int, right: int, weight: Weight) -> list[tuple[int | None, int | None]]:
    """Two sequences side by side, in order: pairs that fit, and single positions where nothing does.

    ``left`` and ``right`` are their lengths. The sum of the weights is the largest there is; where several are,
    pairs come early. Above `MOST_CELLS` the sequences are paired place by place.
    """
    rows: list[tuple[int | None, int | None]]
    if left * right > MOST_CELLS:
        rows = [(n if n < left else None, n if n < right else None) for n in range(max(left, right))]
        return rows
    best = [[0] * (right + 1) for _ in range(left + 1)]
    for one in range(left - 1, -1, -1):
        for other in range(right - 1, -1, -1):
            fit = weight(one, other)
            paired = fit + best[one + 1][other + 1] if fit else 0
            best[one][other] = max(paired, best[one + 1][other], best[one][other + 1])
    rows, one, other = [], 0, 0
    while one < left and other < right:
        fit = weight(one, other)
        if fit and best[one][other] == fit + best[one + 1][other + 1]:
            rows.append((one, other))
            one, other = one + 1, other + 1
        elif best[one][other] == best[one + 1][other]:
            rows.append((one, None))
            one += 1
        else:
            rows.append((None, other))
            other += 1
    return rows + [(n, None) for n in range(one, left)] + [(None, n) for n in range(other, right)]
