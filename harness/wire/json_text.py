"""Whether a text is JSON, by the one strict parser."""

from __future__ import annotations

import orjson


def is_json(text: str) -> bool:
    """Whether the text is a JSON document."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def is_json_object(text: str) -> bool:
    """Whether the text is a JSON object."""
    return text.lstrip().startswith("{") and is_json(text)
