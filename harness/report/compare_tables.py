"""What a comparison says, as tables of texts that a terminal and a Markdown file are drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.judge.comparison import Comparison, ModelSummary, PairSummary, ResourcePair
from harness.judge.conclusion import p_text
from harness.judge.statistics.intervals import Interval
from harness.report.counts import counted
from harness.report.sections import Section

_LABELS = {"steps": "steps", "tokens": "tokens", "cost_usd": "dollars", "duration_s": "seconds"}
_DIGITS = {"steps": 1, "tokens": 0, "cost_usd": 4, "duration_s": 1}
_SHOWN_K = 4


def headline(comparison: Comparison) -> str:
    """One line for each pair, or what was judged where there is no pair."""
    if not comparison.judged:
        return "no trial was judged"
    if not comparison.pairs:
        (model,) = comparison.models
        share = model.pass_hat[1]
        tasks = counted(model.tasks, "task")
        return f"{model.model} solves {share.value:.1%} of {tasks} ({_range(share.interval, percent=True)})"
    return "; ".join(pair.sentence for pair in comparison.pairs)


def remarks(comparison: Comparison) -> list[str]:
    """What was left out, and where figures come from."""
    results = comparison.results
    found = []
    broken = [result for result in results if not result.usable]
    if broken:
        found.append(
            f"{counted(len(broken), 'trial')} ended by the infrastructure and left out of every figure; "
            f"the first: {broken[0].model}, {broken[0].task}: {broken[0].infrastructure}"
        )
    unjudged = [result for result in results if result.usable and result.passed is None]
    if unjudged:
        found.append(f"{counted(len(unjudged), 'trial')} could not be judged: {unjudged[0].why} (--judge says how to)")
    listed = sum(result.figures.cost_listed for result in results)
    if listed:
        found.append(f"{counted(listed, 'trial')} priced by the list of genai-prices, not as recorded")
    return found


def models_section(comparison: Comparison) -> Section:
    """How often each model solves the tasks."""
    ks = sorted({k for model in comparison.models for k in model.pass_hat})[:_SHOWN_K]
    more = ks[1:]
    percent = f"{comparison.settings.confidence:.0%}"
    columns = (
        "model", "tasks", "trials", "pass^1", f"{percent} interval", *(f"pass^{k}" for k in more),
        *(f"pass@{k}" for k in more), "infrastructure", "not judged",
    )  # fmt: skip
    section = Section("Tasks solved", columns)
    for model in comparison.models:
        first = model.pass_hat.get(1)
        section.rows.append(
            (
                model.model,
                f"{model.tasks:,}",
                f"{model.trials:,}",
                "" if first is None else f"{first.value:.3f}",
                "" if first is None else _range(first.interval, percent=False),
                *(_at(model, k, hat=True) for k in more),
                *(_at(model, k, hat=False) for k in more),
                f"{model.infrastructure:,}",
                f"{model.not_judged:,}",
            )
        )
    if more:
        section.notes.append("pass^k: all of k attempts pass; pass@k: at least one does")
    return section


def figures_section(comparison: Comparison) -> Section:
    """What a trial takes, and how well its calls are made."""
    columns = (
        "model", *_LABELS.values(), "malformed arguments", "tool errors", "repeated calls", "parallel calls", "schemas"
    )  # fmt: skip
    section = Section("A trial on average", columns)
    for model in comparison.models:
        means = [_amount(name, model.means[name]) for name in _LABELS]
        section.rows.append((model.model, *means, *(_percent(rate) for rate in model.rates.values())))
    section.notes.append(
        "shares of all calls, of the results that tell (tool errors), of all prompt tokens (schemas); "
        "- where the recordings do not say"
    )
    return section


def pairs_section(comparison: Comparison) -> Section:
    """Each pair, task by task, and what follows."""
    percent = f"{comparison.settings.confidence:.0%}"
    columns = (
        "a", "b", "conclusion on b", "tasks", "both", "only a", "only b", "neither", "b - a", f"{percent} interval",
        "p", "p adjusted", "shows from",
    )  # fmt: skip
    section = Section("Pairs", columns, left=3)
    for pair in comparison.pairs:
        smallest = pair.evidence.smallest
        numbers = (len(pair.tasks), pair.both, pair.evidence.only_a, pair.evidence.only_b, pair.neither)
        section.rows.append(
            (
                pair.a,
                pair.b,
                pair.conclusion,
                *(f"{number:,}" for number in numbers),
                "" if pair.difference is None else f"{pair.difference:+.3f}",
                "" if pair.interval is None else _range(pair.interval, percent=False),
                p_text(pair.p_value),
                p_text(pair.evidence.p_adjusted),
                "-" if smallest is None else f"{smallest:.2f}",
            )
        )
    section.notes += [
        "a task is solved where more than half of its trials pass; p is of McNemar's exact test, adjusted by Holm",
        "shows from: the smallest difference in tasks solved that so many tasks show in 4 of 5 cases",
    ]
    return section


def resources_section(comparison: Comparison) -> Section:
    """What b takes more than a, on the same tasks."""
    percent = f"{comparison.settings.confidence:.0%}"
    section = Section(
        "What a trial takes on the same tasks",
        ("a", "b", "of", "tasks", "a", "b", "b - a", f"{percent} interval"),
        left=3,
    )
    for pair in comparison.pairs:
        section.rows += [_resource(pair, name, figures) for name, figures in pair.resources.items()]
    section.notes.append("intervals by the bootstrap over tasks; one that holds 0 shows no difference")
    return section


def differing_sections(comparison: Comparison) -> Iterator[Section]:
    """For each pair the tasks that one model solves and the other does not, with a run of each."""
    for pair in comparison.pairs:
        section = Section(
            f"Tasks that differ: a {pair.a}, b {pair.b}", ("task", "run of a", "run of b", "a", "b"), left=3
        )
        for task in sorted(pair.differing, key=lambda task: task.solved_b):
            row = len(section.rows)
            runs = (str(task.example_a.folder), str(task.example_b.folder))
            section.links.update({(row, column): run for column, run in enumerate(runs, 1)})
            section.rows.append(
                (
                    task.task,
                    *runs,
                    f"{task.passed_a} of {len(task.a)}",
                    f"{task.passed_b} of {len(task.b)}",
                )
            )
        section.notes.append("those that only a solves come first; of several runs the first that went like most")
        yield section


def infrastructure_section(comparison: Comparison) -> Section:
    """The trials that say nothing of their model."""
    section = Section("Ended by the infrastructure", ("model", "task", "trial", "why", "run"), left=5)
    for result in comparison.results:
        if not result.usable:
            section.links[len(section.rows), 4] = str(result.folder)
            section.rows.append(
                (result.model, result.task, str(result.number), result.infrastructure or "", str(result.folder))
            )
    return section


def sections(comparison: Comparison) -> list[Section]:
    """All tables that have rows."""
    found: Iterable[Section] = (
        models_section(comparison),
        figures_section(comparison),
        pairs_section(comparison),
        resources_section(comparison),
        *differing_sections(comparison),
        infrastructure_section(comparison),
    )
    return [section for section in found if section.rows]


def _at(model: ModelSummary, k: int, *, hat: bool) -> str:
    share = (model.pass_hat if hat else model.pass_at).get(k)
    return "" if share is None else f"{share.value:.3f}"


def _resource(pair: PairSummary, name: str, figures: ResourcePair) -> tuple[str, ...]:
    low_high = figures.interval
    limits = "" if low_high is None else f"{_amount(name, low_high[0])} to {_amount(name, low_high[1])}"
    change = f" ({figures.difference / figures.a:+.0%})" if figures.a else ""
    return (
        pair.a,
        pair.b,
        _LABELS[name],
        f"{figures.tasks:,}",
        _amount(name, figures.a),
        _amount(name, figures.b),
        f"{_amount(name, figures.difference, sign=True)}{change}",
        limits,
    )


def _amount(name: str, value: float | None, *, sign: bool = False) -> str:
    return "-" if value is None else f"{value:{'+' if sign else ''},.{_DIGITS[name]}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _range(interval: Interval, *, percent: bool) -> str:
    form = ".1%" if percent else ".3f"
    return f"{interval[0]:{form}} to {interval[1]:{form}}"
