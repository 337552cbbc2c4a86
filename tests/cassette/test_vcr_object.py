"""The ready VCR object. Tests are named after the bug reports of family H that they answer."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI
from vcr import VCR
from vcr import patch as vcr_patch
from vcr.errors import CannotOverwriteExistingCassetteException

from harness.cassette.dialects import load_cassette
from harness.cassette.vcr import demand_interception, vcr
from harness.cassette.vcr.session import IncompleteReplayError
from harness.errors import InputError

ROOT = Path(__file__).parents[2]
VERSION = "harness.cassette.vcr.version"
KEY = "sk-proj-Zq81LmT04xVbN7Rk2Wd9Ys6Hc3Jf5Pg0Aa"
ANSWER = (
    b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop",'
    b'"message":{"role":"assistant","content":"hi"}}]}'
)


class Handler(BaseHTTPRequestHandler):
    """Answers everything, packed when asked under /gzip, with headers that must not be kept."""

    def do_GET(self) -> None:
        self.server.served += 1  # type: ignore[attr-defined]  # before the answer: who has it may look at once
        body = gzip.compress(ANSWER, mtime=0) if "gzip" in self.path else ANSWER
        self.send_response(200)
        if "gzip" in self.path:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", "application/json")
        self.send_header("SET-Cookie", "session=secret-cookie")
        self.send_header("OpenAI-Organization", "secret-org")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.served = 0  # type: ignore[attr-defined]
        thread = Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def url(server: Any) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def ask(url: str, text: str = "hello", retries: int = 0) -> str | None:
    with OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=retries, timeout=10) as client:
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content


def play(path: Path, url: str, *texts: str, fails: type[BaseException] | None = None, **options: Any) -> None:
    """Ask in a block; ``fails`` is what it ends with."""
    with vcr(**options).use_cassette(str(path)):
        for text in texts:
            ask(url, text)
        if fails is not None:
            raise fails


def swallowed(path: Path, url: str, *texts: str, fails: type[BaseException] | None = None) -> list[Exception]:
    """Ask in a block that goes on whatever happens."""
    seen: list[Exception] = []
    with vcr().use_cassette(str(path)):
        for text in texts:
            try:
                ask(url, text)
            except CannotOverwriteExistingCassetteException as error:
                seen.append(error)
        assert len(seen) == 3
        if fails is not None:
            raise fails
    return seen


def recorded(path: Path, url: str, *texts: str, **options: Any) -> Path:
    with vcr(record_mode="once", **options).use_cassette(str(path)):
        for text in texts or ("hello",):
            ask(url, text)
    return path


def test_h01_replay_opens_no_connection_and_answers_every_call(tmp_path: Path, server: Any, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url)
    served = server.served
    with vcr().use_cassette(str(path)) as played:
        assert ask(url) == "hi"
        assert played.play_count == 1
    assert server.served == served
    assert [file.name for file in tmp_path.iterdir()] == ["c.yaml"]
    assert load_cassette(path).chat_exchanges[0].turn().content == "hi"


@pytest.mark.parametrize(
    ("installed", "patchers"), [("8.1.0", ("httpx",)), ("9.4.2", ("httpx",)), ("8.9", ("httpx2",))]
)
def test_h01_it_refuses_where_vcrpy_does_not_see_the_client(
    monkeypatch: pytest.MonkeyPatch, installed: str, patchers: tuple[str, ...]
) -> None:
    real = metadata.version
    monkeypatch.setattr(VERSION, lambda name: installed if name == "vcrpy" else real(name))
    monkeypatch.setattr(vcr_patch, "PATCHER_NAMES", patchers)
    with pytest.raises(InputError) as caught:
        vcr()
    text = str(caught.value)
    assert f"vcrpy {installed} does not see httpx2 {real('httpx2')}, which openai {openai.__version__} uses" in text
    assert "pip install 'vcrpy>=9.4'" in text


def test_h01_without_httpx2_an_older_vcrpy_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VERSION, lambda name: "8.1.0")
    monkeypatch.setattr("harness.cassette.vcr.find_spec", lambda name: None)
    demand_interception()


def test_h01_a_missing_vcrpy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(VERSION, version)
    with pytest.raises(InputError, match="vcrpy is not installed"):
        vcr()


def test_h01_it_looks_whether_the_transport_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="skip_patchers"):
        vcr(skip_patchers=("httpx2",))
    monkeypatch.setattr(vcr_patch.CassettePatcherBuilder, "_httpx2", lambda self: ())
    with pytest.raises(InputError, match="has not replaced"):
        use(tmp_path / "c.yaml")
    assert not hasattr(httpx2.HTTPTransport.handle_request, "__wrapped__")


def test_h03_packed_bodies_stay_packed(tmp_path: Path, url: str) -> None:
    path = tmp_path / "c.yaml"
    with vcr(record_mode="once").use_cassette(str(path)), httpx2.Client() as client:
        assert client.get(f"{url}/gzip").content == ANSWER
    (exchange,) = load_cassette(path).exchanges
    assert gzip.decompress(exchange.response.body) == ANSWER
    assert dict(exchange.response.headers)["content-encoding"] == "gzip"
    with vcr().use_cassette(str(path)), httpx2.Client() as client:
        assert client.get(f"{url}/gzip").content == ANSWER
    for make in (lambda: vcr(decode_compressed_response=True), lambda: use(path, decode_compressed_response=True)):
        with pytest.raises(InputError, match="other bytes"):
            make()


def use(path: Path, **options: Any) -> None:
    with vcr().use_cassette(str(path), **options):
        pass


def test_h05_secrets_are_taken_out_on_both_sides_whatever_their_case(tmp_path: Path, url: str) -> None:
    path = tmp_path / "c.yaml"
    my_vcr = vcr(record_mode="once")
    with my_vcr.use_cassette(str(path)), httpx2.Client(headers={"AUTHORIZATION": f"Bearer {KEY}"}) as client:
        client.post(f"{url}/v1?api_key={KEY}", json={"note": f"use {KEY}"}, headers={"X-API-key": KEY})
    text = path.read_text("utf-8")
    for secret in (KEY, "secret-cookie", "secret-org", "user-agent"):
        assert secret not in text.lower().replace(KEY.lower(), KEY)
    assert "content-type" in text
    # With the secrets it had, the program still finds its answer.
    with vcr().use_cassette(str(path)), httpx2.Client(headers={"AUTHORIZATION": f"Bearer {KEY}"}) as client:
        assert client.post(f"{url}/v1?api_key={KEY}", json={"note": f"use {KEY}"}).content == ANSWER


def test_h05_hooks_of_the_user_run_before_and_do_not_switch_scrubbing_off(tmp_path: Path, url: str) -> None:
    path = tmp_path / "c.yaml"

    def put_secret(request: Any) -> Any:
        request.headers["authorization"] = "Bearer by-a-hook"
        return request

    def put_cookie(response: Any) -> Any:
        response["headers"]["Set-Cookie"] = ["by-a-hook"]
        return response

    options = {"before_record_request": put_secret, "before_record_response": [put_cookie]}
    with vcr(record_mode="once").use_cassette(str(path), **options):
        ask(url)
    assert "by-a-hook" not in path.read_text("utf-8")
    assert "secret" not in path.read_text("utf-8")


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all", "any"])
def test_h06_no_way_to_the_file_leads_around_the_scrubber(tmp_path: Path, url: str, mode: str) -> None:
    path = recorded(tmp_path / "c.yaml", url, "one", "two")
    with vcr(record_mode=mode).use_cassette(str(path), drop_unused_requests=True, allow_unused=True):
        ask(url, "one")
    text = path.read_text("utf-8")
    assert text.count("content: hi") + text.count('"content":"hi"') == 1
    for secret in (KEY, "secret-cookie", "secret-org"):
        assert secret not in text


def test_h09_asking_more_often_than_recorded_fails_and_says_so(tmp_path: Path, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url, "one", "one", "one")
    with pytest.raises(IncompleteReplayError, match="they have all been played back"):
        play(path, url, "one", "one", "one", "one")


def test_h09_asking_less_often_than_recorded_fails_and_says_so(tmp_path: Path, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url, "one", "two", "three")
    with pytest.raises(IncompleteReplayError, match="2 of 3 recorded answers"):
        play(path, url, "one")
    with vcr().use_cassette(str(path), allow_unused=True):
        ask(url, "one")
    play(path, url, "two", allow_unused=True)
    # What failed has its own reason; that then answers were left over is no news.
    with pytest.raises(ZeroDivisionError):
        play(path, url, "one", fails=ZeroDivisionError)


def test_h16_any_bytes_are_stored(tmp_path: Path, url: str) -> None:
    body = bytes.fromhex("7b2273223a22636166e9227d")
    path = tmp_path / "c.yaml"
    for mode in ("once", "none"):
        with vcr(record_mode=mode).use_cassette(str(path)), httpx2.Client() as client:
            client.post(f"{url}/v1", content=body)
    assert load_cassette(path).exchanges[0].request.body == body
    for make in (lambda: vcr(serializer="json"), lambda: use(path, serializer="json")):
        with pytest.raises(InputError, match="cannot store bytes"):
            make()


def test_h21_a_swallowed_miss_still_fails(tmp_path: Path, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url, "one")
    with pytest.raises(IncompleteReplayError) as caught:
        swallowed(path, url, "one", "other", "other", "other")
    text = str(caught.value)
    assert "a request had no recorded answer" in text
    assert '$.messages[0].content was recorded as "one" and is "other"' in text
    assert "2 more requests were not answered" in text


def test_h21_a_miss_outweighs_what_it_led_to(tmp_path: Path, server: Any, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url, "one")
    served = server.served
    with pytest.raises(IncompleteReplayError) as caught:
        play(path, url, "other")
    assert isinstance(caught.value.__cause__, CannotOverwriteExistingCassetteException)
    with pytest.raises(IncompleteReplayError):
        swallowed(path, url, "a", "b", "c", fails=ZeroDivisionError)
    with pytest.raises(KeyboardInterrupt):
        swallowed(path, url, "a", "b", "c", fails=KeyboardInterrupt)
    assert server.served == served


def test_h21_requests_match_by_their_meaning(tmp_path: Path, url: str) -> None:
    path = tmp_path / "c.yaml"
    json_type = {"content-type": "application/json"}
    with vcr(record_mode="once").use_cassette(str(path)), httpx2.Client() as client:
        client.post(f"{url}/v1", content=b'{"a":1,"b":[1.0,true]}', headers=json_type)
        client.post(f"{url}/v1", content=b"\xff1")
    with vcr(allow_unused=True).use_cassette(str(path)), httpx2.Client() as client:
        client.post(f"{url}/v1", content=b'{ "b": [1.0, true], "a": 1 }', headers=json_type)

    def miss(body: bytes) -> None:
        with vcr(allow_unused=True).use_cassette(str(path)), httpx2.Client() as client:
            client.post(f"{url}/v1", content=body)

    for body, what in (
        (b'{"a":1,"b":[1,true]}', r"\$\.b\[0\]"),
        (b'{"a":1,"b":[true,1.0]}', r"\$\.b\[0\]"),
        (b"\xff2", "2 in this request"),
        (b'{"a":1', "6 in this request"),
    ):
        with pytest.raises(IncompleteReplayError, match=what):
            miss(body)


def test_h23_a_failing_block_keeps_what_it_recorded_apart(tmp_path: Path, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url, "one")
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError):
        play(path, url, "two", fails=ZeroDivisionError, record_mode="new_episodes")
    assert path.read_bytes() == before
    partial = load_cassette(tmp_path / "c.yaml.partial")
    assert [one.request.json()["messages"][0]["content"] for one in partial.exchanges] == ["one", "two"]
    play(path, url, "two", record_mode="new_episodes")
    assert [file.name for file in tmp_path.iterdir()] == ["c.yaml"]
    assert len(load_cassette(path).exchanges) == 2
    with pytest.raises(ZeroDivisionError):
        play(path, url, "three", fails=ZeroDivisionError, record_mode="new_episodes", record_on_exception=True)
    assert len(load_cassette(path).exchanges) == 3


def test_h23_a_killed_program_loses_nothing_that_was_finished(tmp_path: Path, url: str) -> None:
    program = """
        import os, sys
        from harness.cassette.vcr import demand_interception, vcr
        from tests.cassette.test_vcr_object import ask
        with vcr(record_mode="once").use_cassette(sys.argv[1]):
            ask(sys.argv[2], "one")
            ask(sys.argv[2], "two")
            os._exit(9)
    """
    path = tmp_path / "c.yaml"
    command = [sys.executable, "-c", textwrap.dedent(program), str(path), url]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 9
    assert not path.exists()
    assert len(load_cassette(tmp_path / "c.yaml.partial").exchanges) == 2


def test_h25_a_second_process_is_refused_and_nothing_is_lost(tmp_path: Path, url: str) -> None:
    path = tmp_path / "c.yaml"
    program = """
        import sys
        from harness.cassette.vcr import demand_interception, vcr
        with vcr(record_mode="new_episodes").use_cassette(sys.argv[1]):
            pass
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(path)]
    with vcr(record_mode="new_episodes").use_cassette(str(path)):
        ask(url, "one")
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        ask(url, "two")
    assert done.returncode == 1
    named = f"process {os.getpid()}" if sys.platform == "linux" else "another process"
    assert f"{path}.lock: {named} is writing this file" in done.stderr
    assert len(load_cassette(path).exchanges) == 2
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    assert [file.name for file in tmp_path.iterdir()] == ["c.yaml"]


def test_h25_many_processes_may_replay_at_once(tmp_path: Path, url: str) -> None:
    path = recorded(tmp_path / "c.yaml", url)
    context = multiprocessing.get_context("spawn")
    with vcr().use_cassette(str(path)):
        with context.Pool(1) as pool:
            assert pool.apply(replayed, (str(path), url)) == "hi"
        ask(url)


def replayed(path: str, url: str) -> str | None:
    with vcr().use_cassette(path):
        return ask(url)


def test_it_is_a_vcr_and_decorates_functions(tmp_path: Path, url: str) -> None:
    recorded(tmp_path / "works", url)
    my_vcr = vcr(cassette_library_dir=str(tmp_path))
    assert isinstance(my_vcr, VCR)

    @my_vcr.use_cassette  # type: ignore[untyped-decorator]
    def works() -> str | None:
        return ask(url)

    @my_vcr.use_cassette(str(tmp_path / "works"))  # type: ignore[untyped-decorator]
    def misses() -> None:
        with pytest.raises(CannotOverwriteExistingCassetteException):
            ask(url, "other")

    assert works() == "hi"
    assert works() == "hi"
    with pytest.raises(IncompleteReplayError):
        misses()
