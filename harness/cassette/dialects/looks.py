"""Whether a file is a cassette, told without reading all of it as one: for folders that hold other files too."""

from __future__ import annotations

import re
from pathlib import Path

from harness.cassette import own

_KEY = re.compile(rb'^(?:http_)?interactions:|"(?:http_)?interactions"\s*:', re.MULTILINE)


def looks_like_cassette(path: Path) -> bool:
    """By its name where that says so, else by the key under which every dialect keeps its interactions."""
    if path.name.endswith((".gz", own.SUFFIX)):
        return True
    try:
        return _KEY.search(path.read_bytes()) is not None
    except OSError:
        return False
