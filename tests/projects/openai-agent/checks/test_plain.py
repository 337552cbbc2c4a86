import pytest
from travel import plain


@pytest.mark.cassette("plain.yaml")
def test_plain_http(openai_base_url: str) -> None:
    assert plain.ask("How are the skies of Oslo?", openai_base_url) == "Snow in Oslo."
