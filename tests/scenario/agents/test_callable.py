from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.judge.verdict import Verdict
from tests.scenario.agents.playing import function, judged, task

NOTE = "script: [{calls: [{tool: note, arguments: {line: milk}}]}, {text: Noted.}]"
NOTED = 'final_text: Noted.\nfiles: {notes.txt: "milk\\n"}\ncalls: [{tool: note, contains: noted}]'
HELLO = "script: [{text: Hello.}]"


def test_a_function_does_its_task_with_the_client_of_its_context() -> None:
    outcome, case = judged(task(function("sync_agent") + "\nmodel: m-1\nsystem: Be brief.", NOTE, NOTED))
    assert case.verdict is Verdict.PASS, case.first_line
    (first, _) = outcome.requests
    assert first["model"] == "m-1"
    assert first["messages"] == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Fix the typo."}
    ]  # fmt: skip
    assert outcome.served is not None
    assert outcome.served.end is not None
    assert outcome.served.end.exit_code is None


@pytest.mark.parametrize("name", ["async_agent", "own_client"])
def test_async_functions_and_clients_of_their_own_are_served_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/not-to-be-asked")
    _, case = judged(task(function(name), HELLO, "final_text: Hello.\nsteps: 1"))
    assert case.verdict is Verdict.PASS, case.first_line
    assert os.environ["OPENAI_BASE_URL"] == "http://127.0.0.1:9/not-to-be-asked"


def test_what_a_function_returns_is_its_final_text() -> None:
    agent = function("swallows_everything")
    _, case = judged(task(agent, "script: [{error: {status: 500, message: down}}]", "final_text: All good."))
    assert case.verdict is not Verdict.PASS
    outcome, _ = judged(task(agent, NOTE, NOTED))
    assert outcome.run.lanes[0].final_text == "Noted."


@pytest.mark.parametrize("status", [400, 500])
def test_an_endpoint_that_answers_errors_to_everything_passes_nothing(status: int) -> None:
    player = f"script: [{{error: {{status: {status}, message: down}}}}]"
    for name in ("sync_agent", "swallows_everything", "own_client"):
        _, case = judged(task(function(name), player, "final_text: All good."))
        assert case.verdict is not Verdict.PASS, name


def test_a_miss_is_sticky_for_an_agent_that_swallows_every_error() -> None:
    player = "script: [{calls: [{tool: note, arguments: {line: milk}}]}]"
    outcome, case = judged(task(function("swallows_everything"), player, "final_text: All good."))
    assert outcome.run.lanes[0].final_text == "All good."
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the script has 1 turns, the agent asked for one more"


def test_a_function_that_asks_nothing_is_an_error() -> None:
    _, case = judged(task(function("asks_nothing"), "script: [{text: Hello.}]", "final_text: Done."))
    assert case.verdict is Verdict.ERROR
    assert case.first_line == "the agent sent no request: nothing was judged (returned)"


def test_what_a_function_raises_fails_with_its_own_frames() -> None:
    _, case = judged(task(function("raises"), NOTE, NOTED))
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the agent raised LookupError: the answer is not to my taste"
    details = next(check.details for check in case.checks if check.verdict is Verdict.FAIL)
    assert "in raises" in details
    assert "harness/scenario" not in details


@pytest.mark.parametrize(("name", "player"), [("hangs", NOTE), ("hangs_async", HELLO)])
def test_a_function_that_takes_too_long_fails(name: str, player: str) -> None:
    _, case = judged(task(function(name) + "\ntimeout_s: 2", player, "steps: 1"))
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the agent took longer than agent.timeout_s, 2 s, and was ended"


def test_an_agent_that_asks_too_often_is_stopped() -> None:
    player = "script: [{text: a, repeat: 5}]"
    outcome, case = judged(task(function("runs_in_a_circle") + "\nmax_requests: 2", player, "steps: 1"))
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the agent asked 5 times, agent.max_requests is 2: it may run in a circle"
    assert len(outcome.run.exchanges) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("programs/agents.py:nobody", "has no nobody"),
        ("programs/nothing.py:run", "there is no file nothing.py"),
        ("no_such_module_anywhere:run", "cannot be imported"),
        ("programs/agents.py:not_a_function", "is not a function but int"),
        ("programs/broken.py:run", "cannot be imported: SyntaxError"),
    ],
)
def test_a_function_that_cannot_be_had_is_an_error(name: str, message: str, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "agents.py").write_text("not_a_function = 1\n")
    (programs / "broken.py").write_text("def run(:\n")
    _, case = judged(task(f"python: {name}", HELLO, "steps: 1", tmp_path / "test.yaml"))
    assert case.verdict is Verdict.ERROR
    assert message in case.first_line


def test_what_a_function_prints_is_kept_and_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "helper_w2.py").write_text("def say(text):\n    print(text)\n")
    (tmp_path / "agent.py").write_text(
        "import sys\n"
        "def run(context):\n"
        "    from helper_w2 import say\n"
        "    say('working')\n"
        "    print('trouble in', context.workspace, file=sys.stderr)\n"
        "    context.openai_client().chat.completions.create(model='m', messages=[{'role': 'user', 'content': 'x'}])\n"
    )
    outcome, case = judged(task("python: agent.py:run", HELLO, "final_text: Bye.", tmp_path / "test.yaml"))
    assert capsys.readouterr() == ("", "")
    assert outcome.served is not None
    assert outcome.served.end is not None
    assert (outcome.served.end.stdout, outcome.served.end.stderr) == ("working\n", "trouble in /workspace\n")
    assert case.verdict is Verdict.FAIL
    assert "trouble in /workspace" in next(check.details for check in case.checks if check.verdict is Verdict.FAIL)


def test_a_module_beside_the_scenario_is_found(tmp_path: Path) -> None:
    (tmp_path / "beside_w2.py").write_text(
        "def run(context):\n"
        "    with context.openai_client() as client:\n"
        "        client.chat.completions.create(model='m', messages=[{'role': 'user', 'content': context.prompt}])\n"
    )
    _, case = judged(task("python: beside_w2:run", HELLO, "final_text: Hello.", tmp_path / "test.yaml"))
    assert case.verdict is Verdict.PASS, case.first_line
