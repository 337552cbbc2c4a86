"""Models compared: what is counted, on which tasks, and what is left apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.compare import compare
from harness.judge.comparison import Settings
from harness.judge.conclusion import Conclusion
from harness.judge.tasks import JudgeSpec
from harness.judge.trials import TrialResult, judge_trials
from harness.trace.folder import save_run
from harness.trace.run import Run
from tests.judge.trials import FIGURES, call, result, results, run, save


def test_pass_k_is_a_mean_over_tasks_and_not_over_trials() -> None:
    (model,) = compare(results("m", {"easy": "++++", "half": "++--", "hard": "-", "open": "??"})).models
    assert (model.tasks, model.trials, model.not_judged) == (3, 9, 2)
    assert {k: share.tasks for k, share in model.pass_hat.items()} == {1: 3, 2: 2, 3: 2, 4: 2}
    found = [share.value for share in model.pass_hat.values()]
    assert found == pytest.approx([(1 + 0.5 + 0) / 3, (1 + 1 / 6) / 2, 0.5, 0.5])
    assert model.pass_at[2].value == pytest.approx((1 + 5 / 6) / 2)
    low, high = model.pass_hat[1].interval
    assert low < 0.5 < high


def test_infrastructure_failures_are_in_no_figure() -> None:
    broken = [
        result("a", "t1", 1, passed=None, infrastructure="disk full", figures=replace(FIGURES, steps=900, malformed=4)),
        result("b", "t9", passed=None, infrastructure="no network"),
    ]
    good = results("a", {"t1": "+", "t2": "-"}) + results("b", {"t1": "+", "t2": "-"})
    with_them, without = compare([*good, *broken]), compare(good)
    assert [replace(model, infrastructure=0) for model in with_them.models] == list(without.models)
    assert with_them.pairs == without.pairs
    assert [model.infrastructure for model in with_them.models] == [1, 1]
    document = with_them.document()
    assert document["infrastructure"] == [
        {"model": "a", "task": "t1", "trial": 1, "run": "runs/a--t1--1", "why": "disk full"},
        {"model": "b", "task": "t9", "trial": 0, "run": "runs/b--t9--0", "why": "no network"},
    ]


def test_a_pair_is_compared_on_the_tasks_that_both_have() -> None:
    a = results("a", {"1": "+", "2": "+", "3": "-", "4": "-", "only-a": "+"})
    b = results("b", {"4": "+", "3": "-", "2": "+", "1": "-", "only-b": "-", "open": "?"})
    (pair,) = compare(a + b).pairs
    assert [task.task for task in pair.tasks] == ["1", "2", "3", "4"]
    assert (pair.both, pair.evidence.only_a, pair.evidence.only_b, pair.neither) == (1, 1, 1, 1)
    assert [(task.task, task.solved_a, task.solved_b) for task in pair.differing] == [
        ("1", True, False), ("4", False, True),
    ]  # fmt: skip
    assert pair.difference == 0


def test_of_several_trials_more_than_half_must_pass() -> None:
    a = results("a", {"1": "+++-", "2": "++--", "3": "+-"})
    b = results("b", {"1": "-", "2": "+", "3": "++"})
    (pair,) = compare(a + b).pairs
    assert [(task.solved_a, task.solved_b) for task in pair.tasks] == [(True, False), (False, True), (False, True)]
    first, second, _ = pair.tasks
    assert (first.example_a.number, second.example_a.number) == (0, 2)
    assert pair.difference == pytest.approx((0 + 1 + 1) / 3 - (0.75 + 0.5 + 0.5) / 3)


def test_a_better_model_is_found_and_worse_is_its_mirror() -> None:
    weak = results("weak", {str(n): "+" if n < 10 else "-" for n in range(40)})
    strong = results("strong", {str(n): "-" if n == 0 else "+" for n in range(40)})
    for trials, expected in ((weak + strong, Conclusion.BETTER), (strong + weak, Conclusion.WORSE)):
        (pair,) = compare(trials).pairs
        assert pair.conclusion is expected
        assert pair.p_value == pair.evidence.p_adjusted < 1e-6
        assert pair.interval is not None
        assert (pair.interval[0] > 0) is (expected is Conclusion.BETTER)


def test_several_comparisons_are_corrected_and_a_baseline_makes_them_fewer() -> None:
    base = {str(n): "+" for n in range(30)}
    worse = {str(n): "-" if n < 6 else "+" for n in range(30)}
    trials = results("a", base) + results("b", worse) + results("c", base)
    found = compare(trials)
    assert [(pair.a, pair.b) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.p_value for pair in found.pairs] == pytest.approx([1 / 32, 1.0, 1 / 32])
    assert [pair.evidence.p_adjusted for pair in found.pairs] == pytest.approx([3 / 32, 1.0, 3 / 32])
    assert {pair.conclusion for pair in found.pairs} <= {Conclusion.NO_DIFFERENCE, Conclusion.TOO_FEW}
    against = compare(trials, Settings(baseline="b"))
    assert [model.model for model in against.models] == ["b", "a", "c"]
    assert [(pair.a, pair.b) for pair in against.pairs] == [("b", "a"), ("b", "c")]
    with pytest.raises(InputError, match="no trial is of 'd'; the models are a, b, c"):
        compare(trials, Settings(baseline="d"))


def test_what_trials_take_is_compared_task_by_task() -> None:
    def trials(model: str, extra: int) -> list[TrialResult]:
        return [
            result(model, str(n), number, figures=replace(FIGURES, steps=n + number + extra, tokens=None))
            for n in range(10)
            for number in range(2)
        ]

    found = compare([*trials("a", 0), *trials("b", 3)])
    (pair,) = found.pairs
    assert set(pair.resources) == {"steps", "cost_usd", "duration_s"}
    steps = pair.resources["steps"]
    assert (steps.a, steps.b, steps.difference, steps.tasks) == (5.0, 8.0, 3.0, 10)
    assert steps.interval == (3.0, 3.0)
    assert found.models[0].means == {"steps": 5.0, "tokens": None, "cost_usd": 0.01, "duration_s": 1.0}


def test_a_task_counts_only_where_each_of_its_trials_is_known() -> None:
    a = [result("a", "1"), result("a", "1", 1, figures=replace(FIGURES, tokens=None)), result("a", "2")]
    (pair,) = compare([*a, result("b", "1"), result("b", "2")]).pairs
    assert pair.resources["tokens"].tasks == 1
    assert pair.resources["tokens"].interval is None


def test_rates_are_shares_of_all_calls() -> None:
    figures = replace(FIGURES, calls=6, malformed=3, repeated=1, parallel=4, known=2, failed=1)
    idle = replace(FIGURES, calls=0, known=0, tools_tokens=30, counted_tokens=40)
    (model,) = compare([result("a", "1", figures=figures), result("a", "2", figures=idle)]).models
    assert model.rates == {
        "malformed_rate": 0.5, "tool_error_rate": 0.5, "repeated_rate": pytest.approx(1 / 6),
        "parallel_share": pytest.approx(4 / 6), "schema_share": 0.75,
    }  # fmt: skip
    (none,) = compare([result("a", "2", figures=idle)]).models
    assert none.rates["malformed_rate"] is None


def test_the_seed_and_the_other_models_do_not_move_a_pairs_figures() -> None:
    def trials(model: str, step: int) -> list[TrialResult]:
        return [result(model, str(n), figures=replace(FIGURES, steps=(n * step) % 17)) for n in range(15)]

    both = [*trials("a", 5), *trials("b", 7)]
    (pair,) = compare(both).pairs
    more = compare([*trials("z", 3), *both]).pairs
    assert pair.resources == more[-1].resources
    (other,) = compare(both, Settings(seed=1)).pairs
    assert other.resources["steps"].interval != pair.resources["steps"].interval


def test_nothing_compared_is_no_error() -> None:
    empty = compare([])
    assert (empty.models, empty.pairs, empty.judged) == ((), (), False)
    alone = compare(results("a", {"1": "?"}) + results("b", {"2": "+"}))
    assert alone.pairs[0].conclusion is Conclusion.TOO_FEW
    assert alone.models[0].document()["interval"] is None
    assert alone.pairs[0].document()["difference"] is None


def test_saved_trials_are_judged_alike_by_one_process_and_by_two(tmp_path: Path) -> None:
    runs = [
        run(f"t/{n}", [[call("Read", {"n": n})] * (1 + n % 3)], model=model, number=number, reward=(n + number) % 2)
        for model in ("a", "b")
        for n in range(9)
        for number in range(2)
    ]
    save([*runs, run("t/0", model="a", number=7, reward=1.0, error="gone")], tmp_path / "out")
    alone = judge_trials([tmp_path / "out"])
    assert len(alone) == 37
    assert judge_trials([tmp_path / "out"], workers=2) == alone
    assert alone[-1].infrastructure == "gone"
    assert alone[-1].passed is None
    some = judge_trials([tmp_path / "out"], JudgeSpec(threshold=0.0), tasks="t/[12]")
    assert [each.task for each in some] == ["t/1", "t/1", "t/2", "t/2"] * 2
    assert all(each.passed for each in some)


def test_what_is_no_trial_or_there_twice_is_refused(tmp_path: Path) -> None:
    out = save([run("t")], tmp_path / "out")
    with pytest.raises(InputError, match=r"trial 0 of t by m is in .* too"):
        judge_trials([out, out / "runs" / "m--t--0"])
    save_run(Run("n", "scenario", "s.yaml"), tmp_path / "run")
    with pytest.raises(InputError, match="the run is no trial of a task"):
        judge_trials([tmp_path / "run"])
    with pytest.raises(InputError, match="no collection of runs"):
        judge_trials([tmp_path / "nothing"])
    with pytest.raises(InputError, match="is no judge"):
        judge_trials([out], JudgeSpec("rewards"), workers=2)
