"""A saved run without what differs from machine to machine: the same run twice gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.scenario.workspace import ALIAS

_MILLISECONDS = re.compile(rb'(_ms\\*"\s*:\s*)-?\d+')


def portable(root: str) -> Callable[[bytes], bytes]:
    """A rewrite of a run's files: the workspace's folder becomes its alias, numbers under ``…_ms`` keys become 0.

    Modification times of files the agent wrote are such numbers; nothing else in a run depends on the wall clock.
    """
    folder = re.compile(re.escape(root.encode()))

    def rewrite(content: bytes) -> bytes:
        return _MILLISECONDS.sub(rb"\g<1>0", folder.sub(ALIAS.encode(), content))

    return rewrite
