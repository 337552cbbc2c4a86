"""A scenario's scripted turns as a player has them: written for one agent, or for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from harness.play.neutral.actions import Action, EditFile, RawCall, ReadFile, RunCommand
from harness.play.neutral.turn import NeutralTurn
from harness.play.script import ScriptedCall, ScriptedTurn, Turn
from harness.scenario.format import TurnSpec


def script_turn(turn: TurnSpec, number: int, folder: str | None) -> Turn:
    """The turn with that number, from 0. ``folder`` is the agent's, where it is known, as the agent names it."""
    if not turn.is_neutral:
        return _scripted(turn, number)
    form = _scripted(turn.model_copy(update={"calls": []}), number)
    return NeutralTurn(tuple(_actions(turn, number)), turn.finish, form, turn.finish_reason, folder)


def _scripted(turn: TurnSpec, number: int) -> ScriptedTurn:
    calls = _calls(turn, number)
    reason = turn.finish_reason or ("tool_calls" if calls else "stop")
    return ScriptedTurn(
        text=turn.text,
        calls=calls,
        finish_reason=None if turn.cut else reason,
        usage=turn.usage,
        fragment=turn.fragment,
        done=not turn.cut,
        error_status=turn.error.status if turn.error else None,
        error_message=turn.error.message if turn.error else "",
    )


def _calls(turn: TurnSpec, number: int) -> tuple[ScriptedCall, ...]:
    return tuple(
        ScriptedCall(
            call.tool,
            call.arguments_text(),
            call.id if "id" in call.model_fields_set else f"call_{number + 1}_{position + 1}",
        )
        for position, call in enumerate(turn.calls, len(turn.neutral))
    )


def _actions(turn: TurnSpec, number: int) -> Iterator[Action]:
    """What the turn does, in the order of its keys: files are read, then edited, commands run, raw calls made."""
    for path in turn.read:
        yield ReadFile(path)
    for edit in turn.edit:
        yield EditFile(edit.path, edit.old, edit.new, edit.all)
    for command in turn.bash:
        yield RunCommand(command)
    for call in _calls(turn, number):
        yield RawCall(call.name, call.arguments, call.id)
