"""In the place of a player where answers come from outside."""

from __future__ import annotations

from typing import NoReturn

from harness.errors import HarnessError
from harness.wire.exchange import Request


class _Nobody:
    def answer(self, request: Request) -> NoReturn:
        raise HarnessError(f"{request.method} {request.path} is answered elsewhere")


NOBODY = _Nobody()
"""Is never asked."""
