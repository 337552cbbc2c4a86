from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.errors import InputError
from harness.fuzz.calls import Due, ToolSchema
from harness.fuzz.choices import RandomChoices
from harness.fuzz.coverage import Coverage
from harness.fuzz.examples import Example, ExampleMaker, MadeCall, Turn, on_files
from harness.fuzz.findings import save, scenario_of
from harness.fuzz.fuzzer import FuzzSpec, Session
from harness.fuzz.histories import file_history
from harness.fuzz.oracles import ORACLES
from harness.fuzz.parallel import fuzz
from harness.fuzz.parts import Finding, by_cause, by_example
from harness.fuzz.playing import Stage
from harness.fuzz.shrinking import shrunk
from harness.fuzz.targets import TargetName, load_target, loaded
from harness.judge.checks import judge_scenario
from harness.judge.invariants import Breach
from harness.judge.verdict import Verdict
from harness.pipeline.result import ToolResult
from harness.pipeline.tool import Tool, ToolKind, ToolParameter
from harness.pipeline.workspace import Workspace
from harness.scenario.format import load_scenario
from harness.scenario.runner import run_scenario
from harness.scenario.target import Surroundings, target_of
from harness.scenario.tool_watch import SeenStep
from harness.seams import ManualClock
from tests.command_line import command

SOUND = TargetName.parse("tests.fuzz.faulty.tools:sound")
FAULTY = TargetName.parse("tests.fuzz.faulty.arguments:b09")
LAST_KEY = TargetName.parse("tests.fuzz.faulty.arguments:x02")
WORD = ToolSchema("find", {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]})


class Crashes(Tool):
    """Raises on words of more than three letters."""

    kind = ToolKind.READ

    def __init__(self) -> None:
        super().__init__("crash", "Crash now and then.")

    def get_parameters(self) -> Sequence[ToolParameter]:
        return (ToolParameter("word", "string"),)

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        if len(parameters["word"]) > 3:
            raise IndexError("list index out of range")
        return ToolResult.success("fine")


class Starts(Tool):
    """Starts a program, which a fuzz run does not let it."""

    def __init__(self, program: Path) -> None:
        super().__init__("start", "Start a program.")
        self._program = program

    def get_parameters(self) -> Sequence[ToolParameter]:
        return ()

    def run(self, parameters: Mapping[str, Any]) -> ToolResult:
        import subprocess

        subprocess.run([self._program], check=True)
        return ToolResult.success("started")


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def divide(a: int, b: int) -> float:
    """Divide two numbers."""
    return a / b


def no_stop(steps: Sequence[SeenStep]) -> str | None:
    ran = [run.tool for step in steps for run in step.runs]
    return "stop ran" if "stop" in ran else None


def call(text: str | None, name: str | None = "find") -> MadeCall:
    return MadeCall(name, text, "call_1")


def fuzzed(value: object, tmp_path: Path, **options: Any) -> list[Finding]:
    around = Surroundings(Workspace(tmp_path), ManualClock())
    return Session([loaded(target_of(value), around)], FuzzSpec(**options)).run().findings


def test_an_example_depends_on_seed_and_number_alone() -> None:
    maker, other = ExampleMaker([WORD], 5), ExampleMaker([WORD], 5)
    assert [maker.example(number) for number in (7, 3)] == [other.example(7), other.example(3)]
    assert maker.example(3) != ExampleMaker([WORD], 6).example(3)


@pytest.mark.parametrize(
    ("made", "due"),
    [
        (call('{"word": "a"}'), Due.ACCEPT),
        (call('{"word": 1}'), Due.REFUSE),
        (call('{"word": "a",}'), Due.REFUSE),
        (call(""), Due.REFUSE),
        (call('{"word": "a"}', "FIND"), Due.EITHER),
        (call('{"word": 1}', "FIND"), Due.REFUSE),
        (call('{"word": "a"}', "other"), Due.REFUSE),
        (call('{"word": "a"}', None), Due.REFUSE),
    ],
)
def test_what_a_call_is_due_follows_from_its_name_and_text(made: MadeCall, due: Due) -> None:
    assert ExampleMaker([WORD], 0).due(made).due is due


def test_a_small_example_is_found_whatever_it_began_as() -> None:
    maker = ExampleMaker([WORD], 1)

    def fails(example: Example) -> bool:
        return any('"' in (one.arguments or "") for turn in example.turns for one in turn.calls)

    for number in range(12):
        example = maker.example(number)
        if fails(example):
            small = shrunk(example, fails)
            assert [one.arguments for turn in small.turns for one in turn.calls] == ['"']


def test_shrinking_keeps_what_does_not_get_smaller_and_stops_in_time() -> None:
    example = Example((Turn((call("{}"),)),))
    assert shrunk(example, lambda _: False) == example
    tries: list[Example] = []

    def never(candidate: Example) -> bool:
        tries.append(candidate)
        return False

    shrunk(ExampleMaker([WORD], 1).example(2), never, 10)
    assert len(tries) <= 10


def test_a_file_history_has_its_events_before_the_calls_that_follow() -> None:
    for seed in range(30):
        history = file_history(RandomChoices(random.Random(seed)))
        example = on_files(history)
        calls = [one for turn in example.turns for one in turn.calls]
        assert [one.outcome for one in calls] == [step.outcome for step in history.steps if step.outcome is not None]


def test_the_report_is_the_same_with_any_number_of_workers() -> None:
    spec = FuzzSpec(seed=4, examples=60)
    alone, three = fuzz(FAULTY, spec), fuzz(FAULTY, spec, workers=3)
    assert alone.findings == three.findings
    assert alone.findings
    assert alone.coverage.tally == three.coverage.tally
    assert fuzz(FAULTY, spec).findings == alone.findings


def test_a_cause_is_one_finding_and_its_times_are_counted() -> None:
    found = fuzz(FAULTY, FuzzSpec(seed=1, examples=150)).findings
    assert len({finding.signature for finding in found}) == len(found)
    assert max(finding.times for finding in found) > 10
    assert max(len(finding.families) for finding in found) > 5


def test_findings_of_one_cause_are_merged_into_the_earliest() -> None:
    example = Example((Turn((call("{"),)),))
    breach = Breach("refuses_broken", 0, 0, "", "ran")
    late, early = (Finding(breach, example, number, ("a",), (f"family {number}",)) for number in (9, 2))
    assert by_example(by_cause([late, early])) == [
        Finding(breach, example, 2, ("a",), ("family 2", "family 9"), times=2)
    ]


def test_an_interrupt_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(load_target(FAULTY), FuzzSpec(seed=1, examples=500))
    one = session._one

    def interrupted(number: int) -> None:
        if number == 30:
            raise KeyboardInterrupt
        one(number)

    monkeypatch.setattr(session, "_one", interrupted)
    report = session.run()
    assert report.interrupted
    assert report.findings
    assert report.coverage.examples == 30


def test_a_tool_that_raises_is_a_finding_with_the_smallest_word(tmp_path: Path) -> None:
    found = fuzzed([Crashes()], tmp_path, examples=100)
    assert [finding.breach.invariant for finding in found] == ["tool_returns"]
    assert "IndexError" in found[0].breach.text
    assert found[0].example.turns[0].calls[0].arguments == '{"word":"0000"}'


def test_a_plain_function_is_a_tool_described_by_its_annotations(tmp_path: Path) -> None:
    assert fuzzed(add, tmp_path, examples=100) == []
    found = fuzzed(divide, tmp_path, examples=400)
    assert {finding.breach.place.split(" ")[1] for finding in found} >= {"ZeroDivisionError"}


def test_no_program_is_started(tmp_path: Path) -> None:
    program, mark = tmp_path / "program", tmp_path / "mark"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n", "utf-8")
    program.chmod(0o755)
    around = Surroundings(Workspace(tmp_path), ManualClock())
    report = Session([loaded(target_of([Starts(program)]), around)], FuzzSpec(examples=20)).run()
    assert not mark.exists()
    assert report.coverage.started[str(program)] > 0
    assert report.findings == []


def test_a_tool_that_runs_commands_is_a_spy() -> None:
    maker = ExampleMaker(load_target(SOUND)[0].tools, 1)
    with Stage(load_target(SOUND)[0].make) as stage:
        played = stage.play(Example((Turn((MadeCall("run", '{"command": "ls"}', "call_1"),)),)))
    assert [run.tool for run in played.steps[0].runs] == ["run"]
    assert "looked at" in played.steps[0].runs[0].result.text
    assert maker.due(MadeCall("run", '{"command": "ls"}', None)).due is Due.ACCEPT


# What stops the thread may meet Hypothesis' callback of the garbage collector, where Python reports and drops it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_does_not_end_is_a_finding(tmp_path: Path) -> None:
    class Endless(Crashes):
        kind = ToolKind.OTHER  # never in a pool, whose threads Python waits for

        def run(self, parameters: Mapping[str, Any]) -> ToolResult:
            while parameters["word"].startswith("a"):
                pass
            return ToolResult.success("done")

    found = fuzzed(lambda: [Endless()], tmp_path, examples=150, hang_s=0.3, oracles=("ends",))
    assert [finding.breach.invariant for finding in found] == ["ends"]
    assert '"a' in (found[0].example.turns[0].calls[0].arguments or "")


def test_a_users_own_oracle_is_asked_and_stands_in_the_scenario(tmp_path: Path) -> None:
    own = "tests.fuzz.test_fuzzer:no_stop"
    report = Session(load_target(SOUND), FuzzSpec(examples=60, own=(own,))).run()
    assert [finding.breach.invariant for finding in report.findings] == [own]
    path = save(report.findings, SOUND, load_target(SOUND), 0, tmp_path)[0]
    assert judge_scenario(run_scenario(load_scenario(path)), "").verdict is Verdict.FAIL


def test_what_is_saved_already_stays(tmp_path: Path) -> None:
    found = fuzz(FAULTY, FuzzSpec(seed=1, examples=20)).findings
    path = save(found, FAULTY, load_target(FAULTY), 1, tmp_path)[0]
    path.write_text("mine", "utf-8")
    assert save(found, FAULTY, load_target(FAULTY), 1, tmp_path)[0] == path
    assert path.read_text("utf-8") == "mine"


@pytest.mark.parametrize("kind", ["calls", "stream"])
def test_a_finding_with_half_a_surrogate_pair_is_saved_like_any_other(tmp_path: Path, kind: str) -> None:
    text = '{"word": "a\ud83d", "word": "b"}'
    example = Example((Turn((call(text),)),), kind, 3)
    (target,) = load_target(LAST_KEY)
    with Stage(target.make) as stage:
        played = stage.play(example)
    assert played.streamed is (kind == "stream")
    assert [run.parameters for run in played.steps[0].runs] == [{"word": "b"}]
    finding = Finding(Breach("refuses_broken", 0, 0, "", "find ran"), example, 0, ())
    (path,) = save([finding], LAST_KEY, [target], 0, tmp_path)
    (spec,) = (load_scenario(path).player.script or [])[0].calls
    assert spec.arguments == text
    assert judge_scenario(run_scenario(load_scenario(path)), "").verdict is Verdict.FAIL
    path.write_text(path.read_text("utf-8").replace(LAST_KEY.name, SOUND.name), "utf-8")
    assert judge_scenario(run_scenario(load_scenario(path)), "").verdict is Verdict.PASS


def test_coverage_counts_every_call_once() -> None:
    report = Session(load_target(SOUND), FuzzSpec(examples=80)).run()
    coverage = report.coverage
    for axis in ("arguments", "name", "id"):
        assert sum(tried for of, _, tried, _ in coverage.rows() if of == axis) == coverage.calls
    assert sum(tried for of, _, tried, _ in coverage.rows() if of == "example") == coverage.examples == 80
    assert [row for row in Coverage().rows() if row[2]] == []


def test_definitions_are_fuzzed_with_stubs(tmp_path: Path) -> None:
    tools = [
        {"type": "function", "function": {"name": f"tool.{number}", "parameters": {"type": "dict", "properties": {}}}}
        for number in range(3)
    ]
    file = tmp_path / "tools.json"
    file.write_bytes(orjson.dumps(tools))
    name = TargetName.parse(str(file))
    report = fuzz(name, FuzzSpec(examples=40))
    assert report.findings == []
    assert report.coverage.tally.counts["arguments", "valid", "ran"] > 5
    target = load_target(name)[0]
    second = target.tools[1].name
    finding = Finding(Breach("no_exception", 0, 0, "", ""), Example((Turn((call("{}", second),)),)), 0, ())
    document = scenario_of(finding, name, target, 0)
    assert [entry["function"]["name"] for entry in document["agent"]["stubs"]] == [second]


@pytest.mark.parametrize(
    "name", ["nothing", "tests.fuzz.test_fuzzer:NOTHING", "no_such_module:x", "tests.fuzz.test_fuzzer:ROOT"]
)
def test_a_target_that_is_none_is_an_error(name: str) -> None:
    with pytest.raises(InputError):
        load_target(TargetName.parse(name))


def test_an_oracle_that_is_none_is_an_error() -> None:
    with pytest.raises(InputError, match="no oracle"):
        FuzzSpec(oracles=("nothing",))
    assert len(ORACLES) == len(set(ORACLES))


def test_the_shipped_pipeline_has_no_finding() -> None:
    assert fuzz(TargetName.parse("builtin"), FuzzSpec(seed=11, examples=60)).findings == []
    report = fuzz(TargetName.parse("builtin"), FuzzSpec(seed=11, examples=25, texts=True))
    assert report.findings == []
    assert report.coverage.calls > 500


def test_the_command_says_what_it_found_and_exits_with_1(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(capfd)("fuzz", FAULTY.name, "--examples", "20", "--seed", "1", "--json")
    assert done.returncode == 1
    document = orjson.loads(done.stdout)
    assert document["verdict"] == "FAIL"
    assert {row["family"] for row in document["coverage"]} >= {"valid", "near_miss", "truncated"}
    path = Path(document["findings"][0]["scenario"])
    assert path.parent == Path("scenarios/regressions")
    assert document["findings"][0]["oracle"] == "refuses_broken"
    assert (tmp_path / "reports" / "fuzz" / "report.md").is_file()
    again = command(capfd)("fuzz", FAULTY.name, "--examples", "20", "--seed", "1", "--json", "--workers", "2")
    assert again.stdout == done.stdout
    assert command(capfd)("run", path).returncode == 1
    sound = command(capfd)("fuzz", SOUND.name, "--examples", "20", "--quiet")
    assert sound.returncode == 0
    assert "PASS" in sound.stderr


def test_a_finding_in_a_file_of_the_user_can_be_run_where_it_is_saved(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def add(a: int) -> str:\n    raise ValueError('no')\n")
    done = command(capfd)("fuzz", "mine.py:add", "--examples", "4", "--json", "--quiet")
    (path,) = {finding["scenario"] for finding in orjson.loads(done.stdout)["findings"]}
    ran = command(capfd)("run", path)
    assert ran.returncode == 1
    assert "add raised ValueError: no" in ran.stderr + ran.stdout


@pytest.mark.parametrize("words", [("nothing",), ("builtin", "--without", "x"), ("builtin", "--oracle", "no.such:x")])
def test_bad_input_is_one_line(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    done = command(capfd)("fuzz", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("harness: ")
    assert done.stderr.count("\n") == 1
