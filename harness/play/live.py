"""A player that asks a live model: only where an endpoint was named, after a divergence from a cassette."""

from __future__ import annotations

from typing import Self

import httpx2

from harness.errors import HarnessError
from harness.play.transport import RecordingTransport
from harness.seams import SystemClock
from harness.wire.exchange import CHAT_PATH, Exchange, Request, Response

_TIMEOUT_S = 120.0
_OWN_HEADERS = frozenset({"host", "authorization", "content-length", "connection", "accept-encoding"})


class LivePlayer:
    """Passes requests on to ``endpoint`` (a base URL that ends in ``/v1``) and gives back what it answers.

    Close it, or use it as a context manager. `answer` raises HarnessError when nothing answers.
    """

    def __init__(self, endpoint: str, api_key: str) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._exchanges: list[Exchange] = []
        transport = RecordingTransport(httpx2.HTTPTransport(), self._exchanges.append, SystemClock())
        headers = {"authorization": f"Bearer {api_key}"}
        self._client = httpx2.Client(transport=transport, headers=headers, timeout=_TIMEOUT_S, trust_env=False)

    def answer(self, request: Request) -> Response:
        """Ask the endpoint, with the request's body as it is."""
        suffix = CHAT_PATH if request.is_chat else "/" + request.path.rpartition("/v1/")[2].lstrip("/")
        headers = [(name, value) for name, value in request.headers if name.lower() not in _OWN_HEADERS]
        try:
            with self._client.stream(
                request.method, self._endpoint + suffix, headers=headers, content=request.body
            ) as response:
                for _ in response.iter_raw():
                    pass
        except httpx2.HTTPError as error:
            raise HarnessError(f"{self._endpoint} did not answer: {type(error).__name__}: {error}") from error
        return self._exchanges.pop().response

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
