"""Shell commands: what is denied, asked for and allowed, also for somebody who wants to get around it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.decision import Decision
from harness.pipeline.shell import MAX_LENGTH, classify_command, table
from harness.pipeline.shell.table import shipped_table


def differing(decision: Decision) -> dict[str, str]:
    """Entries of the table with this decision that are ruled otherwise, with the reason for that."""
    rulings = {
        entry.command: classify_command(entry.command) for entry in shipped_table() if entry.decision is decision
    }
    return {command: ruling.reason for command, ruling in rulings.items() if ruling.decision is not decision}


@pytest.mark.seed("X04")
def test_what_the_table_denies_is_denied() -> None:
    assert differing(Decision.DENY) == {}


@pytest.mark.seed("X05")
def test_what_the_table_asks_for_is_asked_for() -> None:
    assert differing(Decision.ASK) == {}


@pytest.mark.seed("X05")
def test_what_the_table_allows_is_allowed() -> None:
    assert differing(Decision.ALLOW) == {}


def test_the_reasons_of_the_table_are_the_reasons_given() -> None:
    wrong = [entry.command for entry in shipped_table() if entry.reason not in classify_command(entry.command).reason]
    assert wrong == []


def test_the_table_holds_hundreds_of_commands_of_each_decision_each_once() -> None:
    entries = shipped_table()
    assert len({entry.command for entry in entries}) == len(entries) >= 300
    assert all(sum(entry.decision is decision for entry in entries) >= 300 for decision in Decision)
    assert all(entry.reason for entry in entries)


def test_ordinary_reading_is_allowed() -> None:
    ordinary = [entry.command for entry in shipped_table() if entry.group == "ordinary"]
    allowed = [command for command in ordinary if classify_command(command).decision is Decision.ALLOW]
    assert len(ordinary) == 60
    assert len(allowed) / len(ordinary) >= 0.95
    named = {"ls -la src", "git status", "git log --oneline -5", "grep -rn x .", "cat a b | head"}
    assert named <= set(allowed)


def test_the_page_tells_the_tables_figures() -> None:
    entries = shipped_table()
    count = {decision: sum(entry.decision is decision for entry in entries) for decision in Decision}
    page = (Path(__file__).resolve().parents[2] / "docs" / "shell.md").read_text("utf-8")
    assert f"{len(entries):,} commands" in page
    assert f"{count[Decision.DENY]:,} DENY, {count[Decision.ASK]:,} ASK, {count[Decision.ALLOW]:,} ALLOW" in page
    assert all(f"`{group}`" in page for group in {entry.group for entry in entries})


def test_a_row_that_is_none_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "table.tsv"
    broken.write_text('decision\tgroup\tcommand\treason\nallow\treading\t"ls"\tls\nperhaps\tx\t"x"\tx\n', "utf-8")
    monkeypatch.setattr(table, "TABLE", broken)
    shipped_table.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"table\.tsv, line 3"):
            shipped_table()
    finally:
        shipped_table.cache_clear()


@pytest.mark.seed("X04", "X05")
@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("ls; rm -r build", ("rm", "removes files")),
        ("git -C a reset", ("git reset",)),
        ("mv a b", ("mv a b", "moves or renames")),
        ("sort -o out in", ("sort", "-o")),
        ("frobnicate x", ("frobnicate", "not known")),
        ("echo hi > out", ("writes to out",)),
        ("GIT_PAGER=x git log", ("GIT_PAGER",)),
    ],
)
def test_reason_names_command_and_cause(command: str, parts: tuple[str, ...]) -> None:
    reason = classify_command(command).reason
    assert all(part in reason for part in parts), reason


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=200), st.text(alphabet=st.characters(), max_size=50)))
def test_no_text_raises(command: str) -> None:
    assert classify_command(command).reason


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "ls",
                "rm",
                "$(",
                ")",
                "`",
                "'",
                '"',
                "{",
                "}",
                ";",
                "|",
                "&",
                "&&",
                "<<EOF",
                "EOF",
                "\n",
                "\\",
                "#",
                "[[",
                "]]",
                "((",
                "))",
                "if",
                "then",
                "fi",
                "case",
                "in",
                "esac",
                ">",
                "<",
                "x",
            ]
        ),
        max_size=25,
    )
)
def test_no_broken_syntax_raises(pieces: list[str]) -> None:
    assert classify_command(" ".join(pieces)).reason


@pytest.mark.parametrize("filler", ["a ", "ls;", "$(", "{ ", "'", "\0", "\ud800", "watch "])
def test_megabytes_are_not_allowed_and_hide_nothing(filler: str) -> None:
    assert classify_command(filler * (1_000_000 // len(filler))).decision is not Decision.ALLOW
    assert classify_command(f"rm x; {filler * MAX_LENGTH}").decision is Decision.DENY


def test_deep_nesting_does_not_raise() -> None:
    assert classify_command("$(" * 2000 + "rm x" + ")" * 2000).decision is Decision.DENY
    assert classify_command("nice " * 3000 + "rm x").decision is Decision.DENY


@pytest.mark.parametrize(
    "command", ["R\U0003ad58O\r{\U000de79f5", "\U0010ffff=1", "ls ${\U000e0001}", "<<\U0001f600\nx"]
)
def test_characters_beyond_the_grammars_tables_do_not_crash_it(command: str) -> None:
    for _ in range(20):
        assert classify_command(command).decision is Decision.ASK


def test_reason_shows_characters_as_they_were_written() -> None:
    assert "größe" in classify_command("mv größe x").reason


def test_threads_share_the_parser() -> None:
    commands = ["ls -la", "rm x", "mv a b"] * 50
    with ThreadPoolExecutor(8) as pool:
        decisions = [ruling.decision for ruling in pool.map(classify_command, commands)]
    assert decisions == [Decision.ALLOW, Decision.DENY, Decision.ASK] * 50


@pytest.mark.parametrize(
    "text",
    [
        "ls|" * 5000 + "ls",
        "x=$x$x;" * 2000 + "$x f",
        "X=aaaaaaaaaaaaaaaaaaaaaaaa;" + "${X#*a*b} " * 1000,
        "{a,b}" * 2000,
        "echo $((" + "a11+" * 3000 + "!x",
        "$(echo x | sed " + "s" * 15000 + ")",
        'f() { "$@"; };' + "f a;" * 1500,
        "case x in " * 1500,
        "${x:-" * 2000,
        "@(" * 5000,
        "cat <<A\n" * 1500,
        "watch 'watch " * 1000,
    ],
)
def test_long_hostile_texts_end(text: str) -> None:
    assert classify_command(text, lambda _: False).reason


def test_a_denied_command_is_found_behind_much_else() -> None:
    assert classify_command("X=rm;" * 2000 + "$X f").decision is Decision.DENY
    assert classify_command("env " * 400 + "$(echo rm) x").decision is Decision.DENY
    assert classify_command("echo rm x | xargs env;" * 300).decision is Decision.DENY


@pytest.mark.parametrize("unit", ["0", "1.", "-1", "a", " ", "<", ">", "1>"])
def test_a_run_of_one_thing_is_ruled_in_one_pass(unit: str) -> None:
    """Reading it again from each of its characters would take minutes."""
    assert classify_command(unit * 60_000 + "!").decision is Decision.ASK
    assert classify_command(unit * 4_000 + "!").decision is Decision.ASK


@pytest.mark.parametrize("name", ["rm", "sudo"])
@pytest.mark.parametrize("version", ["-1", "1.2", "-1.2.3", "12"])
def test_a_version_behind_a_denied_name_changes_nothing(name: str, version: str) -> None:
    assert classify_command(f"{name}{version} x").decision is classify_command(f"{name}9 x").decision
