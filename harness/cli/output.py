"""What commands print for scripts: one JSON document."""

from __future__ import annotations

import json
import sys


def print_json(document: dict[str, object]) -> None:
    """One JSON document on stdout."""
    import orjson  # noqa: PLC0415

    from harness.wire.half_pairs import dumps  # noqa: PLC0415

    try:
        text = dumps(document, option=orjson.OPT_INDENT_2)
    except TypeError:  # arguments may hold integers of more than the 64 bits that orjson writes
        text = json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8", "backslashreplace")
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.flush()
