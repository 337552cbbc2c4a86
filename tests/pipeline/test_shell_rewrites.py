"""Ten thousand ways of writing commands that must not get through, and whether they are ways of writing them."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.decision import Decision
from harness.pipeline.shell import classify_command
from harness.pipeline.shell.rewrites import REWRITES, SHELL_ONLY, Rewrite, RewriteKind, Rewritten, rewrite, rewrites
from harness.pipeline.shell.table import shipped_table

DENIED = [
    "rm -rf x",
    "sudo id",
    "git reset --hard",
    "bash -c ls",
    "sh",
    "eval ls",
    "source x",
    "rm f",
    "unlink x",
    "su -c ls",
    "zsh x",
    "git -C a reset",
    "doas ls",
    "/bin/rm x",
    "dash x",
    "shred x",
]
CHANGING = [
    entry.command
    for entry in shipped_table()
    if entry.group in {"asked", "changing"} and re.fullmatch(r"\w[\w ./=:-]*", entry.command)
]
"""Simple commands of the table that change something or run what nobody has read."""


@pytest.mark.seed("X04")
def test_5000_rewrites_of_denied_commands_stay_denied() -> None:
    wrong = [
        (one.text, one.chain)
        for one in rewrites(DENIED, 5000, random.Random(4))
        if classify_command(one.text).decision is not Decision.DENY
    ]
    assert wrong == []


@pytest.mark.seed("X04", "X05")
def test_5000_rewrites_of_what_has_to_be_asked_for_are_never_allowed() -> None:
    assert len(CHANGING) > 200
    wrong = [
        (one.text, one.chain)
        for one in rewrites(CHANGING, 5000, random.Random(5))
        if classify_command(one.text).decision is Decision.ALLOW
    ]
    assert wrong == []


@settings(max_examples=150, deadline=None)
@given(command=st.sampled_from(DENIED), seed=st.integers(0, 2**32), contexts=st.integers(0, 4))
def test_a_denied_command_stays_denied_in_deeper_contexts_too(command: str, seed: int, contexts: int) -> None:
    program = command.split(maxsplit=1)[0] not in {"eval", "source"}
    one = rewrite(command, random.Random(seed), program=program, contexts=contexts)
    assert classify_command(one.text).decision is Decision.DENY, one


@pytest.mark.parametrize("one", REWRITES, ids=lambda one: f"{one.kind}: {one.name}")
def test_each_rewrite_keeps_a_denied_command_denied(one: Rewrite) -> None:
    for command in (name for name in DENIED if not (one.program and name.split()[0] in SHELL_ONLY)):
        text = one.apply(command, random.Random(1))
        assert classify_command(text).decision is Decision.DENY, text


def test_the_same_seed_gives_the_same_texts() -> None:
    first = list(rewrites(DENIED, 50, random.Random(7)))
    assert first == list(rewrites(DENIED, 50, random.Random(7)))
    assert first != list(rewrites(DENIED, 50, random.Random(8)))
    assert len({one.text for one in first}) > 45


def test_every_kind_takes_part() -> None:
    names = {one.name: one.kind for one in REWRITES}
    assert len(names) == len(REWRITES)
    used = {names[name] for one in rewrites(DENIED, 50, random.Random(7)) for name in one.chain}
    assert used == set(RewriteKind)
    unprogrammed = {name for one in rewrites(["eval ls"], 300, random.Random(7)) for name in one.chain}
    assert not unprogrammed & {one.name for one in REWRITES if one.program}


def _installed(one: Rewrite) -> bool:
    return not one.needs or shutil.which(one.needs) is not None


def _runs(text: str, folder: Path) -> bool:
    """Whether bash, given the text, runs the command ``touch ran`` in it."""
    folder.mkdir()
    (folder / "present").touch()
    # What runs in the background holds the pipe, so reading to its end waits for it.
    subprocess.run(
        ["bash", "-c", text], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    return (folder / "ran").exists()


def _chains(count: int) -> Iterator[Rewritten]:
    missing = {one.name for one in REWRITES if not _installed(one)}
    yield from (one for one in rewrites(["touch ran"], count, random.Random(3)) if not missing.intersection(one.chain))


def test_bash_runs_the_command_in_every_rewrite(tmp_path: Path) -> None:
    texts = [one.apply("touch ran", random.Random(1)) for one in REWRITES if _installed(one)]
    texts += [one.text for one in _chains(150)]
    wrong = [text for at, text in enumerate(texts) if not _runs(text, tmp_path / str(at))]
    assert wrong == []
    assert len(texts) > 200


_PIECES = [
    "echo",
    "echo a",
    "cat",
    "ls",
    "touch ran",
    "touch ran",
    "$(touch ran)",
    "`touch ran`",
    "'",
    "'",
    '"',
    '"',
    "\\",
    "\\\n",
    "\n",
    "\n",
    " ",
    " ",
    "#",
    ";",
    "&&",
    "|",
    "||",
    "&",
    "(",
    ")",
    "{",
    "}",
    "<<EOF",
    "<<'EOF'",
    "<<-EOF",
    "EOF",
    "\nEOF\n",
    "$",
    "${x",
    "}",
    "${x:-",
    "$((",
    "))",
    "<(",
    ">(",
    ">/dev/null",
    "2>&1",
    "[",
    "]",
    "[[",
    "]]",
    "-n",
    "x=",
    "if",
    "then",
    "fi",
    "for i in",
    "do",
    "done",
    "case x in",
    "esac",
    "x)",
    "!",
    "time",
    "$'",
    "\t",
    "f()",
    "<<<",
    "*",
    "~",
    "\\'",
    '\\"',
    "$x",
    '"$x"',
    "&>",
    "@(",
    "^",
    "coproc",
    "select",
    "while",
    "let",
    "printf %s",
    "test",
    "true",
]


def test_what_is_allowed_of_broken_and_odd_texts_writes_nothing_in_bash(tmp_path: Path) -> None:
    rng = random.Random(11)
    texts = [
        "".join(rng.choice(_PIECES) + rng.choice(["", "", " "]) for _ in range(rng.randint(3, 12))) for _ in range(9000)
    ]
    risky = [text for text in texts if "touch ran" in text]
    allowed = [text for text in risky if classify_command(text).decision is Decision.ALLOW]
    wrong = [text for at, text in enumerate(allowed) if _runs(text, tmp_path / str(at))]
    assert wrong == []
    assert len(allowed) > 3
