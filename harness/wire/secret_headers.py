"""Headers that hold credentials or name an account: they are never kept, on either side of an exchange."""

from __future__ import annotations

import re

ACCOUNT_HEADERS = frozenset({"anthropic-organization-id", "openai-organization", "openai-project"})

SECRET_HEADERS = ACCOUNT_HEADERS | frozenset({
    "api-key",
    "authorization",
    "cookie",
    "ocp-apim-subscription-key",
    "proxy-authorization",
    "set-cookie",
    "x-amz-security-token",
    "x-api-key",
    "x-functions-key",
    "x-goog-api-key",
})  # fmt: skip

# Providers and gateways name their own: x-auth-token, xi-api-key, x-portkey-api-key, x-csrf-token, …
# Not "tokens": that is how rate limits are counted.
_SECRET_NAME = re.compile(
    r"(?:^|[-_])(?:api[-_]?key|(?:access|auth|session|security|api|csrf|xsrf|vault|refresh|id|subscription)[-_]?token"
    r"|secret|secret[-_]key|password|authorization|cookie2?)$",
    re.IGNORECASE,
)


def is_secret_header(name: str) -> bool:
    """Whether a header of that name holds a credential or names an account; case does not matter."""
    return name.lower() in SECRET_HEADERS or _SECRET_NAME.search(name) is not None
