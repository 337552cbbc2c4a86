"""Findings as scenarios: each fails now, and passes once its cause is gone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.files import write_text_atomically
from harness.fuzz.calls import Due
from harness.fuzz.examples import FILES, Example, ExampleMaker, MadeCall, outcomes
from harness.fuzz.fuzzer import AGAIN
from harness.fuzz.hangs import within_s
from harness.fuzz.histories import Outcome
from harness.fuzz.parts import Finding
from harness.fuzz.playing import NEVER, Played, Stage, may_run_together
from harness.fuzz.targets import BUILTIN_TOOLS, LoadedTarget, TargetName
from harness.judge.invariants import INVARIANTS, runs_of
from harness.pipeline.file_versions import EXPECTED_KEYS
from harness.pipeline.tool import ToolKind
from harness.scenario.functions import named_from
from harness.scenario.world import EventSpec
from harness.scenario.yaml_text import OneLine, to_yaml

REGRESSIONS = Path("scenarios/regressions")
"""Where findings are saved."""

_ABOUT_RUNS = frozenset({"refuses_broken", "accepts_valid", "same_arguments", "runs_once", "cut_stream"})
_ABOUT = {
    "no_exception": "Whatever a model calls, the pipeline answers it and raises nothing.",
    "tool_returns": "A tool answers input that fits its schema with a ToolResult and raises nothing.",
    "one_answer": "Each call is answered exactly once, under its id, in the order of the calls.",
    "own_answer": "Each call is answered with what its own run returned.",
    "runs_once": "A call runs its tool once.",
    "apart": "Only tools that read run side by side.",
    "contained": "Nothing outside the workspace is touched.",
    "valid_json": "What the model is answered is JSON.",
    "budget": "Answers keep their budget.",
    "permission": "A command that is denied reaches no tool.",
    "circuit": "A tool is taken out of use only for failures of its own.",
    "refuses_broken": "Broken input is refused before the tool runs.",
    "accepts_valid": "Input that fits is not refused.",
    "same_arguments": "A tool gets what the model has sent.",
    "file_versions": "An edit is a conflict exactly if the file is not what the agent last saw of it.",
    "same_decision": "The same calls are decided in the same way.",
    "cut_stream": "Nothing runs from a stream that broke off.",
    "ends": "Whatever a model calls, the pipeline comes to an end.",
}


def title_of(finding: Finding) -> str:
    """What the finding is about, in a sentence."""
    return _ABOUT.get(finding.breach.invariant, f"The oracle {finding.breach.invariant} has no objection.")


def scenario_of(
    finding: Finding, name: TargetName, target: LoadedTarget, seed: int, folder: Path = Path()
) -> dict[str, Any]:
    """The finding as the document of a scenario that stands in ``folder``."""
    example = finding.example
    maker = ExampleMaker(target.tools, seed)
    with Stage(target.make) as stage:
        played = stage.play(example) if finding.breach.invariant != "ends" else None
    document: dict[str, Any] = {
        "description": f"{title_of(finding)} Found by the fuzzer: {finding.breach.text}.",
        "tags": ["regression", "fuzz"],
    }
    if not target.definitions:
        document["workspace"] = {"files": dict(FILES)}
    return document | {
        "agent": _agent(example, name, target, folder) | _breaker(example, played),
        "prompt": "Go on.",
        "player": {"script": _script(example)},
        "expect": _expectations(finding, maker, played, folder),
    }


def save(
    findings: Sequence[Finding],
    name: TargetName,
    targets: Sequence[LoadedTarget],
    seed: int,
    folder: Path = REGRESSIONS,
) -> list[Path]:
    """Save each finding as a scenario; what is there already stays. Returns where each stands."""
    paths: list[Path] = []
    for finding in findings:
        text = to_yaml(scenario_of(finding, name, targets[finding.group], seed, folder))
        path = folder / f"{_slug(name.name)}-{_slug(finding.breach.invariant)}-{_digest(finding)}.yaml"
        if not path.exists():
            write_text_atomically(path, text)
        paths.append(path)
    return paths


def _agent(example: Example, name: TargetName, target: LoadedTarget, folder: Path) -> dict[str, Any]:
    agent: dict[str, Any]
    if name.kind == "tools":
        called = {call.name for turn in example.turns for call in turn.calls}
        used = [entry for entry in target.definitions if entry["function"]["name"] in called]
        agent = {"stubs": [dict(entry) for entry in used or target.definitions[:1]]}
    elif name.kind == "builtin":
        agent = {"tools": list(BUILTIN_TOOLS)}
    else:
        agent = {"registry": named_from(name.name, folder)}
    if example.streamed:
        agent["stream"] = True
    return agent | {"shell": "spy", "repeat_limit": 0}


def _breaker(example: Example, played: Played | None) -> dict[str, Any]:
    """The circuits as they were when it was found (`Stage.play`)."""
    reading = {name for name, kind in played.facts.kinds.items() if kind is ToolKind.READ} if played else set()
    return {"breaker": {"failure_threshold": NEVER}} if may_run_together(example, reading) else {}


def _script(example: Example) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for turn in example.turns:
        entry: dict[str, Any] = {}
        if turn.before:
            entry["before"] = [_event(event) for event in turn.before]
        entry["calls"] = [_call(call, len(turns) + 1, at) for at, call in enumerate(turn.calls, 1)]
        if example.streamed:
            entry["fragment"] = example.fragment
        if turn.cut:
            entry["cut"] = True
        turns.append(entry)
        if turn.cut:
            return turns
    return [*turns, {"text": "done"}]


def _call(call: MadeCall, step: int, position: int) -> dict[str, Any]:
    """The call; an id that is as good as any other is left to the script, which counts them the same way."""
    entry: dict[str, Any] = {"tool": call.name, "arguments": call.arguments}
    if call.id != f"call_{step}_{position}":
        entry["id"] = call.id
    return OneLine(entry)


def _event(event: EventSpec) -> dict[str, Any]:
    return event.model_dump(exclude_defaults=True)


def _expectations(finding: Finding, maker: ExampleMaker, played: Played | None, folder: Path) -> dict[str, Any]:
    oracle, example = finding.breach.invariant, finding.example
    expect: dict[str, Any] = {}
    if any(turn.cut for turn in example.turns):
        expect["outcome"] = "error"
    if oracle in INVARIANTS and oracle not in _ABOUT_RUNS:
        expect["pipeline"] = {"holds": [oracle]}
    elif oracle in _ABOUT_RUNS and played is not None:
        expect["pipeline"] = {"runs": _due_runs(finding, maker, played)}
    elif oracle == "ends":
        expect["pipeline"] = {"within_s": within_s(finding.hang_s)}
    elif oracle == "same_decision":
        expect["pipeline"] = {"again": AGAIN}
    elif oracle == "file_versions":
        due = outcomes(example)
        expect["calls"] = [
            _due_call(call, due[number][position])
            for number, turn in enumerate(example.turns)
            for position, call in enumerate(turn.calls)
        ]
    else:
        expect["pipeline"] = {"oracles": [named_from(oracle, folder)]}
    return expect


def _due_runs(finding: Finding, maker: ExampleMaker, played: Played) -> list[dict[str, Any]]:
    """The runs that there should be: what the calls are due, and where they are due nothing, what was seen.

    A call that gates have turned away, and one whose due is open, has the runs that it had.
    """
    runs: list[dict[str, Any]] = []
    for number, turn in enumerate(finding.example.turns):
        if turn.cut:
            break
        for position, call in enumerate(turn.calls):
            due = maker.due(call)
            seen = runs_of(played.steps[number], position) if number < len(played.steps) else []
            concerned = finding.breach.step == number and finding.breach.call in (None, position)
            if due.due is Due.REFUSE:
                continue
            if due.value is not None and due.tool is not None and (seen or (due.due is Due.ACCEPT and concerned)):
                runs.append({"tool": due.tool, "parameters": due.value})
            else:
                runs += [{"tool": run.tool, "parameters": _own(run.parameters)} for run in seen[:1]]
    return runs


def _own(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in parameters.items() if key not in EXPECTED_KEYS}


def _due_call(call: MadeCall, outcome: Outcome | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"tool": call.name}
    if outcome is None:
        return OneLine(entry)
    if outcome is Outcome.SUCCESS:
        return OneLine(entry | {"status": "success"})
    return OneLine(entry | {"status": "error", "error_code": outcome.value})


def _digest(finding: Finding) -> str:
    return hashlib.blake2b(repr(finding.signature).encode("utf-8", "replace"), digest_size=4).hexdigest()


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", Path(name).name if "/" in name else name).strip("-").lower()[-60:]
