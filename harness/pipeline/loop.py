"""The ReAct loop: ask the model, run what it calls, send the results back, until it answers (seeds 000 and 002)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from harness.errors import InputError
from harness.pipeline.circles import REPEAT_LIMIT, CircleDetector
from harness.pipeline.history import History
from harness.pipeline.model_client import ModelCallError, invoke_raw, models_without_tools
from harness.pipeline.orchestrator import StepOutcome, ToolOrchestrator, TooManyCallsError
from harness.pipeline.permissions import is_shown
from harness.pipeline.result import ErrorCode
from harness.wire.chat import ModelTurn, hit_output_limit

if TYPE_CHECKING:
    import openai

STEP_LIMIT = 50
CALL_IN_TEXT_LIMIT = 1

_CUT = "the model ran into its token limit; nothing was run, send less in one turn"
_NOT_A_CALL = (
    "Your last message holds a tool call written as text. It was not run. Send it as a tool call, or answer in words."
)
_IN_A_CIRCLE = "nothing was run this time; do something else, the next circle ends the run"

ToolChoice = str | Mapping[str, Any]
"""``auto``, ``none``, ``required``, the name of one tool, or the provider's own form (C01)."""


class LoopStatus(StrEnum):
    """How a run ended. Only *answered* is an end that the model chose.

    *call_in_text*: the last message is a call written as text, which is not run and is no answer either (A38).
    """

    ANSWERED = "answered"
    CALL_IN_TEXT = "call_in_text"
    STEP_LIMIT = "step_limit"
    CIRCLE = "circle"
    CUT = "cut"
    ERROR = "error"


@dataclass(frozen=True)
class LoopConfig:
    """What the loop asks the model with.

    ``tool_choice`` is one choice or one for each step, the last of them repeated. ``parameters`` are further keys of
    the request (temperature, max_tokens, seed). ``retries`` counts further tries of a call that gave no complete
    turn. ``repeat_limit`` 0 turns the detection of circles off. ``check_capabilities`` asks ``/v1/models`` first.
    ``unique_ids`` gives a call whose id an earlier step has used a fresh one (bug report A13). ``call_in_text_limit``
    is how many times the model is asked again after a message that is a call written as text (A38).
    """

    model: str
    stream: bool = False
    tool_choice: ToolChoice | Sequence[ToolChoice] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    step_limit: int = STEP_LIMIT
    retries: int = 0
    repeat_limit: int = REPEAT_LIMIT
    check_capabilities: bool = False
    unique_ids: bool = True
    call_in_text_limit: int = CALL_IN_TEXT_LIMIT


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One model call and what came of it.

    ``request`` is the body as sent. ``turn`` is None when there was none; then ``error`` says why. ``outcome`` is None
    when nothing was called or nothing of it was taken.
    """

    index: int
    request: dict[str, Any]
    turn: ModelTurn | None
    outcome: StepOutcome | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopResult:
    """A finished run: why it ended, the final text, its steps, and the messages as they stand."""

    status: LoopStatus
    reason: str
    final_text: str | None
    steps: tuple[StepRecord, ...]
    messages: tuple[dict[str, Any], ...]


class ReActLoop:
    """Drives one conversation. `run` goes to the end; `step` does one model call with the calls it leads to.

    ``on_answer`` is told of each request that was answered or has failed, before anything that the answer calls runs;
    ``on_step`` of each finished step.
    """

    def __init__(
        self,
        client: openai.OpenAI,
        orchestrator: ToolOrchestrator,
        config: LoopConfig,
        history: History | None = None,
        *,
        on_step: Callable[[StepRecord], None] = lambda _: None,
        on_answer: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        self.history = History() if history is None else history
        self.config = config
        self.client = client
        self.orchestrator = orchestrator
        self._on_step = on_step
        self._on_answer = on_answer
        self._steps: list[StepRecord] = []
        self._circles = CircleDetector(config.repeat_limit or REPEAT_LIMIT)
        self._calls_in_text = 0
        self._without_tools: str | None = None
        self._capabilities_known = not config.check_capabilities

    def run(self, prompt: str | None = None) -> LoopResult:
        """Ask ``prompt`` and go on until the model answers or something stops the run.

        Calls that an interruption left open in the history are answered with that fact first. Raises InputError
        before the request when ``tool_choice`` names a tool that the model is not shown.
        """
        self.history.close_interrupted()
        if prompt is not None:
            self.history.append({"role": "user", "content": prompt})
            self._circles.reset()
            self._calls_in_text = 0
        begun = len(self._steps)
        while len(self._steps) - begun < self.config.step_limit:
            ended = self.step()
            if ended is not None:
                return self._result(*ended)
        return self._result(LoopStatus.STEP_LIMIT, f"{self.config.step_limit} steps without an answer")

    def step(self) -> tuple[LoopStatus, str] | None:
        """One model call and the calls it leads to; the end and its reason, or None when the loop goes on."""
        request, notes = self._request()
        turn, failures = self._ask(request)
        self._on_answer(request)
        notes += failures
        if turn is None or turn.status in ("error", "incomplete"):
            error = _failure(turn, failures)
            self._record(request, turn, error=error, notes=notes)
            return LoopStatus.ERROR, error
        cut = hit_output_limit(turn, self._max_tokens())
        if turn.tool_calls:
            return self._act(request, turn, notes, cut=cut)
        self.history.append_turn(turn, ())
        self._circles.reset()
        if not cut and any(anomaly.code == "call_in_text" for anomaly in turn.anomalies):
            return self._ask_for_a_call(request, turn, notes)
        self._record(request, turn, notes=notes)
        if cut:
            return LoopStatus.CUT, "the answer was cut at the token limit"
        return LoopStatus.ANSWERED, "the model answered without a call"

    def _ask_for_a_call(
        self, request: dict[str, Any], turn: ModelTurn, notes: list[str]
    ) -> tuple[LoopStatus, str] | None:
        """Text is never run. The model is told so a bounded number of times, then the run ends (A38)."""
        self._calls_in_text += 1
        self._record(request, turn, notes=[*notes, "the message is a tool call written as text; nothing was run"])
        if self._calls_in_text > self.config.call_in_text_limit:
            return LoopStatus.CALL_IN_TEXT, "the model wrote its tool call as text"
        self.history.append({"role": "user", "content": _NOT_A_CALL})
        return None

    def _act(
        self, request: dict[str, Any], turn: ModelTurn, notes: list[str], *, cut: bool
    ) -> tuple[LoopStatus, str] | None:
        """Run the calls and store what came of them; nothing of a turn cut at the token limit runs (A36, A37).

        Calls that go in a circle are not run and the model is told; the second circle after a question ends it (G01).
        """
        self._calls_in_text = 0
        taken = self.history.call_ids if self.config.unique_ids else ()
        plans = self.orchestrator.plan_tool_calls(turn.tool_calls, taken)
        circle = self._circles.next_step(plans) if self.config.repeat_limit else None
        if circle is not None and self._circles.found > 1:
            self._record(request, turn, error=circle, notes=notes)
            return LoopStatus.CIRCLE, circle
        try:
            if circle is not None:
                outcome = self.orchestrator.refuse_plans(plans, ErrorCode.REPEATED_CALLS, f"{circle}; {_IN_A_CIRCLE}")
            elif cut:
                outcome = self.orchestrator.refuse_plans(plans, ErrorCode.OUTPUT_LIMIT, _CUT)
            else:
                outcome = self.orchestrator.run_plans(
                    plans, lambda reached: self._interrupted(request, turn, reached, notes)
                )
        except TooManyCallsError as error:
            self._record(request, turn, error=str(error), notes=notes)
            return LoopStatus.ERROR, str(error)
        self._store(turn, outcome)
        self._record(request, turn, outcome, notes=notes)
        return None

    def _interrupted(
        self, request: dict[str, Any], turn: ModelTurn, outcome: StepOutcome, notes: Sequence[str]
    ) -> None:
        """Keep what an interrupted step has done, so that going on does not do it again (D10)."""
        self._store(turn, outcome)
        self._record(request, turn, outcome, error="interrupted", notes=notes)

    def _store(self, turn: ModelTurn, outcome: StepOutcome) -> None:
        self.history.append_turn(turn, outcome.plans)
        for observation in outcome.observations:
            self.history.append_observation(observation, legacy=turn.legacy_function_call)

    def _request(self) -> tuple[dict[str, Any], list[str]]:
        """The body of the next request, its schemas fetched from the registry anew (R05)."""
        body: dict[str, Any] = {"model": self.config.model, "messages": self.history.messages}
        notes: list[str] = []
        executor = self.orchestrator.executor
        tools = executor.registry.get_openai_tools(lambda tool: is_shown(tool, executor.mode))
        choice = _choice_of_step(self.config.tool_choice, len(self._steps))
        if choice is not None:
            choice = _wire_choice(choice, [tool["function"]["name"] for tool in tools])
        if tools and (reason := self._no_tools()):
            notes.append(f"tools are not sent: {reason}")
            tools = []
        if tools:
            body["tools"] = tools
            if choice is not None:
                body["tool_choice"] = choice
        if self.config.stream:
            body["stream"] = True
        body.update(self.config.parameters)
        return body, notes

    def _no_tools(self) -> str | None:
        if not self._capabilities_known:
            self._without_tools = models_without_tools(self.client, self.config.model)
            self._capabilities_known = True
        return self._without_tools

    def _ask(self, request: Mapping[str, Any]) -> tuple[ModelTurn | None, list[str]]:
        tools = request.get("tools", ())
        names = [tool["function"]["name"] for tool in tools if "function" in tool]  # others the provider runs itself
        failures: list[str] = []
        turn: ModelTurn | None = None
        for attempt in range(self.config.retries + 1):
            try:
                turn = invoke_raw(self.client, request, names)
            except ModelCallError as error:
                turn = None
                failures.append(str(error))
                continue
            if turn.status not in ("error", "incomplete"):
                break
            if attempt < self.config.retries:
                failures.append(_failure(turn, []))
        return turn, failures

    def _max_tokens(self) -> int | None:
        limits = (self.config.parameters.get(key) for key in ("max_completion_tokens", "max_tokens"))
        return next((limit for limit in limits if isinstance(limit, int)), None)

    def _record(
        self,
        request: dict[str, Any],
        turn: ModelTurn | None,
        outcome: StepOutcome | None = None,
        *,
        error: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        record = StepRecord(len(self._steps), request, turn, outcome, error, tuple(notes))
        self._steps.append(record)
        self._on_step(record)

    def _result(self, status: LoopStatus, reason: str) -> LoopResult:
        last = self._steps[-1].turn if self._steps else None
        ended_in_text = status in (LoopStatus.ANSWERED, LoopStatus.CUT, LoopStatus.CALL_IN_TEXT)
        text = last.content if last is not None and ended_in_text else None
        return LoopResult(status, reason, text, tuple(self._steps), tuple(self.history.messages))


def _failure(turn: ModelTurn | None, failures: Sequence[str]) -> str:
    if turn is None:
        return failures[-1] if failures else "the model gave no answer"
    if turn.status == "error":
        return f"the provider reported an error in its answer: {(turn.error or {}).get('message', turn.error)}"
    if turn.finish_reason:
        return "part of the answer was lost on its way; nothing of it was run"
    return "the answer broke off before a finish_reason or [DONE]; nothing of it was run"


def _choice_of_step(choice: ToolChoice | Sequence[ToolChoice] | None, step: int) -> ToolChoice | None:
    if choice is None or isinstance(choice, str | Mapping):
        return choice
    return choice[min(step, len(choice) - 1)] if choice else None


def _wire_choice(choice: ToolChoice, shown: Sequence[str]) -> str | dict[str, Any]:
    """The choice in the provider's form; raises InputError where it names a tool that the request does not show."""
    if isinstance(choice, str) and choice in ("auto", "none", "required"):
        return choice
    function = choice.get("function") if isinstance(choice, Mapping) else {"name": choice}
    named = function.get("name") if isinstance(function, Mapping) else None
    if named is not None and named not in shown:
        known = ", ".join(shown) or "none"
        raise InputError(
            f"tool_choice names {named!r}, which this request does not show (shown: {known})", where="tool_choice"
        )
    return {"type": "function", "function": {"name": named}} if isinstance(choice, str) else dict(choice)
