r"""What the fragments of a call mean, once the stream has ended.

**Plain concatenation wins whenever it is valid JSON.** Fragments are increments: two that are alike, or one that begins
as the text so far ends, are no reason to drop anything (A28). Only where the joined text of a complete stream is no
JSON may it be read as *cumulative* (each fragment begins with all of the one before, A27) or as *sent again in full*
(a whole object, the placeholder ``{}`` or the same object, comes before the one that counts, A26 and A29); and only
if exactly one of these readings is a JSON object. Anything else stays as it was sent. Each such reading is an anomaly.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import orjson

from harness.wire.half_pairs import rejoined
from harness.wire.json_text import first_object_end, is_json, is_json_object


@dataclass(frozen=True, slots=True)
class Reading:
    """The text taken, and the anomaly's code where it is not the plain concatenation of one whole."""

    text: str
    code: str | None = None
    detail: str = ""


def read_arguments(fragments: Sequence[str]) -> Reading:
    """The arguments of a call of a complete stream, by the rule above; linear in their length."""
    plain = rejoined(fragments)
    if not plain or is_json(plain):
        return Reading(plain)
    readings: dict[str, str] = {}
    if _is_cumulative(fragments):
        readings[fragments[-1]] = "arguments_cumulative"
    if (resent := _sent_again(fragments)) is not None:
        readings.setdefault(resent, "arguments_resent")
    objects = [text for text in readings if is_json_object(text)]
    return Reading(objects[0], readings[objects[0]]) if len(objects) == 1 else Reading(plain)


def read_name(pieces: Sequence[str], tool_names: Collection[str]) -> Reading:
    """The name of a call that was sent in several pieces: split or repeated (A08).

    The names the request offered decide. Where they don't, equal pieces are one name repeated and others are joined;
    if there are names, and both or neither of the readings are among them, the anomaly says both.
    """
    if len(pieces) == 1:
        return Reading(pieces[0])
    joined, repeated = rejoined(pieces), pieces[-1]
    same = all(piece == repeated for piece in pieces)
    decided = (joined in tool_names) != (repeated in tool_names)
    text = repeated if (repeated in tool_names if decided else same) else joined
    if tool_names and not decided:
        return Reading(text, "name_ambiguous", f"{joined} or {repeated}, read as {text}")
    return Reading(text, "name_repeated" if text == repeated else "name_split", f"read as {text}")


def _is_cumulative(fragments: Sequence[str]) -> bool:
    return len(fragments) > 1 and all(later.startswith(earlier) for earlier, later in pairwise(fragments))


def _sent_again(fragments: Sequence[str]) -> str | None:
    """What follows a first, whole object that ends with a fragment, if it is the same object or that was ``{}``."""
    plain = "".join(fragments)
    end = first_object_end(plain)
    if end is None:
        return None
    cut = next((edge for edge in accumulate(map(len, fragments)) if edge >= end), len(plain))
    head, tail = rejoined(plain[:cut]), rejoined(plain[cut:])
    if plain[end:cut].strip() or not (is_json_object(head) and is_json_object(tail)):
        return None
    return tail if orjson.loads(head) in ({}, orjson.loads(tail)) else None
