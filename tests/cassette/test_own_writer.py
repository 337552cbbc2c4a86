"""Recording into the harness's own format: crashes, restarts, several writers."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.cassette import file_lock
from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.cassette.own import CassetteWriter, dump_cassette
from harness.cassette.scrubbing import Scrubber, recordable
from harness.errors import InputError
from harness.wire.exchange import Exchange
from tests.cassette.conversations import chat, sessions
from tests.cassette.test_own_format import NAME_OF_FILE, growing, user
from tests.cassette.test_vcrpy_writing import exchange

HEADER = b'{"format":"harness-cassette","version":1}\n'


def whole(path: Path, exchanges: list[Exchange], **folders: Any) -> bytes:
    return dump_cassette(Cassette(path, "harness", tuple(exchanges), **folders))


@pytest.fixture
def no_fsync() -> Iterator[None]:
    """Waiting for the disk is slow, and a simulated crash doesn't need it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def numbered(exchanges: list[Exchange]) -> tuple[Exchange, ...]:
    return tuple(replace(one, index=index) for index, one in enumerate(exchanges))


@pytest.mark.usefixtures("no_fsync")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), recorded=sessions().filter(bool))
def test_no_crash_torn_write_or_restart_loses_a_finished_exchange(
    tmp_path: Path, data: st.DataObject, recorded: list[Exchange]
) -> None:
    """A crash may come at any byte of the last write; some file systems leave zero bytes behind what was written."""
    path = tmp_path / NAME_OF_FILE
    path.unlink(missing_ok=True)
    kept = [recordable(one, Scrubber()) for one in recorded]
    finished = 0
    writer = CassetteWriter(path)
    while finished < len(recorded):
        before = path.read_bytes()
        writer.add(recorded[finished])
        after = path.read_bytes()
        assert after.startswith(before)
        if data.draw(st.booleans(), label="goes well"):
            finished += 1
            continue
        writer._close()  # as the end of the process does
        # The header is a write of its own, and it too may have been the one that was torn.
        start = 0 if not finished else len(before)
        cut = data.draw(st.integers(start, len(after)), label="written")
        path.write_bytes(after[:cut] + b"\0" * data.draw(st.sampled_from([0, 0, 1, 30]), label="zeros"))
        loaded = load_cassette(path)
        assert len(loaded.exchanges) in {finished, finished + 1}
        assert loaded.exchanges == numbered(kept[: len(loaded.exchanges)])
        whole_lines = {len(HEADER) - 1, len(HEADER), len(before), len(after) - 1, len(after)}
        assert bool(loaded.notes) == (cut not in whole_lines)
        finished = len(loaded.exchanges)
        writer = CassetteWriter(path)
        assert path.read_bytes() == whole(path, kept[:finished])
    writer.close()
    assert load_cassette(path).exchanges == numbered(kept)
    assert path.read_bytes() == whole(path, kept)


def test_after_each_exchange_the_file_is_a_whole_cassette(tmp_path: Path) -> None:
    path = tmp_path / "new" / NAME_OF_FILE
    recorded = growing(4)
    with CassetteWriter(path, "/w", "/home/kim") as writer:
        for count, one in enumerate(recorded, 1):
            writer.add(one)
            assert path.read_bytes() == whole(path, recorded[:count], workspace="/w", home="/home/kim")
    assert [file.name for file in path.parent.iterdir()] == [NAME_OF_FILE]


def test_a_killed_recorder_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    program = """
        import os, signal, sys
        from pathlib import Path
        from harness.cassette.own import CassetteWriter
        from tests.cassette.test_own_format import growing
        writer = CassetteWriter(Path(sys.argv[1]))
        for one in growing(3):
            writer.add(one)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), path], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL
    assert load_cassette(path).exchanges == numbered(growing(3))
    with CassetteWriter(path) as writer:
        writer.add(growing(4)[3])
    assert load_cassette(path).exchanges == numbered(growing(4))


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME_OF_FILE
    recorded = growing(3)
    with CassetteWriter(path) as writer:
        writer.add(recorded[0])
        write = os.write

        def full(descriptor: int, data: bytes) -> int:
            if len(data) < 50:
                raise OSError(errno.ENOSPC, "no space left")
            return write(descriptor, data[:50])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="no space"):
            writer.add(recorded[1])
        assert path.read_bytes() == whole(path, recorded[:1])
        monkeypatch.undo()
        writer.add(recorded[1])
        writer.add(recorded[2])
    assert path.read_bytes() == whole(path, recorded)


def test_an_exchange_that_cannot_be_stored_is_refused_and_the_next_one_kept(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    with CassetteWriter(path) as writer:
        odd = exchange()
        with pytest.raises(InputError, match="cannot be stored"):
            writer.add(replace(odd, request=replace(odd.request, url="\ud800")))
        writer.add(odd)
    assert len(load_cassette(path).exchanges) == 1


def test_writing_from_several_threads_loses_nothing(tmp_path: Path) -> None:
    with CassetteWriter(tmp_path / NAME_OF_FILE) as writer:
        threads = [threading.Thread(target=writer.add, args=(chat([user(str(n))]),)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    loaded = load_cassette(writer.path).exchanges
    assert sorted(int(one.request.json()["messages"][0]["content"]) for one in loaded) == list(range(20))


def test_secrets_and_the_client_version_do_not_reach_the_file(tmp_path: Path) -> None:
    with CassetteWriter(tmp_path / NAME_OF_FILE) as writer:
        writer.add(exchange(Authorization="Bearer secret", Set_Cookie="secret", User_Agent="volatile", Accept="a"))
    assert b"secret" not in writer.path.read_bytes()
    assert load_cassette(writer.path).exchanges[0].request.headers == (("Accept", "a"),)


def test_a_recording_gone_on_with_gives_no_placeholder_twice(tmp_path: Path) -> None:
    keys = [f"sk-proj-{letter}Zq81LmT04xVbN7Rk2Wd9Ys6Hc3Jf5Pg" for letter in "ab"]
    for key in keys:
        with CassetteWriter(tmp_path / NAME_OF_FILE) as writer:
            writer.add(chat([user(f"my key is {key}")]))
    text = writer.path.read_text("utf-8")
    assert not any(key in text for key in keys)
    assert "<openai-key-1>" in text
    assert "<openai-key-2>" in text


def test_two_writers_in_one_process(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    with CassetteWriter(path) as writer:
        writer.add(growing(1)[0])
        with pytest.raises(InputError, match=r"this process is writing this file.*one file for each worker"):
            CassetteWriter(path)
    with CassetteWriter(path):
        pass


def test_h25_a_second_process_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    program = (
        "import sys; from pathlib import Path; from harness.cassette.own import CassetteWriter\n"
        "CassetteWriter(Path(sys.argv[1]))"
    )
    with CassetteWriter(path) as writer:
        writer.add(growing(1)[0])
        done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    named = f"process {os.getpid()}" if sys.platform == "linux" else "another process"
    assert f"InputError: {path}: {named} is writing this file" in done.stderr
    assert len(load_cassette(path).exchanges) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_copy_of_a_writer_is_refused(tmp_path: Path) -> None:
    with CassetteWriter(tmp_path / NAME_OF_FILE) as writer:
        writer.add(growing(1)[0])
        context = multiprocessing.get_context("fork")
        answers: Any = context.Queue()

        def child() -> None:
            try:
                writer.add(growing(2)[1])
            except InputError as error:
                answers.put(str(error))

        process = context.Process(target=child)
        process.start()
        assert f"process {os.getpid()} opened this writer" in answers.get(timeout=30)
        process.join()
    assert len(load_cassette(writer.path).exchanges) == 1


def test_a_recording_without_exchanges_leaves_no_file(tmp_path: Path) -> None:
    with CassetteWriter(tmp_path / NAME_OF_FILE) as writer:
        assert writer.path.read_bytes() == HEADER
    assert not writer.path.exists()
    writer.path.write_bytes(HEADER)
    with CassetteWriter(writer.path):
        pass
    assert writer.path.read_bytes() == HEADER


def test_a_file_that_is_removed_while_it_is_opened_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME_OF_FILE
    removals = [True, True, False]
    real_lock = file_lock._lock

    def lock(descriptor: int) -> None:
        real_lock(descriptor)
        if not removals or removals.pop(0):
            path.unlink()

    monkeypatch.setattr(file_lock, "_lock", lock)
    with CassetteWriter(path) as writer:
        writer.add(growing(1)[0])
    assert len(load_cassette(path).exchanges) == 1
    with pytest.raises(InputError, match="all the time"):
        CassetteWriter(path)


def test_a_closed_writer_says_so(tmp_path: Path) -> None:
    writer = CassetteWriter(tmp_path / NAME_OF_FILE)
    writer.close()
    writer.close()
    with pytest.raises(InputError, match="the writer is closed"):
        writer.add(growing(1)[0])


def test_files_that_cannot_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    for data, what in (
        (b"\x1f\x8b....", "packed"),
        (b"interactions: []\n", "broken"),
        (HEADER + b"{}\n", "no known kind"),
        (HEADER.replace(b"1}", b'1,"workspace":"/other"}'), "its workspace is /other"),
        (HEADER, "its workspace is not known"),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=what):
            CassetteWriter(path, "/w")
        assert path.read_bytes() == data


def test_a_last_line_without_its_end_is_ended(tmp_path: Path) -> None:
    path = tmp_path / NAME_OF_FILE
    recorded = growing(2)
    path.write_bytes(whole(path, recorded[:1]).removesuffix(b"\n"))
    with CassetteWriter(path) as writer:
        writer.add(recorded[1])
    assert path.read_bytes() == whole(path, recorded)
