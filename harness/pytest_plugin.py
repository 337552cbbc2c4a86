"""The pytest plugin: scenario files as tests, and tests whose model API is a cassette (see docs/pytest.md).

What a run of tests does not need is not imported: a suite without a marked test and without scenarios costs nothing.
"""

# ruff: noqa: PLC0415  see above

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.plugin.settings import HOST, LEDGER, LEFT_OUT, MARKER, MODES, UNUSED, USE, WORKER_KEY

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from harness.fuzz.parts import FuzzReport
    from harness.plugin.use import CassetteUse

_SCENARIO_SUFFIXES = (".yaml", ".yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line, and settings of the configuration file, which they override."""
    group = parser.getgroup("harness", "model APIs from cassettes")
    group.addoption(
        "--cassette-mode",
        choices=MODES,
        default=MODES[0],
        help="replay: only from cassettes, the default; record: missing cassettes are recorded; rewrite: all are "
        "recorded anew; live: nothing is recorded",
    )
    group.addoption("--cassette-upstream", metavar="URL", help="the API's base URL for record, rewrite and live")
    group.addoption("--cassette-unused", choices=UNUSED, help="what a recorded exchange is that nobody asks for")
    parser.addini("harness_cassette_dir", "the folder of all cassettes; by default cassettes/ beside each test file")
    parser.addini("harness_cassette_upstream", "the API's base URL for record, rewrite and live")
    parser.addini("harness_cassette_unused", "fail (default) or warn: a recorded exchange that nobody asks for")
    parser.addini("harness_cassette_secrets", "regular expressions of what no cassette may hold", type="linelist")
    parser.addini("harness_scenarios", "off, or the folders in which scenarios are tests (default: all)", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"{MARKER}(name): the model API is played from this cassette; by default from one named as the test"
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server, if a test started it."""
    host = config.stash.get(HOST, None)
    if host is not None:
        host.close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A scenario file is a test; any other YAML is left alone."""
    if file_path.suffix not in _SCENARIO_SUFFIXES:
        return None
    from harness.plugin.scenarios import ScenarioFile, is_test

    named = parent.session.isinitpath(file_path)
    return ScenarioFile.from_parent(parent, path=file_path) if is_test(file_path, parent.config, named=named) else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Know which cassettes the tests name."""
    marked = [item for item in session.items if item.get_closest_marker(MARKER) is not None]
    if marked:
        from harness.plugin.ledger import ledger_of

        ledger_of(session.config).claim(marked, session.items)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Know that not all tests run."""
    if items:
        items[0].config.stash[LEFT_OUT] = True


@pytest.fixture(autouse=True)
def _harness_cassette(request: pytest.FixtureRequest) -> None:
    """A marked test is played from its cassette whether or not it asks for a fixture."""
    if request.node.get_closest_marker(MARKER) is not None:
        request.getfixturevalue("cassette")


@pytest.fixture
def cassette(request: pytest.FixtureRequest) -> Iterator[CassetteUse]:
    """The test's cassette in use: its ``base_url``, and what has been asked of it so far."""
    from harness.plugin.use import used_cassette

    with used_cassette(request) as use:
        yield use


@pytest.fixture
def fuzz_tools() -> Callable[..., FuzzReport]:
    """A function that fuzzes tools, a registry or an executor, and fails the test with what it finds."""
    from harness.fuzz.in_tests import demand_sound

    return demand_sound


@pytest.fixture
def openai_base_url(cassette: CassetteUse) -> str:
    """The base URL under which the test's cassette answers, for any client."""
    return cassette.base_url


@pytest.fixture
def openai_client(cassette: CassetteUse) -> Iterator[OpenAI]:
    """A client whose answers come from the test's cassette."""
    from openai import OpenAI

    with OpenAI(base_url=cassette.base_url, api_key=cassette.api_key) as client:
        yield client


@pytest.fixture
def async_openai_client(cassette: CassetteUse) -> AsyncOpenAI:
    """An asynchronous client whose answers come from the test's cassette, for any event loop."""
    from harness.plugin.clients import async_client

    return async_client(cassette.base_url, cassette.api_key)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """A miss in a fixture is told as what it is."""
    try:
        yield
    except BaseException as error:
        _tell_in_place_of(item, error)
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The test's verdict is also its cassette's."""
    try:
        result = yield
    except BaseException as error:
        _tell_in_place_of(item, error)
        raise
    if (use := item.stash.get(USE, None)) is not None:
        from harness.plugin.outcome import judge_ended

        judge_ended(item, use)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """A recording is kept when nothing of the test has failed."""
    result = yield
    if (use := item.stash.get(USE, None)) is not None:
        from harness.plugin.outcome import finish

        finish(item, use)
    return result


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker tells what its tests used; a run that stopped early did not come to all tests."""
    if session.shouldfail or session.shouldstop:
        session.config.stash[LEFT_OUT] = True
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        ledger = session.config.stash.get(LEDGER, None)
        left_out = session.config.stash.get(LEFT_OUT, False)
        output[WORKER_KEY] = [left_out, None if ledger is None else ledger.document()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker tells; one that has crashed tells nothing, so nothing is known of all tests."""
    left_out, document = getattr(node, "workeroutput", {}).get(WORKER_KEY, (True, None))
    if left_out:
        node.config.stash[LEFT_OUT] = True
    if document is not None:
        from harness.plugin.ledger import ledger_of

        ledger_of(node.config).merge(document)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """List what was recorded, and the cassettes that no test uses."""
    if config.stash.get(LEDGER, None) is not None:
        from harness.plugin.summary import print_summary

        print_summary(terminalreporter, exitstatus, config)


def _tell_in_place_of(item: pytest.Item, error: BaseException) -> None:
    """Raise what the cassette has to say in place of an error that may only be its consequence."""
    use = item.stash.get(USE, None)
    if use is not None and not isinstance(error, (KeyboardInterrupt, pytest.exit.Exception)):
        from harness.plugin.outcome import judge_failed

        judge_failed(item, use, error)
