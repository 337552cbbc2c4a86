"""The real ``openai`` client, speaking through a transport of this package."""

from __future__ import annotations

import httpx2
import openai

NOWHERE = "http://harness.invalid/v1"  # RFC 2606: a name that never resolves
_KEY = "harness"


def openai_client(transport: httpx2.BaseTransport, *, base_url: str = NOWHERE, api_key: str = _KEY) -> openai.OpenAI:
    """A client whose every request goes through ``transport``; close it, or use it as a context manager.

    It never retries, since a second request would take another recorded answer than the session had, and takes
    neither proxies nor passwords from the environment.
    """
    http = httpx2.Client(transport=transport, trust_env=False, follow_redirects=True)
    return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=http)


def async_openai_client(
    transport: httpx2.AsyncBaseTransport, *, base_url: str = NOWHERE, api_key: str = _KEY
) -> openai.AsyncOpenAI:
    """`openai_client` for asyncio."""
    http = httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=True)
    return openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=http)
