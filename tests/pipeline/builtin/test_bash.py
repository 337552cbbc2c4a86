from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.pipeline.builtin import BashTool, process
from harness.pipeline.builtin.bash import OUTPUT_BYTES, plain_text
from harness.pipeline.builtin.process import HeadAndTail
from harness.pipeline.result import ErrorCode, ToolResult, ToolStatus, serialize_tool_result
from harness.pipeline.workspace import Workspace

HANGS_S = 30
"""Less than the sleeps below, far more than any of these calls takes: over it, a call waited for a sleeper."""


@pytest.fixture
def bash(workspace: Workspace) -> BashTool:
    return BashTool(workspace, timeout_s=10)


def run(bash: BashTool, command: str, **more: Any) -> ToolResult:
    return bash.run({"command": command, **more})


def test_output_and_exit_code(bash: BashTool) -> None:
    result = run(bash, "echo hi")
    assert result.status is ToolStatus.SUCCESS
    assert result.data == {"exit_code": 0, "output": "hi\n"}
    assert result.stats == {"output_bytes": 3}
    assert "No output" in run(bash, "true").text


def test_the_alias_of_the_folder_is_understood_and_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    results = [
        run(BashTool(Workspace(root, alias="/workspace")), "cat /workspace/a.txt; pwd; echo ~")
        for root in (tmp_path, tmp_path / ".." / tmp_path.name)
    ]
    assert results[0].data["output"] == "alpha\n/workspace\n/workspace\n"
    assert results[0].stats == {"output_bytes": len("alpha\n/workspace\n/workspace\n")}
    assert results[0] == results[1]


def test_both_streams_in_order(bash: BashTool) -> None:
    result = run(bash, "for n in 1 2 3; do echo out$n; echo err$n >&2; done")
    assert result.data["output"] == "out1\nerr1\nout2\nerr2\nout3\nerr3\n"


def test_an_exit_code_is_an_error_with_its_output(bash: BashTool) -> None:
    result = run(bash, "echo partly; exit 3")
    assert result.error_code is ErrorCode.EXECUTION_ERROR
    assert result.data == {"exit_code": 3, "output": "partly\n"}
    assert "3" in result.text


def test_a_signal_is_named(bash: BashTool) -> None:
    result = run(bash, "kill -SEGV $$")
    assert result.data["exit_code"] == 139
    assert "SIGSEGV" in result.text


def test_it_runs_in_the_workspace_without_this_processs_secrets(
    bash: BashTool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("BASH_ENV", str(root / "profile"))
    (root / "profile").write_text("echo profile\n")
    output = run(bash, 'pwd; echo "$HOME"; env').data["output"]
    lines = output.splitlines()
    assert lines[:2] == [str(root.resolve())] * 2
    names = {line.partition("=")[0] for line in lines[2:]}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "TERM"}


def test_there_is_no_input(bash: BashTool) -> None:
    assert run(bash, "cat; read x || echo none").data["output"] == "none\n"


def test_a_command_that_looks_like_an_option(bash: BashTool) -> None:
    assert run(bash, "-x").data["exit_code"] == 127


@pytest.mark.parametrize(
    "arguments",
    [{}, {"command": ""}, {"command": " \n"}, {"command": "a\0b"}, {"command": "\ud800"}, {"command": "x" * 200_000}]
    + [{"command": "true", "timeout_s": value} for value in (0, -1, 601, "1", True, float("nan"), float("inf"))],
)
def test_bad_arguments(bash: BashTool, arguments: dict[str, Any]) -> None:
    assert bash.run(arguments).error_code is ErrorCode.INVALID_PARAM


def test_a_timeout_keeps_the_output_so_far(bash: BashTool) -> None:
    result = run(bash, "echo before; sleep 60; echo after", timeout_s=0.3)
    assert result.error_code is ErrorCode.TIMEOUT
    assert result.data == {"exit_code": None, "output": "before\n"}
    assert "0.3 s" in result.text


def test_a_timeout_ends_the_whole_group(bash: BashTool, root: Path) -> None:
    beat = "(while :; do echo x >> beat; sleep 0.02; done) & (trap '' TERM HUP; sleep 60) | cat"
    started = time.monotonic()
    assert run(bash, beat, timeout_s=0.3).error_code is ErrorCode.TIMEOUT
    assert time.monotonic() - started < HANGS_S
    size = (root / "beat").stat().st_size
    assert size > 0
    time.sleep(0.15)
    assert (root / "beat").stat().st_size == size


def test_a_timeout_counts_for_a_shell_that_closed_its_output(bash: BashTool) -> None:
    assert run(bash, "exec >/dev/null 2>&1; sleep 60", timeout_s=0.2).error_code is ErrorCode.TIMEOUT


def test_background_children_do_not_hang_it(bash: BashTool) -> None:
    started = time.monotonic()
    result = run(bash, "sleep 60 & echo done")
    assert time.monotonic() - started < HANGS_S
    assert result.status is ToolStatus.SUCCESS
    assert result.data["output"] == "done\n"
    assert "background" in result.text


def test_background_children_that_left_the_group_do_not_hang_it(bash: BashTool) -> None:
    started = time.monotonic()
    assert run(bash, "setsid sleep 60 & sleep 0.05; echo done").data["output"] == "done\n"
    assert time.monotonic() - started < HANGS_S


def test_background_children_end_with_the_call(bash: BashTool, root: Path) -> None:
    run(bash, "(while :; do echo x >> beat; sleep 0.02; done) >/dev/null 2>&1 & sleep 0.1")
    size = (root / "beat").stat().st_size
    time.sleep(0.15)
    assert (root / "beat").stat().st_size == size


def test_background_children_that_never_stop_writing(bash: BashTool) -> None:
    started = time.monotonic()
    assert run(bash, "yes & sleep 0.05").status is not ToolStatus.ERROR
    assert time.monotonic() - started < HANGS_S


def test_a_command_that_never_stops_writing_is_stopped_in_bounded_memory(bash: BashTool) -> None:
    result = run(bash, "echo first; yes", timeout_s=0.3)
    assert result.error_code is ErrorCode.TIMEOUT
    assert result.data["output"].startswith("first\ny\n")
    assert len(result.data["output"]) < OUTPUT_BYTES + 200


def test_a_stopped_command_does_not_outlive_its_time(bash: BashTool) -> None:
    assert run(bash, "kill -STOP $$", timeout_s=0.2).error_code is ErrorCode.TIMEOUT


@pytest.mark.parametrize(
    ("command", "timeout_s"), [("echo $$", 10.0), ("echo $$; sleep 60 & sleep 60", 0.3), ("echo $$; sleep 60 &", 10.0)]
)
def test_no_child_is_left_unreaped(bash: BashTool, command: str, timeout_s: float) -> None:
    shell = int(run(bash, command, timeout_s=timeout_s).data["output"])
    with pytest.raises(ChildProcessError):
        os.waitpid(shell, os.WNOHANG)


def test_an_interrupt_by_the_user_ends_the_group_and_goes_on_up(
    bash: BashTool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = process._Output.read
    seen = bytearray()

    def interrupted(output: process._Output, timeout_ms: float) -> bool:
        if read(output, timeout_ms):
            seen.extend(output.kept.ends()[0])
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(process._Output, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(bash, "(while :; do echo x >> beat; sleep 0.02; done) & echo $$; sleep 60")
    with pytest.raises(ChildProcessError):
        os.waitpid(int(seen), os.WNOHANG)
    size = beats(root)
    time.sleep(0.15)
    assert beats(root) == size


def beats(root: Path) -> int:
    return (root / "beat").stat().st_size if (root / "beat").exists() else 0


def test_no_open_file_of_this_process_is_passed_on(bash: BashTool, root: Path) -> None:
    with (root / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        assert run(bash, f"echo leaked >&{file.fileno()}").error_code is ErrorCode.EXECUTION_ERROR
    assert (root / "secret").read_text() == ""


def test_what_children_write_just_after_the_shell_is_kept(bash: BashTool) -> None:
    assert run(bash, "{ sleep 0.03; echo late; } & echo early").data["output"] == "early\nlate\n"


def test_f02_memory_is_bounded_and_both_ends_are_kept(bash: BashTool) -> None:
    result = run(bash, "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo 2 failed")
    assert result.status is ToolStatus.PARTIAL
    output = result.data["output"]
    assert output.startswith("first\n")
    assert output.endswith("\n2 failed\n")
    assert len(output) < OUTPUT_BYTES + 200
    assert result.stats["output_bytes"] == 20_000_000 + len("first\n\n2 failed\n")


def test_f09_output_that_is_not_utf8(bash: BashTool) -> None:
    result = run(bash, r"printf 'ok\xf0\xff\n\x00tail\x1b[31mred\n'")
    assert result.data["output"] == "ok\ufffd\ufffd\n\u2400tailred\n"
    observation = serialize_tool_result(result)
    assert yaml.safe_load(yaml.safe_dump(json.loads(observation))) == json.loads(observation)


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]0;title\x07x", "x"),
        (b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPdata\x1b\\x", "x"),
        (b"\x1b(Bx\x1b7y\x1b=z", "xyz"),
        (b"\x1b[?25lx\x1b[2K\r", "x\r"),
        (b"x\x1b", "x\u241b"),
        (b"\x1b[31", "31"),
        (b"a\tb\r\n\x07\x08\x7f", "a\tb\r\n\u2407\u2408\u2421"),
        ("é🙂".encode(), "é🙂"),
    ],
)
def test_f09_terminal_escapes(output: bytes, text: str) -> None:
    assert plain_text(output) == text


@given(st.binary(max_size=80))
def test_f09_nothing_uncontrolled_is_left(output: bytes) -> None:
    assert not set(plain_text(output)) & set(map(chr, [*range(9), 11, 12, *range(14, 32), 127]))


@given(st.lists(st.binary(max_size=12), max_size=20), st.integers(2, 30))
def test_head_and_tail_of_any_stream(chunks: list[bytes], limit: int) -> None:
    kept = HeadAndTail(limit)
    for chunk in chunks:
        kept.add(chunk)
    head, tail, dropped = kept.ends()
    whole = b"".join(chunks)
    assert len(head) + len(tail) <= limit
    assert whole == head + whole[len(head) : len(head) + dropped] + tail
    assert dropped == max(0, len(whole) - limit)


def test_a_workspace_that_is_gone(bash: BashTool, root: Path) -> None:
    root.rmdir()
    result = run(bash, "true")
    assert result.error_code is ErrorCode.EXECUTION_ERROR
    assert str(root) not in result.text
