"""Clients for tests."""

from __future__ import annotations

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient


def async_client(base_url: str, api_key: str) -> AsyncOpenAI:
    """A client that keeps no connection open: a test's event loop is closed before anybody could close them."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    return AsyncOpenAI(base_url=base_url, api_key=api_key, http_client=DefaultAsyncHttpxClient(limits=limits))
