"""A turn of a neutral script, put to the request that asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from harness.play.neutral.actions import Action, EditFile, RawCall, ReadFile, RunCommand
from harness.play.neutral.call import Call, Offer
from harness.play.neutral.editing import edit_call
from harness.play.neutral.filling import filled
from harness.play.neutral.finishing import finish_call
from harness.play.neutral.folder import PLACEHOLDER, folder_said
from harness.play.neutral.offered import offered_tools
from harness.play.neutral.reading import read_call
from harness.play.neutral.running import run_call
from harness.play.player import CannotAnswerError
from harness.play.script import ScriptedCall, ScriptedTurn
from harness.wire.half_pairs import dumps


@dataclass(frozen=True, slots=True)
class NeutralTurn:
    """One answer of a model that knows no agent.

    ``actions`` are done in one turn, in order; ``finish`` ends the conversation instead. ``form`` is the rest of the
    answer (text, usage, fragments); its calls are replaced, and so is its finish_reason, by ``finish_reason`` or the
    one that fits, unless it has none. ``folder`` is the agent's, where the harness knows it; else what the request says
    of it counts.
    """

    actions: tuple[Action, ...] = ()
    finish: str | None = None
    form: ScriptedTurn = field(default_factory=ScriptedTurn)
    finish_reason: str | None = None
    folder: str | None = None

    def __post_init__(self) -> None:
        if self.actions and self.finish is not None:
            raise ValueError("a turn that finishes does nothing else")

    @property
    def needs_tools(self) -> bool:
        """Whether only a request that offers tools can be answered so."""
        return bool(self.actions)

    def scripted(self, body: Mapping[str, Any], number: int) -> ScriptedTurn:
        """The turn for a request; raises CannotAnswerError, naming the action, where its tools cannot do it."""
        offer = Offer(offered_tools(body), self.folder or folder_said(body))
        calls = tuple(
            _scripted_call(made, f"call_{number + 1}_{position + 1}", offer)
            for position, made in enumerate(self._made(offer, body))
        )
        said = self.form.text if self.finish is None else self.finish
        text = None if said is None else _in_folder(said, offer)
        reason = self.finish_reason or ("tool_calls" if calls else "stop")
        return replace(self.form, text=text, calls=calls, finish_reason=self.form.finish_reason and reason)

    def __str__(self) -> str:
        return "finish" if self.finish is not None else ", ".join(str(action) for action in self.actions)

    def _made(self, offer: Offer, body: Mapping[str, Any]) -> Iterator[Call | RawCall]:
        if self.finish is not None:
            call = finish_call(self.finish, offer, body)
            if call is not None:
                yield call
        for action in self.actions:
            match action:
                case ReadFile():
                    yield read_call(action, offer)
                case EditFile():
                    yield edit_call(action, offer)
                case RunCommand():
                    yield run_call(action, offer)
                case RawCall():
                    yield action


def _scripted_call(made: Call | RawCall, call_id: str, offer: Offer) -> ScriptedCall:
    if isinstance(made, Call):
        arguments = filled(made.tool, made.arguments, offer.folder)
        return ScriptedCall(made.tool.name, dumps(arguments).decode(), call_id)
    raw = made.arguments
    if raw is not None and PLACEHOLDER in raw:
        raw = raw.replace(PLACEHOLDER, orjson.dumps(_in_folder(PLACEHOLDER, offer)).decode()[1:-1])
    return ScriptedCall(made.tool, raw, made.id)


def _in_folder(text: str, offer: Offer) -> str:
    if PLACEHOLDER not in text:
        return text
    if offer.folder is None:
        raise CannotAnswerError(
            f"{PLACEHOLDER} stands for the agent's folder, which is not known; --workspace DIR says it"
        )
    return text.replace(PLACEHOLDER, offer.folder)
