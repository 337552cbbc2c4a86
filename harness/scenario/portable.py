"""A saved run without what differs from machine to machine: the same run twice gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from harness.scenario.workspace import ALIAS

_MILLISECONDS = re.compile(rb'(_ms\\*"\s*:\s*)-?\d+')


def portable(root: str, aliases: Mapping[str, str] | None = None) -> Callable[[bytes], bytes]:
    """A rewrite of a run's files: the workspace's folder becomes its alias, numbers under ``…_ms`` keys become 0.

    ``aliases`` gives the names of other things of this machine, such as an agent's home.

    Modification times of files the agent wrote are such numbers; nothing else in a run depends on the wall clock.
    """
    names = {name.encode(): alias.encode() for name, alias in ({root: ALIAS} | dict(aliases or {})).items()}
    known = re.compile(b"|".join(re.escape(name) for name in names))

    def rewrite(content: bytes) -> bytes:
        return _MILLISECONDS.sub(rb"\g<1>0", known.sub(lambda found: names[found[0]], content))

    return rewrite
