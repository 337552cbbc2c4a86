"""What changes in a text: folders anywhere, in arguments and other JSON inside of the strings."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import orjson

from harness.cassette.paths import PathMap
from harness.cassette.rewriting.cutting import Fragment
from harness.cassette.rewriting.edits import Edit, literal_edits
from harness.wire.json_spans import character_offsets
from harness.wire.json_text import is_json, is_json_object

TOKEN = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"|[{}\[\],:]', re.DOTALL)
"""A string of a JSON document, its inner text in group 1, or one of its signs."""


def arguments_edits(text: str, paths: PathMap) -> list[Edit]:
    """What changes in an arguments text: inside its strings when it is JSON, else as in any text."""
    if is_json(text):
        return strings_edits(text, paths)
    return [_escaped_if_needed(text, Edit(*change)) for change in paths.changes(text)]


def text_edits(text: str, paths: PathMap) -> list[Edit]:
    """What changes in a text; one that is a JSON object or list (structured output, a file to write) stays one."""
    edits = [Edit(*change) for change in paths.changes(text)]
    if edits and text.lstrip().startswith(("{", "[")) and is_json(text):
        return strings_edits(text, paths)
    return edits


def strings_edits(text: str, paths: PathMap) -> list[Edit]:
    """What changes in the strings of a JSON document, keys included."""
    edits: list[Edit] = []
    for token in TOKEN.finditer(text):
        raw = token.group(1)
        if raw:
            value = raw if "\\" not in raw else orjson.loads(token.group())
            edits += literal_edits(raw, token.start(1), text_edits(value, paths))
    return edits


def _escaped_if_needed(text: str, edit: Edit) -> Edit:
    """Arguments that broke off are still JSON up to there: a backslash or quote must not end a string early."""
    if text.lstrip().startswith(("{", "[")) and "\\" not in text[edit.start : edit.end]:
        return edit._replace(new=json.dumps(edit.new, ensure_ascii=False)[1:-1])
    return edit


def cumulative_edits(fragments: list[Fragment], paths: PathMap) -> list[list[Edit]] | None:
    """Where each fragment repeats all that came before it, each is a beginning of the last, and stays one."""
    texts = [fragment.text for fragment in fragments]
    if len(texts) < 2 or not all(later.startswith(earlier) for earlier, later in pairwise(texts)):
        return None
    if not is_json_object(texts[-1]) or is_json("".join(texts)):
        return None
    whole = arguments_edits(texts[-1], paths)
    result: list[list[Edit]] = []
    for text in texts:
        own = [edit for edit in whole if edit.end <= len(text)]
        for start, end, new in whole:
            if start < len(text) < end:
                places = character_offsets(new)
                share = round((len(text) - start) * (len(places) - 1) / (end - start))
                own.append(Edit(start, len(text), new[: places[share]]))
        result.append(own)
    return result
