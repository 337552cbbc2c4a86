"""Six one-call tasks, asked of a live model: what ``harness compare`` is shown on in docs/comparing.md.

`record_model_tasks` writes a cassette for each trial into ``cassettes/models`` (see ``tasks.yaml`` there), and
`write_manifest` the list of them that ``harness convert --from cassettes`` reads. Tiny models like the tool that comes
first, so each trial offers the tools in another order, the same for all models.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import yaml
from openai import OpenAI

from harness.cassette import own
from harness.cassette.scrubbing import Scrubber, recordable
from harness.play.client import openai_client
from harness.play.transport import RecordingTransport
from harness.seams import SystemClock

MODELS = {
    "smollm2-135m": "SmolLM2-135M-Instruct",
    "gemma-3-270m": "Gemma-3-270M-base",
}
"""What the servers call the models, and what a reader should know them as."""

_SYSTEM = "You are a coding assistant. Use the tools to do what the user asks."
_MANIFEST = "trials.yaml"


def record_model_tasks(model: str, endpoint: str, folder: Path) -> list[Path]:
    """Ask ``model`` at ``endpoint`` (a base URL) each task as often as ``tasks.yaml`` says; returns the cassettes."""
    document = _tasks(folder)
    written = []
    for task, prompt in document["prompts"].items():
        for trial in range(document["trials"]):
            path = folder / _name(model, task, trial)
            path.unlink(missing_ok=True)
            tools = [{"type": "function", "function": tool} for tool in _shuffled(document["tools"], task, trial)]
            with (
                own.CassetteWriter(path) as writer,
                openai_client(_recording(writer), base_url=endpoint, api_key="none") as client,
            ):
                _ask(client, model, prompt, tools, trial)
            written.append(path)
    return written


def write_manifest(folder: Path) -> Path:
    """List every trial of every model with its task; the rewards are left to be judged."""
    document = _tasks(folder)
    lines = [
        f"- {{cassette: {_name(model, task, trial)}, task: {task}, trial: {trial}, model: {name}}}\n"
        for model, name in MODELS.items()
        for task in document["prompts"]
        for trial in range(document["trials"])
    ]
    path = folder / _MANIFEST
    path.write_text("# Which trial of which task each cassette is.\n" + "".join(lines), "utf-8")
    return path


def _tasks(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((folder / "tasks.yaml").read_text("utf-8"))
    return document


def _name(model: str, task: str, trial: int) -> str:
    return f"{model}--{task}--{trial}{own.SUFFIX}"


def _shuffled(tools: list[Mapping[str, Any]], task: str, trial: int) -> list[Mapping[str, Any]]:
    order = list(tools)
    random.Random(f"{task} {trial}").shuffle(order)
    return order


def _ask(client: OpenAI, model: str, prompt: str, tools: list[dict[str, Any]], trial: int) -> None:
    client.chat.completions.create(  # type: ignore[call-overload]
        model=model,
        messages=[{"role": "system", "content": _SYSTEM}, {"role": "user", "content": prompt}],
        tools=tools,
        tool_choice="required",
        temperature=0,
        seed=trial,
        max_tokens=96,
    )


def _recording(writer: own.CassetteWriter) -> RecordingTransport:
    scrubber = Scrubber()
    return RecordingTransport(
        httpx2.HTTPTransport(), lambda exchange: writer.add(recordable(exchange, scrubber)), SystemClock()
    )
