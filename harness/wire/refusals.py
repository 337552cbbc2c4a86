"""Why a provider refused a request, where its message is evidence of what happened on the way (E02)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.wire.faults.gateway import became_array, empty_objects

EMPTY_ARRAY_REFUSED = '[] is not of type "object"'
"""What a provider says of an empty object that became an array on the way (seed 002)."""

_QUOTES = str.maketrans("'`", '""')


def explain_refusal(request: Mapping[str, Any], message: str) -> str:
    """What the message says about the request as it was sent, empty where that is nothing more than its words.

    A provider that read ``[]`` where ``{}`` was sent got another body: something in between has encoded it again.
    """
    if EMPTY_ARRAY_REFUSED not in message.translate(_QUOTES):
        return ""
    places = list(empty_objects({key: request[key] for key in _FIELDS if key in request}))
    if not places:
        return "the request as sent has [] where an object belongs"
    return f"the request as sent has {{}}, the provider read []: a gateway re-encoded the body, {became_array(places)}"


_FIELDS = ("messages", "tools", "tool_choice", "response_format")
