from __future__ import annotations

import socket

import pytest

from harness.errors import InputError
from harness.play.hosting import is_loopback
from harness.play.script import ScriptedTurn, ScriptPlayer
from harness.play.server import LoopbackServer
from tests.play.raw_http import ask


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("127.0.0.1", True),
        ("127.0.0.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("example.com", False),
    ],
)
def test_who_can_reach_an_address(host: str, inside: bool) -> None:
    assert is_loopback(host) is inside


@pytest.mark.parametrize(("host", "named"), [("localhost", "localhost"), ("0.0.0.0", "127.0.0.1")])
def test_the_url_is_one_that_a_client_here_can_use(host: str, named: str) -> None:
    with LoopbackServer(ScriptPlayer([ScriptedTurn()]), host=host) as server:
        assert server.url.startswith(f"http://{named}:")
        assert ask(f"{server.base_url}/models", method="GET").status == 200


def test_a_named_port_is_taken_and_given_back() -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    for _ in range(2):
        with LoopbackServer(ScriptPlayer([]), port=port) as server:
            assert server.base_url == f"http://127.0.0.1:{port}/v1"
            with pytest.raises(InputError, match=rf"^127\.0\.0\.1:{port}: cannot listen there"):
                LoopbackServer(ScriptPlayer([]), port=port).__enter__()
