"""Tests whose model API is a cassette, in every mode."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from tests.plugin.conftest import LOAD, Echo, Run

pytest_plugins = ["pytester"]

AGENT = """
import pytest
from openai import OpenAI

def say(text, **more):
    with OpenAI() as client:
        message = [{"role": "user", "content": text}]
        return client.chat.completions.create(model="m", messages=message, **more).choices[0].message.content
"""
ONE = f"""{AGENT}
@pytest.mark.cassette("one")
def test_one():
    assert say("Hello") == "You said: Hello"
"""
MISS = 'user message 1 changed (history at $.messages[0].content, exchange 1 of 1): "Hello" is now "Hullo"'


def failure(result: pytest.RunResult) -> list[str]:
    """The text of the only failure, without the title."""
    lines = [str(line) for line in result.outlines]
    titles = [number for number, line in enumerate(lines) if line.startswith("____")]
    assert len(titles) == 1, "\n".join(lines)
    rest = lines[titles[0] + 1 :]
    return rest[: next(number for number, line in enumerate(rest) if line.startswith("===="))]


def changed(pytester: pytest.Pytester, old: str, new: str) -> None:
    """Change the test file."""
    path = next(pytester.path.glob("test_*.py"))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_without_a_cassette_a_test_fails_and_says_how_to_record_it(
    pytester: pytest.Pytester, run: Run, upstream: str, echo: Echo
) -> None:
    pytester.makepyfile(test_a=ONE.replace("assert", "open('it-ran', 'w'); assert"))
    result = run(f"--cassette-upstream={upstream}")
    result.assert_outcomes(errors=1)
    assert failure(result)[0] == (
        "cassettes/one.cassette.jsonl: there is no such cassette "
        "(record it: pytest --cassette-mode=record --cassette-upstream URL)"
    )
    assert not (pytester.path / "it-ran").exists()
    assert not (pytester.path / "cassettes").exists()
    assert not echo.asked


def test_record_records_what_is_missing_and_plays_what_is_there(
    pytester: pytest.Pytester, run: Run, upstream: str, echo: Echo, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    cassette = pytester.path / "cassettes" / "one.cassette.jsonl"
    content = cassette.read_bytes()
    assert len(echo.asked) == 1
    recorded()
    run().assert_outcomes(passed=1)
    assert len(echo.asked) == 1
    assert cassette.read_bytes() == content
    assert sorted(cassette.parent.iterdir()) == [cassette]


@pytest.mark.parametrize("mode", ["record", "rewrite", "live"])
def test_nobody_is_contacted_who_was_not_named(pytester: pytest.Pytester, run: Run, mode: str) -> None:
    pytester.makepyfile(test_a=ONE)
    result = run(f"--cassette-mode={mode}")
    result.assert_outcomes(errors=1)
    assert failure(result)[0].startswith(f"cassettes/one.cassette.jsonl: the mode {mode} needs the API that answers")


def test_an_upstream_that_is_no_url_is_named(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_a=ONE)
    result = run("--cassette-mode=record", "--cassette-upstream=api.example.com")
    assert failure(result)[0].startswith("--cassette-upstream: 'api.example.com' is not the base URL of an API")


def test_rewrite_replaces_a_cassette_only_when_the_test_has_passed(
    pytester: pytest.Pytester, run: Run, upstream: str, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    cassette = pytester.path / "cassettes" / "one.cassette.jsonl"
    content = cassette.read_bytes()
    changed(pytester, 'say("Hello")', 'say("Hullo")')
    rewrite = ["--cassette-mode=rewrite", f"--cassette-upstream={upstream}"]
    run(*rewrite).assert_outcomes(failed=1)
    assert cassette.read_bytes() == content
    assert b"Hullo" in (cassette.parent / "one.cassette.jsonl.partial").read_bytes()
    changed(pytester, "You said: Hello", "You said: Hullo")
    result = run(*rewrite)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["recorded cassettes/one.cassette.jsonl: 1 exchanges"])
    assert sorted(cassette.parent.iterdir()) == [cassette]
    assert [b"Hullo" in exchange.request.body for exchange in load_cassette(cassette).exchanges] == [True]
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("after", ["def pytest_unconfigure(): pass", None])
def test_a_recording_is_not_kept_when_the_teardown_fails(
    pytester: pytest.Pytester, run: Run, upstream: str, after: str | None
) -> None:
    broken = "@pytest.fixture(autouse=True)\ndef broken():\n    yield\n    raise ValueError('teardown')\n"
    pytester.makepyfile(test_a=ONE + ("" if after else broken))
    run("--cassette-mode=record", f"--cassette-upstream={upstream}")
    assert (pytester.path / "cassettes" / "one.cassette.jsonl").exists() == bool(after)


def test_an_api_that_fails_is_no_recording(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_a=ONE.replace('assert say("Hello") ==', 'assert say("Hello", timeout=20) !='))
    changed(pytester, "OpenAI()", "OpenAI(max_retries=0)")
    changed(pytester, "    assert", "    with pytest.raises(Exception):\n        assert")
    result = run("--cassette-mode=record", "--cassette-upstream=http://127.0.0.1:9/v1")
    result.assert_outcomes(failed=1)
    assert "did not answer POST /v1/chat/completions" in failure(result)[0]
    assert not list((pytester.path / "cassettes").glob("*.jsonl"))


def test_a_test_that_asks_nothing_records_nothing_and_does_not_pass(
    pytester: pytest.Pytester, run: Run, upstream: str
) -> None:
    pytester.makepyfile(test_a=ONE.replace('assert say("Hello") == "You said: Hello"', "pass"))
    result = run("--cassette-mode=record", f"--cassette-upstream={upstream}")
    result.assert_outcomes(failed=1)
    assert failure(result)[0] == "INCONCLUSIVE: nobody sent a request"
    assert list((pytester.path / "cassettes").iterdir()) == []


def test_a_stream_that_is_left_at_its_last_event_is_recorded(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    test = """
        @pytest.mark.parametrize("number", range(8))
        @pytest.mark.cassette
        def test_stream(openai_client, number):
            question = [{"role": "user", "content": str(number)}]
            stream = openai_client.chat.completions.create(model="m", messages=question, stream=True)
            assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == f"You said: {number}"
    """
    pytester.makepyfile(test_a=f"{AGENT}\n{textwrap.dedent(test)}")
    recorded()
    run().assert_outcomes(passed=8)


def test_live_asks_the_api_itself_and_writes_nothing(
    pytester: pytest.Pytester, run: Run, upstream: str, echo: Echo
) -> None:
    pytester.makepyfile(test_a=f"{ONE}    import os\n    assert os.environ['OPENAI_BASE_URL'] == {upstream!r}\n")
    run("--cassette-mode=live", f"--cassette-upstream={upstream}").assert_outcomes(passed=1)
    assert len(echo.asked) == 1
    assert not (pytester.path / "cassettes").exists()


def test_a_miss_is_told_in_place_of_the_error_it_leads_to(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    changed(pytester, 'say("Hello")', 'say("Hullo")')
    result = run("-ra")
    result.assert_outcomes(failed=1)
    lines = failure(result)
    assert lines[0] == f"{MISS}; no recorded answer in one.cassette.jsonl for POST /v1/chat/completions"
    assert lines[1:3] == ['  recorded: "Hello"', '  now:      "Hullo"']
    assert lines[-1] == "  the test then ended with BadRequestError at test_a.py:11"
    result.stdout.fnmatch_lines(["FAILED test_a.py::test_one - Failed: user message 1 changed*"])
    result.stdout.no_fnmatch_line("*Traceback*")


SWALLOWED = [
    "    try:\n        say('Hullo')\n    except Exception:\n        {end}\n",
    (
        "    import threading\n    def quietly():\n        try:\n            say('Hullo')\n"
        "        except Exception: pass\n"
        "    thread = threading.Thread(target=quietly)\n    thread.start()\n    thread.join()\n    {end}\n"
    ),
]


@pytest.mark.parametrize(
    ("body", "end"),
    [
        *((SWALLOWED[0], end) for end in ("pass", "pytest.skip('sorry')", "pytest.xfail('known')", "assert False")),
        *((SWALLOWED[1], end) for end in ("pass", "raise SystemExit(0)")),
    ],
)
def test_a_miss_fails_the_test_whatever_the_agent_makes_of_it(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None], body: str, end: str
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    path = pytester.path / "test_a.py"
    path.write_text(path.read_text().partition("    assert")[0] + body.format(end=end))
    result = run()
    result.assert_outcomes(failed=1)
    assert failure(result)[0].startswith(MISS)


def test_a_miss_in_a_test_case_of_unittest(pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]) -> None:
    case = (
        'import unittest\nclass Case(unittest.TestCase):\n    @pytest.mark.cassette("one")\n    def test_one(self):\n'
    )
    pytester.makepyfile(test_a=f"{AGENT}{case}        self.assertIn('Hello', say('Hello'))\n")
    recorded()
    run().assert_outcomes(passed=1)
    changed(pytester, "say('Hello')", "say('Hullo')")
    assert failure(run())[0].startswith(MISS)
    changed(pytester, "self.assertIn('Hello', say('Hullo'))", "self.assertIn('Hello', 'nothing was asked')")
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * AssertionError: 'Hello' not found in 'nothing was asked'"])


def test_a_miss_in_a_fixture_is_told_too(pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]) -> None:
    fixture = "@pytest.fixture\ndef said():\n    return say('Hello')\n"
    body = '@pytest.mark.cassette("one")\ndef test_one(said):\n    assert said\n'
    pytester.makepyfile(test_a=AGENT + fixture + body)
    recorded()
    run().assert_outcomes(passed=1)
    changed(pytester, "say('Hello')", "say('Hullo')")
    result = run()
    result.assert_outcomes(errors=1)
    assert failure(result)[0].startswith(MISS)


def test_what_a_fixture_asks_behind_the_test_is_judged(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    fixture = "@pytest.fixture\ndef late():\n    yield\n    try:\n        say('Hullo')\n    except Exception: pass\n"
    pytester.makepyfile(test_a=ONE)
    recorded()
    path = pytester.path / "test_a.py"
    path.write_text(
        path.read_text().replace("@pytest.mark", f"{fixture}\n@pytest.mark").replace("_one()", "_one(late)")
    )
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    assert failure(result)[0].startswith(MISS)


def test_a_failure_of_the_test_itself_is_shown_as_always(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    changed(pytester, '== "You said: Hello"', '== "something else"')
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * AssertionError: assert 'You said: Hello' == 'something else'"])


def test_exchanges_that_nobody_asks_for_fail_the_test_or_are_noted(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=f"{ONE}    say('Goodbye')\n")
    recorded()
    changed(pytester, "    say('Goodbye')", "")
    result = run()
    result.assert_outcomes(failed=1)
    unused = "exchange 1 of one.cassette.jsonl was never asked for: the run is partial"
    assert failure(result)[0] == unused
    for settings in (["--cassette-unused=warn"], ["-o", "harness_cassette_unused=warn"]):
        result = run(*settings)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines([f"warning: test_a.py::test_one: {unused}"])
    assert run("-o", "harness_cassette_unused=maybe").ret != 0


def test_a_request_that_a_strict_server_refuses_fails_the_test_also_while_recording(
    pytester: pytest.Pytester, run: Run, upstream: str
) -> None:
    bad = "tools=[{'type': 'function', 'function': {'name': 'not a name', 'parameters': {'type': 'object'}}}]"
    pytester.makepyfile(test_a=ONE.replace('say("Hello")', f'say("Hello", {bad})'))
    result = run("--cassette-mode=record", f"--cassette-upstream={upstream}")
    result.assert_outcomes(failed=1)
    assert "tool_name" in failure(result)[0]


def test_the_environment_is_the_cassettes_and_then_what_it_was(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None], monkeypatch: pytest.MonkeyPatch, echo: Echo
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "verysecret" * 4)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intern.example")
    pytester.makepyfile(test_a=f"{ONE}    import os\n    print('key', os.environ['OPENAI_API_KEY'][:4])\n")
    recorded()
    assert ("authorization", "Bearer sk-" + "verysecret" * 4) in echo.asked[0].headers
    assert b"verysecret" not in (pytester.path / "cassettes" / "one.cassette.jsonl").read_bytes()
    result = run("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*key none*"])
    assert os.environ["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert os.environ["NO_PROXY"] == "intern.example"


@pytest.mark.parametrize("place", ["ini", "project"])
def test_what_the_user_calls_secret_is_in_no_cassette(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None], place: str
) -> None:
    if place == "ini":
        pytester.makeini("[pytest]\nharness_cassette_secrets =\n  PLANT-\\d+\n")
    else:
        pytester.makepyprojecttoml("[tool.pytest.ini_options]\n[tool.harness]\nsecrets = ['PLANT-\\d+']\n")
    pytester.makepyfile(test_a=ONE.replace("Hello", "Water PLANT-7"))
    recorded()
    assert b"PLANT-7" not in (pytester.path / "cassettes" / "one.cassette.jsonl").read_bytes()


IN_TMP_PATH = f"""{AGENT}
@pytest.mark.cassette("folder")
def test_folder(tmp_path):
    assert say(f"List {{tmp_path}}/src") == f"You said: List {{tmp_path}}/src"
"""


def test_the_folder_of_a_test_takes_the_place_of_the_recorded_one(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None], tmp_path: Path
) -> None:
    pytester.makepyfile(test_a=IN_TMP_PATH)
    recorded(f"--basetemp={tmp_path / 'first'}")
    cassette = load_cassette(pytester.path / "cassettes" / "folder.cassette.jsonl")
    assert cassette.workspace is not None
    assert cassette.workspace.startswith(str(tmp_path / "first"))
    run(f"--basetemp={tmp_path / 'second'}").assert_outcomes(passed=1)


def test_a_cassette_names_no_folder_that_it_does_not_need(
    pytester: pytest.Pytester, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    cassette = load_cassette(pytester.path / "cassettes" / "one.cassette.jsonl")
    assert (cassette.workspace, cassette.home) == (None, None)


OBJECT = f"""{AGENT}
@pytest.mark.cassette("two")
def test_two(cassette, openai_base_url, openai_client):
    assert openai_base_url == cassette.base_url == str(openai_client.base_url).rstrip("/")
    assert not cassette.requests
    left = len(cassette.unused)
    say("one")
    assert [request.json()["messages"][0]["content"] for request in cassette.requests] == ["one"]
    assert [exchange.response.status for exchange in cassette.exchanges] == [200]
    if cassette.mode == "replay":
        assert left == 2
        assert len(cassette.unused) == 1
        assert cassette.player.miss is None
        assert cassette.path.name == "two.cassette.jsonl"
    say("two")
    assert not cassette.unused
"""


def test_the_fixture_says_what_was_asked_and_what_is_left(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=OBJECT)
    recorded()
    run().assert_outcomes(passed=1)


def test_two_tests_of_one_cassette_have_each_their_place_in_it(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    again = ONE.partition("@pytest")
    pytester.makepyfile(test_a=ONE + (again[1] + again[2]).replace("test_one", "test_again"))
    recorded()
    run().assert_outcomes(passed=2)


def test_a_marker_without_a_name_names_the_test(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    marked = (
        "@pytest.mark.cassette\nclass TestSaying:\n    @pytest.mark.parametrize('text', ['a/b', 'c'])\n"
        "    def test_say(self, text):\n        assert text in say(text)\n"
    )
    pytester.makepyfile(test_a=AGENT + marked)
    recorded()
    names = sorted(path.name for path in (pytester.path / "cassettes" / "test_a").iterdir())
    assert names == ["TestSaying.test_say-a-b.cassette.jsonl", "TestSaying.test_say-c.cassette.jsonl"]
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize("suffix", [".yaml", ".cassette.jsonl"])
def test_the_suffix_says_the_dialect(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None], suffix: str
) -> None:
    pytester.makepyfile(test_a=ONE.replace('"one"', f'"one{suffix}"'))
    recorded()
    cassette = load_cassette(pytester.path / "cassettes" / f"one{suffix}")
    assert cassette.dialect == ("vcrpy" if suffix == ".yaml" else "harness")
    changed(pytester, f'"one{suffix}"', '"one"')  # a file of either kind is found
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "marker", ['cassette("a", "b")', 'cassette(name="a")', 'cassette("/a")', 'cassette("../a")', "cassette(7)"]
)
def test_a_marker_that_names_no_file_is_refused(pytester: pytest.Pytester, run: Run, marker: str) -> None:
    pytester.makepyfile(test_a=ONE.replace('cassette("one")', marker))
    result = run()
    result.assert_outcomes(errors=1)
    assert "takes one name" in failure(result)[0]


def test_the_fixture_without_the_marker_is_refused(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(test_a="def test_one(cassette): pass")
    result = run()
    result.assert_outcomes(errors=1)
    assert failure(result)[0] == (
        "test_a.py::test_one: the test asks for a cassette and names none (@pytest.mark.cassette(NAME))"
    )


def test_a_broken_cassette_and_a_torn_one_do_not_pass(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    cassette = pytester.path / "cassettes" / "one.cassette.jsonl"
    whole = cassette.read_bytes()
    cassette.write_bytes(whole + b'{"message":2,"va')
    result = run()
    result.assert_outcomes(failed=1)
    assert failure(result)[0].startswith("INCONCLUSIVE: ")
    cassette.write_bytes(b"{}\n" + whole)
    result = run()
    result.assert_outcomes(errors=1)
    assert "one.cassette.jsonl" in failure(result)[0]


def test_the_api_is_mounted_where_it_was_recorded(
    pytester: pytest.Pytester, run: Run, upstream: str, recorded: Callable[..., None]
) -> None:
    pytester.makepyfile(test_a=f"{ONE}    import os\n    print('mounted at', os.environ['OPENAI_BASE_URL'])\n")
    recorded()
    cassette = pytester.path / "cassettes" / "one.cassette.jsonl"
    cassette.write_bytes(cassette.read_bytes().replace(b"/v1/chat", b"/api/v2/chat"))
    result = run("-s")
    result.assert_outcomes(passed=1)
    result.stdout.re_match_lines([r".*mounted at http://127\.0\.0\.1:\d+/s/t1/api/v2$"])


def test_a_later_request_of_an_ended_test_is_answered_by_nobody(
    pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]
) -> None:
    late = (
        "def test_late():\n    with pytest.raises(Exception) as caught:\n"
        "        with OpenAI(base_url=URL, api_key='k', max_retries=0) as client:\n            client.models.list()\n"
        "    assert 'is over' in str(caught.value)\n"
    )
    keep = "    import os\n    globals()['URL'] = os.environ['OPENAI_BASE_URL']\n"
    pytester.makepyfile(test_a=ONE + keep + late)
    recorded("-k", "one")
    run().assert_outcomes(passed=2)


def test_expected_failures_stay_expected(pytester: pytest.Pytester, run: Run, recorded: Callable[..., None]) -> None:
    pytester.makepyfile(test_a=ONE)
    recorded()
    changed(pytester, 'say("Hello")', 'say("Hullo")')
    changed(pytester, "@pytest.mark.cassette", "@pytest.mark.xfail(strict=True)\n@pytest.mark.cassette")
    run().assert_outcomes(xfailed=1)


def test_a_suite_without_cassettes_imports_nothing_of_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
        import sys

        def test_imports():
            loaded = {name for name in sys.modules if name.startswith(("harness.", "openai", "pandas", "pydantic"))}
            names = ("pytest_plugin", "plugin", "plugin.settings", "plugin.scenarios")
            assert loaded == {f"harness.{name}" for name in names}
        """
    )
    pytester.makefile(".yml", docker="services: {}\n")
    if LOAD:
        pytester.makeini("[pytest]\naddopts = -p harness.pytest_plugin\n")
    result = pytester.run(sys.executable, "-m", "pytest", "-q")
    result.assert_outcomes(passed=1)
