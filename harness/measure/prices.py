"""What tokens cost in dollars, by the price list that comes with genai-prices: offline, nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from harness.measure.task import TaskStep
from harness.measure.usage import RecordedUsage


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for one request, as the list has its model; ``provider`` and ``model`` are the entries that matched.

    ``estimate`` where prompt tokens were counted, not reported, or where nothing says how many tokens were written.
    """

    input: float
    output: float
    provider: str
    model: str
    estimate: bool = False

    @property
    def total(self) -> float:
        """Both together."""
        return self.input + self.output


@dataclass(slots=True)
class Bill:
    """The sum of some steps; ``unpriced`` counts the steps of each model that the list does not have."""

    total: float = 0.0
    input: float = 0.0
    priced: int = 0
    estimates: int = 0
    unpriced: dict[str, int] | None = None

    def document(self) -> dict[str, object]:
        """For JSON: dollars are missing where nothing could be priced."""
        return {
            "usd": round(self.total, 8) if self.priced else None,
            "input_usd": round(self.input, 8) if self.priced else None,
            "priced_steps": self.priced,
            "estimated_steps": self.estimates,
            "unpriced_models": dict(sorted((self.unpriced or {}).items())),
        }


def bill(steps: Iterable[TaskStep]) -> Bill:
    """Price each step by itself, since some lists charge long prompts more, and add up."""
    found = Bill(unpriced={})
    for step in steps:
        price = price_of(step)
        if price is None:
            if found.unpriced is not None:
                name = step.model or "(no model named)"
                found.unpriced[name] = found.unpriced.get(name, 0) + 1
            continue
        found.total += price.total
        found.input += price.input
        found.priced += 1
        found.estimates += price.estimate
    return found


def price_of(step: TaskStep, at: datetime | None = None) -> Price | None:
    """The price of a step, or None where the list does not have its model.

    The provider that the request's URL names is asked first, then the model's name alone. What no answer reported is
    counted, and the price an estimate. ``at`` as in `price_of_usage`.
    """
    found = price_of_usage(step.model, replace(step.usage, prompt=step.prompt_tokens), step.url, at)
    return found if found is None or step.usage.prompt is not None else replace(found, estimate=True)


def price_of_usage(
    model: str | None, tokens: RecordedUsage, url: str | None = None, at: datetime | None = None
) -> Price | None:
    """The price of reported tokens, or None where the list does not have the model or the prompt is not reported.

    ``at`` is the moment whose prices count: by default noon of today, so that lists with cheap hours give one figure a
    day.
    """
    # Some 0.2 s, and only for who asks for prices.
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    prompt, output, cached = tokens.prompt, tokens.output, tokens.cached
    if not model or prompt is None:
        return None
    at = at or datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    # More cached than sent would be refused; a report that says so is not to be believed.
    usage = Usage(
        input_tokens=prompt,
        output_tokens=output or 0,
        **({"cache_read_tokens": cached} if cached and cached <= prompt else {}),
    )
    for provider in (url, None) if url is not None else (None,):
        try:
            if provider is None:
                found = calc_price(usage, model, genai_request_timestamp=at)
            else:
                found = calc_price(usage, model, provider_api_url=provider, genai_request_timestamp=at)
        except (LookupError, ValueError):
            continue
        return Price(
            float(found.input_price),
            float(found.output_price),
            found.provider.id,
            found.model.id,
            estimate=output is None,
        )
    return None
