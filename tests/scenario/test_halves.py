"""Half surrogate pairs in scenarios: where they may stand, and that a run with them is a run."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from harness.errors import InputError
from harness.judge.checks import judge_scenario
from harness.judge.verdict import Verdict
from harness.scenario.runner import run_scenario
from harness.trace.folder import load_run, save_run
from tests.scenario.scenarios import scenario

SAID = r"""
workspace: {files: {a.txt: "hi\n"}}
agent: {tools: [Read]STREAM}
prompt: Go on.
player:
  script:
    - calls:
        - {tool: Read, arguments: "{\"path\": \"a.txt\uD83D\"}"}
        - {tool: "Re\uDE00ad", arguments: {path: a.txt}}
        - {tool: Read, arguments: {path: a.txt}, id: "c\uD83D"}
      fragment: 3
    - text: "done \uD83D now 😀"
expect:
  final_text: "done \uD83D now 😀"
  calls:
    - {tool: Read, arguments: "{\"path\": \"a.txt\uD83D\"}", error_code: INVALID_PARAM, executed: false}
    - {tool: unknown_tool, error_code: UNKNOWN_TOOL}
    - {tool: Read, status: success}
  pipeline:
    holds: [no_exception, one_answer, valid_json]
    runs: [{tool: Read, parameters: {path: a.txt}}]
"""


@pytest.mark.parametrize("stream", ["", ", stream: true"])
def test_what_a_model_says_with_halves_is_run_judged_and_kept(tmp_path: Path, stream: str) -> None:
    outcome = run_scenario(scenario(SAID.replace("STREAM", stream)))
    case = judge_scenario(outcome, "test.yaml")
    assert case.verdict is Verdict.PASS, case.first_line
    assert outcome.run.lanes[0].steps[0].calls[0].arguments == '{"path": "a.txt\ud83d"}'
    save_run(outcome.run, tmp_path)
    loaded = load_run(tmp_path)
    assert (loaded.lanes, loaded.events) == (outcome.run.lanes, outcome.run.events)
    for exchange in loaded.exchanges:
        orjson.loads(exchange.request.body)  # what is sent back, a strict provider reads


AGENT = '''
import json
import urllib.request


def agent(context):
    """Sends back what it gets, halves as escapes, as JavaScript does."""
    messages = [{"role": "user", "content": context.prompt}]
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    while True:
        body = json.dumps({"model": "m", "messages": messages, "tools": tools}).encode()
        request = urllib.request.Request(
            context.base_url + "/chat/completions", body, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            message = json.load(answer)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": "seen \\ud83d"} for call in message["tool_calls"]
        ]
'''
SERVED = r"""
agent: {python: "half_agent.py:agent"}
prompt: Go on.
player:
  script:
    - calls: [{tool: look, arguments: "{\"at\": \"\uD83D\"}"}]
    - text: "done \uDE00"
expect:
  final_text: "done \uDE00"
  protocol: {without: [arguments_not_json]}
  budget: {per_result_bytes: 100}
  calls: [{tool: look, arguments: "{\"at\": \"\uD83D\"}", contains: "seen \uD83D"}]
"""


def test_an_agent_of_its_own_may_send_halves_back(tmp_path: Path) -> None:
    (tmp_path / "half_agent.py").write_text(AGENT, "utf-8")
    case = judge_scenario(run_scenario(scenario(SERVED, str(tmp_path / "test.yaml"))), "test.yaml")
    assert case.verdict is Verdict.PASS, case.first_line


MODEL = "\nprompt: x\nplayer: {script: [{text: x}]}\nexpect: {}\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'prompt: "\uD83D"', "1: prompt"),
        (r'workspace: {files: {a: "\uD83D"}}' + MODEL, "1: workspace.files.a"),
        ("name: x\n" + r'"\uD83D": 1', r"2: \ud83d"),
        (r'agent: {system: "\uD83D"}' + MODEL, "1: agent.system"),
        (r'player: {script: [{before: [{write: {a: "\uD83D"}}]}]}', "1: player.script.0.before.0.write.a"),
        (r'player: {cassette: "\uD83D"}', "1: player.cassette"),
        ('expect:\n  files: {"\\uD83D": x}', r"2: expect.files.\ud83d"),
        (r'expect: {changed: ["\uD83D"]}', "1: expect.changed.0"),
        (r'matrix: [{name: a, workspace: {files: {a: "\uD83D"}}}]', "1: matrix.0.workspace.files.a"),
    ],
)
def test_where_no_half_can_be_it_is_an_input_error(text: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario(text)
    assert str(caught.value).startswith(f"test.yaml:{place}: half a surrogate pair")


def test_a_variant_may_say_what_a_model_says() -> None:
    made = scenario(
        r"""
        description: "finds \uD83D"
        prompt: x
        player: {script: [{text: x}], side: "\uD83D"}
        matrix: [{name: a, player: {script: [{text: "\uD83D"}]}, expect: {final_text: "\uD83D"}}]
        """
    )
    assert (made.player.script or [])[0].text == "\ud83d"
