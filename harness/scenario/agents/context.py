"""What an agent that is not the built-in pipeline is given: the task, its folders, and where its model answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import openai

API_KEY = "dummy"
"""The key that agents send: the harness's server asks for none, and SDKs want one."""


@dataclass(slots=True)
class AgentContext:
    """One run of an agent.

    ``prompt`` is the user's; ``model`` and ``system`` are the scenario's, for an agent that takes them. ``workspace``
    is the folder to work in and ``home`` an empty one for its own files, both fresh and both gone afterwards.
    ``base_url`` is where its model answers, up to and with ``/v1``. ``timeout_s`` is how long it may take, in seconds.
    """

    prompt: str
    workspace: Path
    home: Path
    base_url: str
    model: str
    system: str | None = None
    api_key: str = API_KEY
    timeout_s: float = 120.0
    _clients: list[openai.OpenAI] = field(default_factory=list, repr=False)
    _async_clients: list[openai.AsyncOpenAI] = field(default_factory=list, repr=False)

    def openai_client(self) -> openai.OpenAI:
        """A client of the ``openai`` SDK for this run. It does not retry, and is closed when the run is over."""
        import httpx2  # noqa: PLC0415  an agent may not need it

        from harness.play.client import openai_client  # noqa: PLC0415

        transport = httpx2.HTTPTransport(trust_env=False)
        client = openai_client(transport, base_url=self.base_url, api_key=self.api_key)
        self._clients.append(client)
        return client

    def async_openai_client(self) -> openai.AsyncOpenAI:
        """`openai_client` for asyncio."""
        import httpx2  # noqa: PLC0415

        from harness.play.client import async_openai_client  # noqa: PLC0415

        transport = httpx2.AsyncHTTPTransport(trust_env=False)
        client = async_openai_client(transport, base_url=self.base_url, api_key=self.api_key)
        self._async_clients.append(client)
        return client

    def close(self) -> None:
        """Close the clients; those of an event loop are closed in it, by `aclose`."""
        while self._clients:
            self._clients.pop().close()

    async def aclose(self) -> None:
        """Close all clients, within the event loop that used them."""
        closing: list[Awaitable[None]] = [client.close() for client in self._async_clients]
        self._async_clients.clear()
        await asyncio.gather(*closing)
        self.close()
