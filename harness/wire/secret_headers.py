"""Headers that hold credentials or name an account: they are never kept, on either side of an exchange."""

from __future__ import annotations

SECRET_HEADERS = frozenset({
    "api-key",
    "authorization",
    "cookie",
    "openai-organization",
    "openai-project",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
    "x-goog-api-key",
})  # fmt: skip
