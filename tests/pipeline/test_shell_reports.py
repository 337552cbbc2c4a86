"""The bug reports about commands: each entry's commands, and the answer that the report asks for."""

from __future__ import annotations

import pytest

from harness.pipeline.decision import Decision
from harness.pipeline.shell import classify_command


@pytest.mark.parametrize(
    "command",
    [
        "git status && rm -rf x",
        "git status; rm -rf x",
        "git status | xargs rm",
        "git status &\nrm -rf x",
        "git status\nrm -rf x",
        "(rm -rf x)",
        "{ rm -rf x; }",
        "! rm -rf x",
        "if true; then rm -rf x; fi",
        "git log || rm -rf x",
        "git status |& rm -rf x",
    ],
)
def test_g07_a_compound_command_does_not_pass_on_its_first_word(command: str) -> None:
    assert classify_command(command).decision is Decision.DENY


@pytest.mark.parametrize(
    "command",
    [
        "git diff --output=/tmp/x",
        "git branch -D main",
        "git remote set-url origin x",
        "git -c core.pager='touch pwn' log",
        "git -c alias.st='!touch pwn' st",
        "git --exec-path=/tmp/evil status",
        "find . -delete",
        "find . -exec rm {} +",
        "find . -fprint out",
        "sort -o out in",
        "sed -n 'w out' in",
        "sed -i s/a/b/ f",
        "awk 'BEGIN{system(\"touch pwn\")}'",
        "tee out",
        "date -s 2030-01-01",
        "rg --pre ./evil x",
        "tar -tf a --to-command=sh",
        "less +!sh f",
        "man -P sh ls",
        "env touch pwn",
    ],
)
def test_g10_a_flag_makes_a_reading_command_one_that_writes_or_runs(command: str) -> None:
    assert classify_command(command).decision is not Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "git diff",
        "git branch",
        "git remote -v",
        "git -C a log",
        "find . -name x",
        "sort in",
        "sed -n 2p in",
        "awk '{print $1}' f",
        "date",
        "rg x",
        "tar -tf a",
        "env",
    ],
)
def test_g10_the_same_commands_without_the_flag_read(command: str) -> None:
    assert classify_command(command).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 rm x",
        "nohup rm x",
        "nice -n 5 rm x",
        "time rm x",
        "stdbuf -o0 rm x",
        "env A=1 sudo id",
        "setsid rm x",
        "doas rm x",
        "busybox rm x",
        "exec rm x",
    ],
)
def test_g12_harmless_wrappers_hide_nothing(command: str) -> None:
    assert classify_command(command).decision is Decision.DENY
