import unittest
from concurrent.futures import ThreadPoolExecutor

import pytest
from openai import OpenAI
from travel import desk, sync

from harness.plugin.use import CassetteUse


@pytest.mark.cassette("lisbon")
def test_a_question(openai_client: OpenAI) -> None:
    assert sync.ask("What is a flight to Lisbon?", openai_client) == "Lisbon is 74 euros."


@pytest.mark.cassette("lisbon")
def test_an_agent_that_builds_its_own_client(cassette: CassetteUse) -> None:
    assert "74" in sync.ask("What is a flight to Lisbon?")
    assert [len(exchange.turn().tool_calls) for exchange in cassette.exchanges] == [1, 0]


@pytest.mark.cassette("nowhere")
def test_a_tool_that_fails(openai_client: OpenAI) -> None:
    assert "no flights" in sync.ask("What is a flight to Atlantis?", openai_client)


@pytest.mark.cassette
def test_many_threads_at_once(openai_client: OpenAI) -> None:
    questions = [f"What is a flight to {city}?" for city in desk.FARES] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda question: sync.ask(question, openai_client), questions))
    assert sorted(answers) == ["Lisbon is 74 euros."] * 4 + ["Oslo is 131 euros."] * 4


class Desk(unittest.TestCase):
    @pytest.mark.cassette("lisbon")
    def test_in_a_test_case(self) -> None:
        self.assertIn("74", sync.ask("What is a flight to Lisbon?"))  # noqa: PT009  how test cases are written
