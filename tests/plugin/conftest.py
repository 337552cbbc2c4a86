"""A pytest project of a test's own, and a scripted API to record from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points

import pytest
from openai import OpenAI

import harness.plugin.clients
import harness.plugin.live
import harness.plugin.outcome
import harness.plugin.recording
import harness.plugin.replaying
import harness.plugin.summary  # noqa: F401  pytester forgets what a run imports: each would import it again
from harness.play.script import ScriptedTurn, render_turn
from harness.play.server import LoopbackServer
from harness.wire.exchange import Request, Response

PLUGIN = "harness.pytest_plugin"
LOAD = [] if any(point.value == PLUGIN for point in entry_points(group="pytest11")) else ["-p", PLUGIN]
"""Loads the plugin where the installed package does not say that it has one."""

Run = Callable[..., pytest.RunResult]


OpenAI(api_key="none").chat.completions  # noqa: B018  imports what a client imports when it is first used


class Echo:
    """An API that says what it was asked, and lists no models."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Response:
        self.asked.append(request)
        body = json.loads(request.body)
        return render_turn(ScriptedTurn(text=f"You said: {body['messages'][-1]['content']}"), 0, body)


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def upstream(echo: Echo) -> Iterator[str]:
    with LoopbackServer(echo) as server:
        yield server.base_url


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Run pytest with the plugin in the test's folder, in this process."""

    def run(*arguments: str, load: Sequence[str] = LOAD) -> pytest.RunResult:
        return pytester.runpytest_inprocess(*load, "-p", "no:cacheprovider", "-W", "error", *arguments)

    return run


@pytest.fixture
def recorded(run: Run, upstream: str) -> Callable[..., None]:
    """Record the cassettes of the folder's tests."""

    def recorded(*arguments: str) -> None:
        result = run("--cassette-mode=record", f"--cassette-upstream={upstream}", *arguments)
        assert result.ret == pytest.ExitCode.OK, result.stdout.str()

    return recorded
