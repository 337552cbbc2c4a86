"""The one place that every request of a run passes, whichever agent sends it and whoever answers."""

from __future__ import annotations

from typing import Protocol

import httpx2

from harness.errors import HarnessError
from harness.play.player import Player
from harness.wire.exchange import Request, Response


class Guard(Protocol):
    """Is told of every request of a run before it is answered, and of every answer."""

    def before_request(self, request: Request) -> None:
        """A request is about to be answered; what is raised is raised to the agent in place of the answer."""
        ...

    def after_answer(self, request: Request, response: Response) -> None:
        """It was answered."""
        ...


class GuardedPlayer:
    """Answers as ``player`` does, and tells the guards."""

    def __init__(self, player: Player, guards: tuple[Guard, ...]) -> None:
        self._player = player
        self._guards = guards

    def answer(self, request: Request) -> Response:
        """The player's answer; raises what a guard raises."""
        for guard in self._guards:
            guard.before_request(request)
        response = self._player.answer(request)
        for guard in self._guards:
            guard.after_answer(request, response)
        return response


class GuardedTransport(httpx2.BaseTransport):
    """Tells the guards of a request before ``inner`` has it; of its answer whoever reads it must tell them."""

    def __init__(self, inner: httpx2.BaseTransport, guards: tuple[Guard, ...]) -> None:
        self._inner = inner
        self._guards = guards

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass it on; raises what a guard raises."""
        asked = Request(request.method, str(request.url), (), request.read())
        for guard in self._guards:
            guard.before_request(asked)
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class GuardedNetwork(httpx2.AsyncBaseTransport):
    """`GuardedTransport` for asyncio, in front of a program that knows HTTP alone: what a guard raises is no answer."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, guards: tuple[Guard, ...]) -> None:
        self._inner = inner
        self._guards = guards

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Pass it on; raises ConnectError with what a guard said."""
        asked = Request(request.method, str(request.url), (), await request.aread())
        try:
            for guard in self._guards:
                guard.before_request(asked)
        except HarnessError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()
