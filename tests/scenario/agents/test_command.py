from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.verdict import Verdict
from harness.scenario.agents.command import CommandAgent, filled
from harness.scenario.agents.context import AgentContext
from harness.scenario.portable import portable
from harness.scenario.runner import run_scenario
from harness.trace.folder import load_run, save_run
from tests.scenario.agents.playing import FIX, FIXED, TESTS, TINY, judged, task

SHOW = (
    "import json, os, pathlib, sys; print(json.dumps([sys.argv[1:], sys.stdin.read(), os.getcwd(), dict(os.environ)]))"
)


def lives(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def context(tmp_path: Path) -> AgentContext:
    for name in ("work", "home"):
        (tmp_path / name).mkdir()
    return AgentContext("do it", tmp_path / "work", tmp_path / "home", "http://127.0.0.1:1/v1", "m", timeout_s=30)


def test_a_command_does_its_task_over_the_server() -> None:
    outcome, case = judged(task())
    assert case.verdict is Verdict.PASS, case.first_line
    assert outcome.files_after == {"hello.txt": b"hello\n"}
    assert outcome.served is not None
    assert outcome.served.end is not None
    assert (outcome.served.end.exit_code, outcome.served.end.stdout) == (0, "Done.\n")
    (lane,) = outcome.run.lanes
    assert [[call.name for call in step.calls] for step in lane.steps] == [["read_file"], ["write_file"], []]
    unknown = lane.steps[0].calls[0]
    assert (unknown.batch, unknown.concurrency_safe, unknown.executed, unknown.status) == (None, None, None, None)


def test_the_same_scenario_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "two"):
        outcome = run_scenario(task())
        folders.append(save_run(outcome.run, tmp_path / name, portable(outcome.root, outcome.aliases)))
    for file in ("run.json", "events.jsonl", "exchanges.jsonl"):
        contents = [(folder / file).read_bytes() for folder in folders]
        assert contents[0] == contents[1], file
        # The checkout, which the scenario is told to be in, may be called anything.
        own = contents[0].replace(str(TESTS).encode(), b"").replace(b"harness-run", b"")
        assert b"harness-" not in own
        assert b"127.0.0.1" not in contents[0]
    loaded = load_run(folders[0])
    assert loaded.lanes == load_run(folders[1]).lanes
    assert loaded.facts["agent"]["stdout"] == "Done.\n"


def test_placeholders_are_filled_in_once_and_others_stay() -> None:
    values = {"PROMPT": "say ${HOME}", "HOME": "/h", "CWD": "/w"}
    assert filled("${PROMPT} in ${CWD}, $CWD, ${OTHER}", values) == "say ${HOME} in /w, $CWD, ${OTHER}"


def test_a_command_sees_its_task_and_nothing_of_the_user(
    context: AgentContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    (context.workspace / "sub").mkdir()
    agent = CommandAgent(
        ["${PYTHON}", "-c", SHOW, "${PROMPT}", "${MODEL}", "${SCENARIO}"],
        tmp_path,
        env={"MINE": "${BASE_URL} ${API_KEY}", "LANG": "de_DE.UTF-8"},
        stdin="${PROMPT}, please",
        cwd="sub",
    )
    end = agent.run(context)
    assert end.exit_code == 0, end.stderr
    argv, stdin, cwd, environment = json.loads(end.stdout)
    assert argv == ["do it", "m", str(tmp_path)]
    assert stdin == "do it, please"
    assert cwd == str(context.workspace / "sub")
    assert environment["HOME"] == str(context.home)
    assert environment["OPENAI_BASE_URL"] == environment["OPENAI_API_BASE"] == context.base_url
    assert environment["OPENAI_API_KEY"] == "dummy"
    assert environment["MINE"] == f"{context.base_url} dummy"
    assert (environment["CI"], environment["DO_NOT_TRACK"], environment["LANG"]) == ("1", "1", "de_DE.UTF-8")
    assert environment["GIT_AUTHOR_DATE"] == environment["GIT_COMMITTER_DATE"]
    assert environment["XDG_CONFIG_HOME"].startswith(str(context.home))
    assert "SOME_TOKEN" not in environment
    assert "sk-of-the-user" not in end.stdout


def test_a_shell_is_used_where_the_command_names_one() -> None:
    agent = 'command: [bash, -c, "exec ${PYTHON} ${SCENARIO}/programs/tiny_agent.py \\"$1\\"", agent, "${PROMPT}"]'
    _, case = judged(task(agent))
    assert case.verdict is Verdict.PASS, case.first_line


def test_a_command_that_is_not_installed_is_an_error_that_says_how_to_get_it() -> None:
    _, case = judged(task("command: [no-such-agent-anywhere]\ninstall: npm install -g no-such-agent"))
    assert case.verdict is Verdict.ERROR
    assert "no-such-agent-anywhere is not installed" in case.first_line
    assert "npm install -g no-such-agent" in case.first_line


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x00no program")
    program.chmod(0o755)
    _, case = judged(task(f"command: [{program}]"))
    assert case.verdict is Verdict.ERROR
    assert "cannot be started" in case.first_line


def test_an_agent_that_asks_nothing_is_an_error_with_what_it_said() -> None:
    _, case = judged(task('command: ["${PYTHON}", "-c", "import sys; sys.exit(\'no config found\')"]'))
    assert case.verdict is Verdict.ERROR
    assert case.first_line == "the agent sent no request: nothing was judged (exited with 1)"
    assert "no config found" in case.checks[0].details


def test_an_exit_code_counts_unless_it_is_expected() -> None:
    ends_badly = TINY.replace('"${PYTHON}"', '"bash", "-c", "${PYTHON} \\"$@\\"; exit 3", "agent"')
    _, case = judged(task(ends_badly))
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the agent exited with 3, expected 0"
    _, case = judged(task(ends_badly, expect="exit_code: 3\nfinal_text: Done."))
    assert case.verdict is Verdict.PASS, case.first_line
    _, case = judged(task(expect="exit_code: 3\nfinal_text: Done."))
    assert case.first_line == "the agent exited with 0, expected 3"
    _, case = judged(task(ends_badly, expect="exit_code: {max: 127}\nfinal_text: Done."))
    assert case.verdict is Verdict.PASS, case.first_line
    _, case = judged(task(ends_badly, expect="exit_code: {min: 4}\nfinal_text: Done."))
    assert case.first_line == "the agent exited with 3, expected at least 4"


def test_a_run_that_may_be_partial_need_not_come_to_the_end_of_the_script() -> None:
    player = FIX + "  - text: More.\n"
    _, case = judged(task(player=player))
    assert case.first_line == "turn 4 of the script was never asked for: the run is partial"
    _, case = judged(task(player=player, expect=FIXED + "partial: true\n"))
    assert case.verdict is Verdict.PASS, case.first_line


def test_exit_code_0_does_not_outweigh_a_miss() -> None:
    player = "script: [{calls: [{tool: read_file, arguments: {path: hello.txt}}]}]"
    agent = TINY.replace('"${PROMPT}"', '"${PROMPT}", "--swallow"')
    outcome, case = judged(task(agent, player, "exit_code: [0, 1]"))
    assert outcome.served is not None
    assert outcome.served.end is not None
    assert outcome.served.end.exit_code == 0
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the script has 1 turns, the agent asked for one more"
    assert outcome.run.lanes[0].outcome == "miss"
    (missed,) = [check for check in case.checks if check.verdict is Verdict.FAIL]
    assert "what the agent said:\nstderr:" in missed.details
    assert "harness_miss" in missed.details


def test_what_an_agent_prints_is_kept_within_bounds_and_its_end_is_shown() -> None:
    noisy = 'command: ["${PYTHON}", "-c", "print(\'x\' * 300000 + \' the end\')"]'
    outcome, case = judged(task(noisy))
    assert outcome.served is not None
    assert outcome.served.end is not None
    assert len(outcome.served.end.stdout) < 70_000
    assert len(case.checks[0].details) < 5_000
    assert case.checks[0].details.endswith("x the end")


def test_an_agent_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    child = tmp_path / "child.pid"
    agent = f"command: [bash, '${{SCENARIO}}/programs/hang.sh', {child}]\ntimeout_s: 2"
    begun = time.monotonic()
    outcome, case = judged(task(agent, "script: [{text: Hello.}]", "steps: 1"))
    assert time.monotonic() - begun < 60
    assert case.verdict is Verdict.FAIL
    assert case.first_line == "the agent took longer than agent.timeout_s, 2 s, and was ended"
    assert outcome.served is not None
    assert outcome.served.end is not None
    assert outcome.served.end.timed_out
    assert "HTTP/1.1 200 OK" in outcome.served.end.output
    assert not lives(int(child.read_text()))


def test_an_agent_that_hangs_before_it_asks_is_an_error() -> None:
    _, case = judged(task("command: [sleep, '600']\ntimeout_s: 0.2"))
    assert case.verdict is Verdict.ERROR
    assert "the agent sent no request" in case.first_line
    assert "took longer than agent.timeout_s, 0.2 s" in case.first_line


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("command: []", "command"),
        ("command: [a]\npython: a.py:b", "one of them"),
        ("command: [a]\nstep_limit: 3", "step_limit is no setting of an agent that is a command"),
        ("python: a.py:b\nenv: {A: b}", "env is no setting of an agent that is a python"),
        ("python: a.py", "python"),
        ("stdin: x", "stdin is no setting of the built-in pipeline"),
        ("command: [a]\ntimeout_s: 0", "timeout_s"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(agent: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        task(agent)
