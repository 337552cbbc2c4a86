import asyncio

import pytest
from openai import AsyncOpenAI
from travel import aio

QUESTIONS = ["What is a flight to Lisbon?", "How are the skies of Oslo?"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.cassette("two")
async def test_two_questions_at_once(async_openai_client: AsyncOpenAI) -> None:
    assert await aio.ask_all(QUESTIONS, async_openai_client) == ["Lisbon is 74 euros.", "Snow in Oslo."]


@pytest.mark.cassette("two")
def test_a_loop_of_its_own(async_openai_client: AsyncOpenAI) -> None:
    for question in QUESTIONS:
        assert asyncio.run(aio.ask(question, async_openai_client))
