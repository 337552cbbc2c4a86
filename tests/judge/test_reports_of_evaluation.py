"""Family J of the public bug reports: an evaluation that says more than it has seen."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import InputError
from harness.judge.collecting import collect
from harness.judge.partial import UNFINISHED
from harness.judge.results import load_results
from harness.judge.suite import Outcome, judge_all, judge_suite
from harness.judge.verdict import Attribution, Case, Verdict, exit_code, overall
from harness.scenario.policy import ReplayPolicy
from tests.scenario.scenarios import ANSWER, READ_AND_ANSWER

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
LIVE = "  live: true\n"
NOTHING = "expect:\n  calls: []\n"


class _Answers(http.server.BaseHTTPRequestHandler):
    status = 400
    content = b'{"error": {"message": "the model does not exist"}}'

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint(status: int, content: object) -> Iterator[str]:
    """The base URL of an endpoint that answers everything alike."""
    handler = type("Handler", (_Answers,), {"status": status, "content": json.dumps(content).encode()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def message(text: str | None) -> dict[str, object]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def live(text: str, folder: Path, url: str) -> Case:
    """A scenario with its script taken away, put to a live endpoint."""
    head, rest = text.split("player:\n")
    path = folder / "live.yaml"
    path.write_text(head + "player:\n" + LIVE + "expect:\n" + rest.split("expect:\n")[1])
    (judged,) = judge_all(collect([path]), None, ReplayPolicy(endpoints={"scripted": url}))
    return judged.case


DO_NOTHING = ANSWER.split("expect:")[0] + NOTHING


@pytest.mark.parametrize("text", [ANSWER, READ_AND_ANSWER, DO_NOTHING], ids=["answer", "read", "do-nothing"])
def test_j01_an_endpoint_that_answers_400_passes_nothing(tmp_path: Path, text: str) -> None:
    with endpoint(400, {"error": {"message": "the model does not exist"}}) as url:
        case = live(text, tmp_path, url)
    assert (case.verdict, case.attribution) == (Verdict.ERROR, Attribution.PROVIDER)
    assert "1 with HTTP 400" in case.evidence
    assert exit_code(overall([case])) == 125


def _refusing(path: Path, folder: Path) -> Path | None:
    """A shipped scenario whose script is one refusal after the other."""
    text = path.read_text("utf-8")
    if "\n  script:" not in text or "\n  cassette:" in text:
        return None
    head, _, rest = text.partition("\n  script:")
    lines = rest.splitlines()
    after = next((at for at, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    script = "\n  script:\n    - {error: {status: 400, message: the model does not exist}, repeat: 60}\n"
    copy = folder / path.relative_to(SCENARIOS)
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(head + script + "\n".join(lines[after:]) + "\n", "utf-8")
    return copy


def test_j01_no_shipped_scenario_passes_where_everything_is_refused(tmp_path: Path) -> None:
    copies = [_refusing(path, tmp_path) for path in sorted(SCENARIOS.rglob("*.yaml"))]
    paths = [copy for copy in copies if copy is not None]
    assert len(paths) > 15
    cases = [judged.case for judged in judge_all(collect([tmp_path]), None)]
    assert len(cases) >= len(paths)
    assert [case.path for case in cases if case.verdict is Verdict.PASS] == []


@pytest.mark.parametrize("content", [message(""), message(None), message("xyzzy 42"), {}, [], {"choices": []}])
def test_j01_empty_and_random_answers_pass_nothing(tmp_path: Path, content: object) -> None:
    with endpoint(200, content) as url:
        for text in (ANSWER, READ_AND_ANSWER):
            assert live(text, tmp_path, url).verdict is not Verdict.PASS


@pytest.mark.parametrize(
    "content", ["", "interactions: []\nversion: 1\n", '{"interactions": []}', "format: harness-cassette\n"]
)
def test_j01_an_empty_cassette_passes_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "empty.yaml").write_text(content)
    head, rest = ANSWER.split("player:\n")
    (tmp_path / "t.yaml").write_text(head + "player:\n  cassette: empty.yaml\nexpect:\n" + rest.split("expect:\n")[1])
    with pytest.raises(InputError, match=r"empty\.yaml"):
        judge_all(collect([tmp_path / "empty.yaml"], ["replay"]), None)
    cases = [judged.case for judged in judge_all(collect([tmp_path]), None)]
    assert cases
    assert Verdict.PASS not in {case.verdict for case in cases}


def test_j01_a_missing_file_passes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        collect([tmp_path / "missing.yaml"])
    (tmp_path / "t.yaml").write_text("prompt: x\nplayer: {cassette: missing.yaml}\nexpect: {final_text: x}\n")
    (judged,) = judge_all(collect([tmp_path]), None)
    assert (judged.case.verdict, judged.case.attribution) == (Verdict.ERROR, Attribution.SCENARIO)


def test_j03_a_dead_endpoint_a_wrong_model_and_a_good_one_do_not_look_alike(tmp_path: Path) -> None:
    with endpoint(200, message("Hello.")) as url:
        good = live(ANSWER, tmp_path, url)
    with endpoint(200, message("Good day.")) as url:
        bad = live(ANSWER, tmp_path, url)
    dead = live(ANSWER, tmp_path, url)  # nobody listens there any more
    assert (good.verdict, good.attribution) == (Verdict.PASS, None)
    assert (bad.verdict, bad.attribution) == (Verdict.FAIL, Attribution.MODEL)
    assert "final_text" in bad.evidence
    assert (dead.verdict, dead.attribution) == (Verdict.ERROR, Attribution.PROVIDER)
    assert dead.evidence
    documents = [case.document() for case in (good, bad, dead)]
    assert [document["attribution"] for document in documents] == [None, "model", "provider"]


@pytest.mark.parametrize(
    ("text", "verdict", "whose"),
    [
        (ANSWER.replace("final_text: Hello", "final_text: Bye"), Verdict.FAIL, Attribution.AGENT),
        (ANSWER.split("expect:")[0], Verdict.INCONCLUSIVE, Attribution.SCENARIO),
        (ANSWER.replace("final_text:", "final_txt:"), Verdict.ERROR, Attribution.SCENARIO),
        ("agent: {python: 'no_such_module:run'}\n" + ANSWER, Verdict.ERROR, Attribution.AGENT),
        (READ_AND_ANSWER.replace("    - text: It", "    - text: It\n    - text: It"), Verdict.FAIL, Attribution.AGENT),
        (ANSWER.replace("- text: Hello.", "- text: Hello.\n      cut: true"), Verdict.FAIL, Attribution.PROVIDER),
    ],
)
def test_j03_what_did_not_pass_says_whose_doing_it_is(
    tmp_path: Path, text: str, verdict: Verdict, whose: Attribution
) -> None:
    (tmp_path / "t.yaml").write_text(text)
    (judged,) = judge_all(collect([tmp_path]), None)
    assert (judged.case.verdict, judged.case.attribution) == (verdict, whose), judged.case
    assert judged.case.evidence


def test_j03_an_error_inside_the_harness_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("this must not happen")

    monkeypatch.setattr("harness.judge.one_case.run_scenario", broken)
    (tmp_path / "t.yaml").write_text(ANSWER)
    (judged,) = judge_all(collect([tmp_path / "t.yaml"]), None)
    assert (judged.case.verdict, judged.case.attribution) == (Verdict.ERROR, Attribution.HARNESS)
    assert "RuntimeError: this must not happen" in judged.case.evidence
    assert "Traceback" in judged.case.checks[0].details


REPORTED = """\
agent: {tools: [Read]}
workspace: {files: {a.txt: "alpha"}}
prompt: Is there an alpha?
player:
  script:
    - text: Sorry, something went wrong.
      calls: [{tool: Read, arguments: {path: a.txt}}]
    - text: Done.
expect:
"""


def test_j04_an_assertion_looks_where_it_says_and_says_where_it_looked(tmp_path: Path) -> None:
    """The agent acts by a call and not in words: a check of calls passes, one of the text names what it read."""
    (tmp_path / "calls.yaml").write_text(REPORTED + "  calls: [{tool: Read, arguments: {path: a.txt}}]\n")
    (tmp_path / "text.yaml").write_text(REPORTED + "  final_text: {contains: alpha}\n")
    calls, text = (judged.case for judged in judge_all(collect([tmp_path]), None))
    assert calls.verdict is Verdict.PASS
    assert text.verdict is Verdict.FAIL
    (failed,) = [check for check in text.checks if check.verdict is Verdict.FAIL]
    assert (failed.name, failed.actual) == ("final_text", "Done.")
    assert "final_text" in text.first_line
    assert text.line == REPORTED.count("\n") + 1


def _interrupted_after(number: int, folder: Path, *, resume: bool = False) -> Outcome:
    seen: list[Case] = []

    def stop(case: Case) -> None:
        seen.append(case)
        if len(seen) == number:
            raise KeyboardInterrupt

    return judge_suite(collect([folder / "suite"]), folder / "out", resume=resume, on_case=stop)


def _suite(folder: Path, number: int = 6) -> None:
    (folder / "suite").mkdir()
    for count in range(number):
        (folder / "suite" / f"case-{count}.yaml").write_text(ANSWER)


def test_j06_what_was_judged_before_the_end_is_on_disk(tmp_path: Path) -> None:
    _suite(tmp_path)
    outcome = _interrupted_after(3, tmp_path)
    assert (outcome.interrupted, len(outcome.judged), outcome.collected) == (True, 3, 6)
    first, *rest = load_results(tmp_path / "out")
    assert (first.kind, first.verdict) == (UNFINISHED, Verdict.INCONCLUSIVE)
    assert [Path(case.path).name for case in rest] == ["case-0.yaml", "case-1.yaml", "case-2.yaml"]
    assert all((Path(case.run_folder) / "run.json").is_file() for case in rest)
    assert exit_code(overall([first, *rest])) == 125, "half a run is no pass, however good its half"


def test_j06_a_run_killed_in_the_middle_of_a_line_is_taken_up_again(tmp_path: Path) -> None:
    _suite(tmp_path)
    whole = [judged.case for judged in judge_all(collect([tmp_path / "suite"]), tmp_path / "out")]
    _interrupted_after(3, tmp_path)
    results = tmp_path / "out" / "results.jsonl"
    results.write_bytes(results.read_bytes()[:-40])
    (tmp_path / "suite" / "case-1.yaml").write_text(ANSWER + "# another file\n")
    judged: list[Case] = []
    outcome = judge_suite(collect([tmp_path / "suite"]), tmp_path / "out", resume=True, on_case=judged.append)
    assert outcome.resumed == 1, "of the three one was torn and one is of a file that has changed since"
    assert outcome.cases == whole
    assert not outcome.interrupted


def test_j06_what_could_not_be_judged_is_tried_again(tmp_path: Path) -> None:
    _suite(tmp_path, 3)
    (tmp_path / "suite" / "case-0.yaml").write_text("agent: {python: 'agent.py:run'}\n" + ANSWER)
    _interrupted_after(2, tmp_path)
    outcome = judge_suite(collect([tmp_path / "suite"]), tmp_path / "out", resume=True)
    assert outcome.resumed == 1
    assert [case.verdict for case in outcome.cases] == [Verdict.ERROR, Verdict.PASS, Verdict.PASS]
