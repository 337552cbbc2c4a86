import pytest
from openai import OpenAI
from travel import streamed


@pytest.mark.cassette
def test_two_calls_in_one_turn(openai_client: OpenAI) -> None:
    shown: list[str] = []
    answer = streamed.ask("Fare and sky of Oslo?", openai_client, shown.append)
    assert answer == "Oslo is 131 euros, with snow."
    assert "".join(shown) == answer
    assert len(shown) > 1
