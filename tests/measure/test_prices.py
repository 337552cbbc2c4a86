from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from harness.measure.prices import bill, price_of
from harness.measure.task import TaskStep
from harness.measure.usage import RecordedUsage
from tests.measure.talks import talk, task_of

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "total_tokens": 1_100_000}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("prices are asked of nobody")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def step(**usage: Any) -> TaskStep:
    found = task_of(talk([[]], [], USAGE)).steps[0]
    return replace(found, usage=RecordedUsage(**usage)) if usage else found


def test_a_known_model_is_priced_offline() -> None:
    price = price_of(step())
    assert price is not None
    assert (price.provider, price.model) == ("openai", "gpt-4o")
    assert price.input == pytest.approx(2.5)
    assert price.output == pytest.approx(1.0)
    assert not price.estimate


def test_cached_tokens_cost_less_and_are_not_added_to_the_prompt() -> None:
    price = price_of(step(prompt=1_000_000, completion=0, cached=1_000_000))
    assert price is not None
    assert price.input == pytest.approx(1.25)


def test_more_cached_than_sent_is_not_believed() -> None:
    price = price_of(step(prompt=10, completion=0, cached=20))
    assert price is not None
    assert price.input == pytest.approx(2.5e-5)


def test_without_usage_the_count_is_priced_as_an_estimate() -> None:
    one = task_of(talk([[]], [])).steps[0]
    price = price_of(one)
    assert price is not None
    assert price.estimate
    assert price.output == 0
    assert price.input == pytest.approx(one.count.total * 2.5e-6)


def test_an_unknown_model_has_no_price_and_is_named() -> None:
    unknown = replace(step(), model="no-such-model")
    assert price_of(unknown) is None
    found = bill([step(), unknown, replace(unknown, model=None)])
    assert found.unpriced == {"no-such-model": 1, "(no model named)": 1}
    assert found.priced == 1
    assert bill([unknown]).document()["usd"] is None


def test_the_provider_that_was_asked_is_preferred() -> None:
    price = price_of(replace(step(), url="https://my-company.openai.azure.com/openai/deployments/x/chat/completions"))
    assert price is not None
    assert price.provider == "azure"
