from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.argument_policy import ArgumentPolicy
from harness.pipeline.budget import REFUSAL_BYTES, BudgetPolicy
from harness.pipeline.executor import Execution, ToolExecutor
from harness.pipeline.names import PLACEHOLDER_NAME
from harness.pipeline.observation import ToolObservation
from harness.pipeline.orchestrator import INTERRUPTED, StepOutcome, ToolOrchestrator, TooManyCallsError
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result, verbatim
from harness.pipeline.tool import ToolKind
from harness.seams import SequentialIds
from harness.wire.chat import ToolCall
from tests.pipeline.tools import WAIT_S, Behaviour, SmallTool, builtin_executor, flat, orchestrator_with, registry_with

READERS = ("Read", "Grep", "Glob")
WRITERS = ("Edit", "Bash", "Task")
BROKEN = ("{", "[]", '{"a": 1}}', "null", "nonsense")


def kind_of(name: str) -> ToolKind:
    return {"Edit": ToolKind.EDIT, "Bash": ToolKind.SHELL, "Task": ToolKind.OTHER}.get(name, ToolKind.READ)


def mixed_tools(behave: Behaviour) -> list[SmallTool]:
    return [SmallTool(name, behave, kind=kind_of(name)) for name in (*READERS, *WRITERS)]


def numbered(name: str, number: int) -> dict[str, Any]:
    return flat(name, json.dumps({"value": str(number)}), f"call_{number}")


class Ledger:
    """Notes when each call begins and ends, and which calls ran at the same time."""

    def __init__(self) -> None:
        self.beside: dict[str, set[str]] = {}
        self.began: list[str] = []
        self.ended: list[str] = []
        self.most = 0
        self._running: set[str] = set()
        self._guard = threading.Lock()

    def run(self, parameters: dict[str, Any]) -> ToolResult:
        number = parameters["value"]
        with self._guard:
            self.began.append(number)
            self.beside[number] = set(self._running)
            for other in self._running:
                self.beside[other].add(number)
            self._running.add(number)
            self.most = max(self.most, len(self._running))
        threading.Event().wait(0.0005)
        with self._guard:
            self._running.discard(number)
            self.ended.append(number)
        return ToolResult.success(number)


# Planning


@pytest.mark.seed("P01", "W04")
@pytest.mark.parametrize(
    "call",
    [
        {"id": "call_1", "name": "Read", "arguments": '{"value": "v"}'},
        {"id": "call_1", "name": "Read", "arguments": {"value": "v"}},
        {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": '{"value": "v"}'}},
        {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": {"value": "v"}}},
        ToolCall("call_1", "Read", '{"value": "v"}'),
    ],
)
def test_a_call_may_come_flat_or_as_the_api_sends_it_with_arguments_as_text_or_object(call: Any) -> None:
    tool = SmallTool("Read", kind=ToolKind.READ)
    outcome = orchestrator_with(tool).run([call])
    (plan,) = outcome.plans
    assert (plan.tool_name, plan.tool_call_id, plan.parsed_input) == ("Read", "call_1", {"value": "v"})
    assert plan.parse_error is None
    assert tool.runs == [{"value": "v"}]


@pytest.mark.seed("P02")
@pytest.mark.parametrize("name", [None, "", 7])
def test_a_missing_name_becomes_a_placeholder_that_is_answered_as_unknown(name: object) -> None:
    outcome = orchestrator_with(SmallTool("Read")).run([{"id": "call_1", "name": name, "arguments": "{}"}])
    assert outcome.plans[0].tool_name == PLACEHOLDER_NAME
    assert outcome.observations[0].tool_call_id == "call_1"
    assert outcome.observations[0].result.error_code is ErrorCode.UNKNOWN_TOOL


@pytest.mark.seed("P02")
@pytest.mark.parametrize("call_id", [None, "", 7])
def test_a_missing_id_is_generated(call_id: object) -> None:
    call = {"id": call_id, "name": "Read", "arguments": "{}"}
    orchestrator = orchestrator_with(SmallTool("Read", kind=ToolKind.READ), ids=SequentialIds("made_"))
    assert orchestrator.run([call]).observations[0].tool_call_id == "made_0001"
    random = orchestrator_with(SmallTool("Read", kind=ToolKind.READ)).run([call, call])
    assert len({item.tool_call_id for item in random.observations}) == 2


@pytest.mark.seed("P02", "C02")
@settings(deadline=None)
@given(st.lists(st.sampled_from([None, "", "a", "b", "call_fresh_0001", "call_fresh_0002"]), max_size=10))
def test_ids_are_unique_in_a_step_and_a_usable_one_stays(received: list[str | None]) -> None:
    orchestrator = orchestrator_with(SmallTool("Read", kind=ToolKind.READ), ids=SequentialIds())
    plans = orchestrator.plan_tool_calls([flat("Read", "{}", call_id) for call_id in received])
    ids = [plan.tool_call_id for plan in plans]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    assert [plan.received_id for plan in plans] == received
    for position, call_id in enumerate(received):
        if call_id and call_id not in ids[:position]:
            assert ids[position] == call_id


@pytest.mark.seed("P03", "S03")
@pytest.mark.parametrize("arguments", BROKEN)
def test_a_parse_failure_is_kept_on_the_plan_and_the_tool_is_not_run(arguments: str) -> None:
    tool = SmallTool("Read", kind=ToolKind.READ)
    outcome = orchestrator_with(tool).run([flat("Read", arguments)])
    (plan,) = outcome.plans
    assert plan.parse_error is not None
    assert plan.raw_arguments == arguments
    assert outcome.observations[0].result.error_code is ErrorCode.INVALID_PARAM
    assert outcome.observations[0].result.text == plan.parse_error
    assert not outcome.executions[0].executed
    assert tool.runs == []


@pytest.mark.seed("P04")
@pytest.mark.parametrize(("name", "safe"), [*((n, True) for n in READERS), *((n, False) for n in (*WRITERS, "New"))])
def test_only_known_tools_that_read_are_safe_beside_others(name: str, safe: bool) -> None:
    orchestrator = orchestrator_with(*mixed_tools(lambda _: ToolResult.success("")))
    assert orchestrator.plan_tool_calls([flat(name)])[0].concurrency_safe is safe


@pytest.mark.seed("P04")
def test_the_built_in_tools_are_safe_or_not_as_the_seed_says(tmp_path: Path) -> None:
    orchestrator = ToolOrchestrator(builtin_executor(tmp_path))
    plans = orchestrator.plan_tool_calls([flat(name) for name in (*READERS, *WRITERS, "unheard_of")])
    assert [plan.concurrency_safe for plan in plans] == [True] * 3 + [False] * 4


@pytest.mark.seed("P05")
@pytest.mark.parametrize("arguments", BROKEN)
@pytest.mark.parametrize("name", [*READERS, *WRITERS, "New"])
def test_a_plan_with_a_parse_error_is_never_safe(name: str, arguments: str) -> None:
    orchestrator = orchestrator_with(*mixed_tools(lambda _: ToolResult.success("")))
    assert orchestrator.plan_tool_calls([flat(name, arguments)])[0].concurrency_safe is False


@pytest.mark.seed("P07", "P06")
def test_the_seeds_example_is_batched_as_the_seed_says() -> None:
    orchestrator = orchestrator_with(*mixed_tools(lambda _: ToolResult.success("")))
    outcome = orchestrator.run([flat(name) for name in ("Read", "Read", "Edit", "Grep")])
    assert [(batch.concurrency_safe, [plan.tool_name for plan in batch.calls]) for batch in outcome.batches] == [
        (True, ["Read", "Read"]),
        (False, ["Edit"]),
        (True, ["Grep"]),
    ]


def test_a_step_without_calls_gives_nothing() -> None:
    outcome = orchestrator_with().run([])
    assert (outcome.plans, outcome.batches, outcome.executions, outcome.observations, outcome.truncations) == ((),) * 5


mixed_calls = st.lists(
    st.tuples(
        st.sampled_from([*READERS, *READERS, *WRITERS, "New"]),
        st.sampled_from(["good", "good", "good", *BROKEN]),
    ),
    max_size=12,
)


def as_calls(mix: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        numbered(name, number) if arguments == "good" else flat(name, arguments, f"call_{number}")
        for number, (name, arguments) in enumerate(mix)
    ]


@pytest.mark.seed("P06", "P05", "P04")
@settings(deadline=None)
@given(mixed_calls)
def test_batches_keep_the_order_lose_nothing_and_leave_every_unsafe_call_alone(mix: list[tuple[str, str]]) -> None:
    orchestrator = orchestrator_with(*mixed_tools(lambda _: ToolResult.success("")))
    plans = orchestrator.plan_tool_calls(as_calls(mix))
    batches = orchestrator.partition_tool_calls(plans)
    assert [plan for batch in batches for plan in batch.calls] == plans
    for batch in batches:
        assert batch.calls
        assert all(plan.concurrency_safe is batch.concurrency_safe for plan in batch.calls)
        assert batch.concurrency_safe or len(batch.calls) == 1
        for plan in batch.calls:
            name, arguments = mix[plan.position]
            assert batch.concurrency_safe is (name in READERS and arguments == "good")
    for first, second in itertools.pairwise(batches):
        assert not (first.concurrency_safe and second.concurrency_safe)


# Running


@pytest.mark.seed("P08", "P09", "C02")
@settings(deadline=None, max_examples=50)
@given(mixed_calls)
def test_only_neighbouring_reads_ever_run_at_the_same_time_and_batches_run_in_order(mix: list[tuple[str, str]]) -> None:
    ledger = Ledger()
    outcome = orchestrator_with(*mixed_tools(ledger.run)).run(as_calls(mix))
    batch_of = {str(plan.position): number for number, batch in enumerate(outcome.batches) for plan in batch.calls}
    for own, others in ledger.beside.items():
        assert others <= {other for other in batch_of if batch_of[other] == batch_of[own]} - {own}
    for order in (ledger.began, ledger.ended):
        assert [batch_of[number] for number in order] == sorted(batch_of[number] for number in order)
    ran = {number for number, (name, arguments) in enumerate(mix) if name != "New" and arguments == "good"}
    assert sorted(map(int, ledger.began)) == sorted(ran)
    assert [item.tool_call_id for item in outcome.observations] == [f"call_{number}" for number in range(len(mix))]
    for number, (observation, execution) in enumerate(zip(outcome.observations, outcome.executions, strict=True)):
        assert execution.executed is (number in ran)
        assert execution.result.text == (str(number) if number in ran else observation.result.text)
        assert (observation.result.status is ToolStatus.SUCCESS) is (number in ran)


@pytest.mark.seed("P08")
@pytest.mark.parametrize("count", [2, 5, 8])
def test_the_calls_of_a_concurrent_batch_really_run_at_the_same_time(count: int) -> None:
    barrier = threading.Barrier(count)

    def meet(parameters: dict[str, Any]) -> ToolResult:
        barrier.wait(WAIT_S)
        return ToolResult.success(parameters["value"])

    outcome = orchestrator_with(SmallTool("Read", meet, kind=ToolKind.READ)).run(
        [numbered("Read", number) for number in range(count)]
    )
    assert [item.result.text for item in outcome.observations] == [str(number) for number in range(count)]


@pytest.mark.seed("P08")
@pytest.mark.parametrize("name", WRITERS)
def test_the_calls_of_serial_batches_never_run_at_the_same_time(name: str) -> None:
    ledger = Ledger()
    threads: set[int] = set()

    def run(parameters: dict[str, Any]) -> ToolResult:
        threads.add(threading.get_ident())
        return ledger.run(parameters)

    orchestrator_with(*mixed_tools(run)).run([numbered(name, number) for number in range(6)])
    assert ledger.began == ledger.ended == [str(number) for number in range(6)]
    assert not any(ledger.beside.values())
    assert threads == {threading.get_ident()}


@pytest.mark.seed("P08")
def test_no_more_calls_run_at_once_than_there_are_workers() -> None:
    ledger = Ledger()
    pairs = threading.Barrier(2)

    def run(parameters: dict[str, Any]) -> ToolResult:
        pairs.wait(WAIT_S)
        return ledger.run(parameters)

    orchestrator = orchestrator_with(SmallTool("Read", run, kind=ToolKind.READ), max_workers=2)
    orchestrator.run([numbered("Read", number) for number in range(12)])
    assert len(ledger.ended) == 12
    assert ledger.most == 2


@pytest.mark.seed("P09")
@settings(deadline=None, max_examples=50)
@given(st.integers(2, 8).flatmap(lambda count: st.permutations(range(count))))
def test_results_are_in_the_order_of_the_calls_whatever_the_order_of_completion(completion: list[int]) -> None:
    finished = [threading.Event() for _ in completion]
    order: list[int] = []

    def run(parameters: dict[str, Any]) -> ToolResult:
        number = int(parameters["value"])
        turn = completion.index(number)
        if turn and not finished[completion[turn - 1]].wait(WAIT_S):
            return ToolResult.error(ErrorCode.TIMEOUT, "the calls did not run at the same time")
        order.append(number)
        finished[number].set()
        return ToolResult.success(f"result {number}")

    calls = [numbered("Read", number) for number in range(len(completion))]
    outcome = orchestrator_with(SmallTool("Read", run, kind=ToolKind.READ)).run(calls)
    assert order == completion
    assert [item.result.text for item in outcome.observations] == [f"result {number}" for number in range(len(calls))]
    assert [item.tool_call_id for item in outcome.observations] == [call["id"] for call in calls]


@pytest.mark.parametrize(
    "error", [KeyError(), asyncio.CancelledError(), SystemExit(1), RecursionError(), MemoryError()]
)
@pytest.mark.parametrize("name", ["Read", "Bash"])
def test_a_call_that_raises_gets_an_error_result_and_its_siblings_keep_theirs(name: str, error: BaseException) -> None:
    def run(parameters: dict[str, Any]) -> ToolResult:
        if parameters["value"] == "1":
            raise error
        return ToolResult.success(parameters["value"])

    outcome = orchestrator_with(*mixed_tools(run)).run([numbered(name, number) for number in range(4)])
    assert [item.result.text for item in outcome.observations] == ["0", f"{name} raised {_shown(error)}", "2", "3"]
    code = ErrorCode.CANCELLED if isinstance(error, asyncio.CancelledError) else ErrorCode.EXECUTION_ERROR
    assert [item.result.error_code for item in outcome.observations] == [None, code, None, None]
    failed = outcome.observations[1]
    assert (failed.tool_call_id, failed.tool_name) == ("call_1", name)
    assert json.loads(failed.observation)["error"]["message"] == failed.result.text


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@pytest.mark.seed("C02")
def test_two_edits_of_one_file_in_one_step_apply_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a b")
    edits = [{"path": "f", "old_string": old, "new_string": new} for old, new in (("a", "A"), ("b", "B"))]
    calls = [flat("Read", {"path": "f"}), *(flat("Edit", edit) for edit in edits)]
    outcome = ToolOrchestrator(builtin_executor(tmp_path)).run(calls)
    assert [item.result.status for item in outcome.observations] == [ToolStatus.SUCCESS] * 3
    assert (tmp_path / "f").read_text() == "A B"


# Results


@pytest.mark.seed("T04")
def test_results_stay_objects_and_are_serialized_once_each() -> None:
    given_results: list[ToolResult] = []
    serialized: list[ToolResult] = []

    def run(_: object) -> ToolResult:
        given_results.append(ToolResult.success("text", {"rows": [1]}))
        return given_results[-1]

    def serializer(result: ToolResult) -> str:
        serialized.append(result)
        return serialize_tool_result(result)

    orchestrator = orchestrator_with(SmallTool("Bash", run), serializer=serializer)
    outcome = orchestrator.run([flat("Bash") for _ in range(3)])
    assert serialized == [execution.result for execution in outcome.executions]
    assert all(isinstance(execution.result, ToolResult) for execution in outcome.executions)
    assert [item.result.data for item in outcome.observations] == [given.data for given in given_results]


@pytest.mark.seed("O01")
def test_an_observation_keeps_both_results_and_the_text_made_at_construction() -> None:
    raw, shown = ToolResult.success("all of it"), ToolResult.partial("part of it")
    made: list[ToolResult] = []

    def serializer(result: ToolResult) -> str:
        made.append(result)
        return f"text {len(made)}: {result.text} é"

    observation = ToolObservation("call_1", "Read", shown, raw, serializer)
    assert (observation.result, observation.raw_result) == (shown, raw)
    for _ in range(3):
        assert observation.observation == "text 1: part of it é"
    assert made == [shown]
    assert observation.size == len(observation.observation) + 1
    assert observation.truncated
    assert not ToolObservation("call_1", "Read", raw, raw).truncated
    assert json.loads(ToolObservation("call_1", "Read", raw, raw).observation)["text"] == "all of it"


# Too many calls


def test_calls_beyond_the_maximum_are_answered_and_not_run() -> None:
    tool = SmallTool("Read", kind=ToolKind.READ)
    orchestrator = orchestrator_with(tool, budget=BudgetPolicy(max_calls=3, total_bytes=10_000))
    outcome = orchestrator.run([numbered("Read", number) for number in range(15)])
    codes = [item.result.error_code for item in outcome.observations]
    assert codes == [None] * 3 + [ErrorCode.TOO_MANY_CALLS] * 12
    assert "only 3 calls a step" in outcome.observations[-1].observation
    assert len(tool.runs) == 3
    assert [item.tool_call_id for item in outcome.observations] == [f"call_{number}" for number in range(15)]
    assert [execution.executed for execution in outcome.executions] == [True] * 3 + [False] * 12
    assert len(outcome.plans) == len(outcome.observations) == 15


def test_a_step_with_more_calls_than_can_be_answered_runs_nothing() -> None:
    tool = SmallTool("Read", kind=ToolKind.READ)
    orchestrator = orchestrator_with(tool, budget=BudgetPolicy(max_calls=3, total_bytes=10_000))
    with pytest.raises(TooManyCallsError, match="16 calls in one step; 3 are executed and up to 15 answered"):
        orchestrator.run([numbered("Read", number) for number in range(16)])
    with pytest.raises(TooManyCallsError):
        orchestrator.refuse([numbered("Read", number) for number in range(16)], ErrorCode.OUTPUT_LIMIT, "cut")
    assert tool.runs == []


@pytest.mark.seed("C02")
@pytest.mark.parametrize("reason", ["the model ran into its token limit", "long " * 1000])
def test_refusing_a_step_answers_each_call_once_within_the_budget_and_runs_none(reason: str) -> None:
    tool = SmallTool("Read", kind=ToolKind.READ)
    budget = BudgetPolicy(max_calls=4, total_bytes=6_144)
    calls = [flat("Read", arguments, f"call_{number}") for number, arguments in enumerate(["{}", '{"cut": "he'] * 10)]
    outcome = orchestrator_with(tool, budget=budget).refuse(calls, ErrorCode.OUTPUT_LIMIT, reason)
    assert [item.tool_call_id for item in outcome.observations] == [call["id"] for call in calls]
    assert {item.result.error_code for item in outcome.observations} == {ErrorCode.OUTPUT_LIMIT}
    assert sum(item.size for item in outcome.observations) <= 6_144
    assert not any(execution.executed for execution in outcome.executions)
    assert (len(outcome.plans), outcome.batches, tool.runs) == (20, (), [])


@pytest.mark.seed("C02")
def test_refusals_that_just_fit_are_left_alone_and_longer_ones_are_cut_and_said_so() -> None:
    calls = [flat("Read", "{}", f"call_{number}") for number in range(4)]

    def refused(reason: str) -> StepOutcome:
        budget = BudgetPolicy(max_calls=4, total_bytes=6_144)
        return orchestrator_with(budget=budget, serializer=verbatim).refuse(calls, ErrorCode.OUTPUT_LIMIT, reason)

    fitting = refused("r" * 1_536)
    assert fitting.truncations == ()
    assert [execution.result.text for execution in fitting.executions] == ["r" * 1_536] * 4
    cut = refused("r" * 1_537)
    assert [(item.tool_call_id, item.layer, item.bytes_before) for item in cut.truncations] == [("call_0", 2, 1_537)]
    assert all(execution == Execution(execution.result, ()) for execution in cut.executions)
    assert cut.executions[0].result.text == "r" * 1_537


def test_a_refused_surplus_call_is_an_execution_with_its_result_and_no_decision() -> None:
    budget = BudgetPolicy(max_calls=1, total_bytes=10_000)
    outcome = orchestrator_with(SmallTool("Read"), budget=budget).run([numbered("Read", number) for number in range(2)])
    assert outcome.executions[1] == Execution(outcome.observations[1].result, ())
    assert outcome.observations[1].result.text == "only 1 calls a step"


@pytest.mark.parametrize(("length", "own"), [(REFUSAL_BYTES, True), (REFUSAL_BYTES + 1, False)])
def test_a_serializer_that_makes_much_of_a_refusal_is_not_used_for_it(length: int, own: bool) -> None:
    orchestrator = orchestrator_with(
        SmallTool("Read"), budget=BudgetPolicy(max_calls=1, total_bytes=10_000), serializer=lambda _: "s" * length
    )
    surplus = orchestrator.run([numbered("Read", number) for number in range(2)]).observations[1]
    assert (surplus.tool_call_id, surplus.tool_name) == ("call_1", "Read")
    assert surplus.raw_result is surplus.result
    assert surplus.observation == ("s" * length if own else serialize_tool_result(surplus.result))


# Interruption, and agents beside agents


def test_an_interrupted_step_says_what_came_of_each_call_and_goes_on_up() -> None:
    def run(parameters: dict[str, Any]) -> ToolResult:
        if parameters["value"] == "2":
            raise KeyboardInterrupt
        return ToolResult.success(parameters["value"])

    told: list[StepOutcome] = []
    budget = BudgetPolicy(max_calls=5, total_bytes=10_000)
    orchestrator = orchestrator_with(*mixed_tools(run), budget=budget)
    plans = orchestrator.plan_tool_calls([numbered("Bash", number) for number in range(6)])
    with pytest.raises(KeyboardInterrupt):
        orchestrator.run_plans(plans, told.append)
    (outcome,) = told
    assert outcome.plans == tuple(plans)
    assert outcome.batches == tuple(orchestrator.partition_tool_calls(plans[:5]))
    assert [item.result.error_code for item in outcome.observations] == [
        None, None, *[ErrorCode.CANCELLED] * 3, ErrorCode.TOO_MANY_CALLS,
    ]  # fmt: skip
    assert [item.result.text for item in outcome.observations[:5]] == ["0", "1", *[INTERRUPTED] * 3]
    assert [execution.executed for execution in outcome.executions] == [True, True, *[False] * 4]
    assert all(execution.decisions == () for execution in outcome.executions[2:])


def test_an_orchestrator_beside_another_has_its_own_executor_and_budget_and_shares_the_rest() -> None:
    serializer = verbatim
    ids = SequentialIds()
    own = orchestrator_with(serializer=serializer, ids=ids, max_workers=1)
    ledger = Ledger()
    executor = ToolExecutor(registry_with(SmallTool("Read", ledger.run, kind=ToolKind.READ)))
    budget = BudgetPolicy(max_calls=4, total_bytes=10_000)
    other = own.beside(executor, budget)
    assert (other.executor, other.budget, other.serializer) == (executor, budget, serializer)
    calls = [flat("Read", {"value": str(number)}) for number in range(3)]
    outcome = other.run(calls)
    assert [item.tool_call_id for item in outcome.observations] == [f"call_fresh_{number:04d}" for number in (1, 2, 3)]
    assert [item.observation for item in outcome.observations] == ["0", "1", "2"]
    assert ledger.most == 1
    assert own.plan_tool_calls(calls[:1])[0].tool_call_id == "call_fresh_0004"


def test_a_call_alone_runs_on_the_callers_thread_and_several_on_threads_with_a_name() -> None:
    names: list[str] = []
    together = threading.Barrier(2)

    def run(parameters: dict[str, Any]) -> ToolResult:
        names.append(threading.current_thread().name)
        if parameters["value"] != "alone":
            together.wait(WAIT_S)
        return ToolResult.success("")

    orchestrator = orchestrator_with(SmallTool("Read", run, kind=ToolKind.READ))
    orchestrator.run([flat("Read", {"value": "alone"})])
    assert names == [threading.current_thread().name]
    orchestrator.run([numbered("Read", number) for number in range(2)])
    assert sorted(names[1:]) == ["harness-tool_0", "harness-tool_1"]


def test_the_id_of_a_call_reaches_its_tool() -> None:
    class Echo(SmallTool):
        def run_call(self, parameters: Mapping[str, Any], call_id: str) -> ToolResult:
            return ToolResult.success(call_id)

    (observation,) = orchestrator_with(Echo("Echo")).run([flat("Echo", "{}", "call_9")]).observations
    assert observation.result.text == "call_9"


def test_a_plan_says_what_was_received_and_what_was_made_of_it() -> None:
    executor = ToolExecutor(registry_with(SmallTool("Read")), arguments=ArgumentPolicy(repair=True))
    orchestrator = ToolOrchestrator(executor)
    exact, other, nameless, unsendable = orchestrator.plan_tool_calls(
        [
            flat("Read", '{"value": "v"}', "a"),
            flat("functions.Read", '{"value": "v",}', "b"),
            ToolCall("c", None, "{}"),
            flat("no such/tool", "{", "d"),
        ]
    )
    assert (exact.tool_name, exact.received_name, exact.repairs) == ("Read", None, ())
    assert (other.tool_name, other.received_name, other.parsed_input) == ("Read", "functions.Read", {"value": "v"})
    assert len(other.repairs) == 1
    assert (nameless.tool_name, nameless.received_name) == ("unknown_tool", "")
    assert (unsendable.tool_name, unsendable.received_name) == ("unknown_tool", "no such/tool")
    outcome = orchestrator.run_plans([exact, other, nameless, unsendable])
    assert "no such/tool" in outcome.observations[3].result.text
    assert outcome.executions[1].decisions[0].gate == "name"


def test_an_id_with_half_a_surrogate_pair_cannot_be_sent_back_so_it_becomes_a_fresh_one() -> None:
    orchestrator = orchestrator_with(SmallTool("Read", kind=ToolKind.READ), ids=SequentialIds("made_"))
    outcome = orchestrator.run(
        [flat("Read", "{}", "a\ud83d"), flat("Read", "{}", "b😀"), flat("Read", "{}", "a\ude00")]
    )
    assert [plan.tool_call_id for plan in outcome.plans] == ["made_0001", "b😀", "made_0002"]
    assert [plan.received_id for plan in outcome.plans] == ["a\ud83d", "b😀", "a\ude00"]
    assert [item.tool_call_id for item in outcome.observations] == ["made_0001", "b😀", "made_0002"]
