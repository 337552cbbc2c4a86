"""``harness record --scenario``: a session with a live model, written down as a scenario that passes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness.cli.options import model_url
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.scenario.scripting import Session


@dataclass(frozen=True, slots=True)
class ScenarioOptions:
    """The options that say what is asked, as typed; None where not given."""

    prompts: list[str]
    model: str | None
    workspace: Path | None
    system: str | None
    tools: str | None
    stream: bool | None
    mode: str | None
    ask: str | None
    step_limit: int | None
    force: bool

    @property
    def given(self) -> str:
        """The first one that was given, empty where none was."""
        values = {
            "--prompt": self.prompts or None, "--model": self.model, "--workspace": self.workspace,
            "--system": self.system, "--tools": self.tools, "--stream": self.stream, "--mode": self.mode,
            "--ask": self.ask, "--step-limit": self.step_limit, "--force": self.force or None,
        }  # fmt: skip
        return next((name for name, value in values.items() if value is not None), "")


def record_scenario_file(
    target: Path, options: ScenarioOptions, endpoints: list[str], api_key_env: str, secrets: list[str], *, quiet: bool
) -> None:
    """Ask the model, write the scenario, replay it from what was written, and keep it only where that passes."""
    from harness.judge.checks import judge_scenario  # noqa: PLC0415
    from harness.judge.verdict import Verdict, exit_code  # noqa: PLC0415
    from harness.scenario.format import load_scenario  # noqa: PLC0415
    from harness.scenario.runner import run_scenario  # noqa: PLC0415
    from harness.scenario.scripting import demand_free, drafted  # noqa: PLC0415

    session, endpoint = _session(options, dict(model_url(entry) for entry in endpoints))
    demand_free(target, force=options.force)
    key = os.environ.get(api_key_env, "none")
    with drafted(session, target, endpoint, key, secrets) as draft:
        case = judge_scenario(run_scenario(load_scenario(draft.scenario)), str(target))
        if case.verdict is not Verdict.PASS:
            typer.echo(f"{target}: {case.verdict} when replayed: {case.first_line}", err=True)
            typer.echo("nothing was written: what the session did does not repeat", err=True)
            raise typer.Exit(exit_code(case.verdict))
        placed = draft.place(target)
    for note in draft.notes:
        typer.echo(f"note: {note}", err=True)
    if not quiet:
        facts = ", ".join(_counted(case.facts[key], word) for key, word in (("steps", "step"), ("tool_calls", "call")))
        typer.echo(f"{target}: PASS, recorded from {session.model}: {facts}", err=True)
        typer.echo(f"written: {', '.join(os.path.relpath(path) for path in placed)}", err=True)
        typer.echo(f"again: harness run {os.path.relpath(target)}", err=True)


def _session(options: ScenarioOptions, endpoints: dict[str, str]) -> tuple[Session, str]:
    from harness.pipeline.loop import STEP_LIMIT  # noqa: PLC0415
    from harness.scenario.scripting import Session  # noqa: PLC0415

    if not any(prompt.strip() for prompt in options.prompts):
        raise InputError("missing: what to ask", where="--prompt", hint='--prompt "Fix the typo in README.md"')
    if not endpoints:
        raise InputError("missing: where the model answers", where="--endpoint", hint="--endpoint MODEL=URL")
    model = options.model or (next(iter(endpoints)) if len(endpoints) == 1 else None)
    if model is None:
        raise InputError("missing: which of the models to ask", where="--model", hint=f"one of {', '.join(endpoints)}")
    if model not in endpoints:
        raise InputError(f"no endpoint for {model!r}", where="--model", hint=f"--endpoint {model}=URL")
    tools = None if options.tools is None else [name.strip() for name in options.tools.split(",") if name.strip()]
    session = Session(
        prompts=options.prompts,
        model=model,
        workspace=options.workspace,
        system=options.system,
        tools=tools,
        stream=bool(options.stream),
        mode=_one_of("--mode", options.mode, ("normal", "read_only")),
        ask=_one_of("--ask", options.ask, ("deny", "allow")),
        step_limit=options.step_limit or STEP_LIMIT,
    )
    return session, endpoints[model]


def _one_of(option: str, given: str | None, known: tuple[str, ...]) -> str:
    """What was given, or the first of what there is."""
    if given is not None and given not in known:
        raise InputError(f"{given!r} is none of {', '.join(known)}", where=option)
    return given or known[0]


def _counted(number: object, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
