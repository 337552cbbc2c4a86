"""Every statement of the seed documents has a test that carries its id."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

STATEMENTS = frozenset(
    f"{family}{number:02d}"
    for family, count in {
        "R": 9, "P": 9, "X": 7, "L": 5, "B": 8, "T": 6, "O": 6, "W": 10, "C": 3, "S": 3, "E": 3, "K": 2, "M": 3,
    }.items()
    for number in range(1, count + 1)
)  # fmt: skip


def marked() -> dict[str, list[str]]:
    """Statement ids to the tests that are marked with them, read from the sources."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.seed":
                    for argument in mark.args:
                        assert isinstance(argument, ast.Constant), f"{path}: {ast.unparse(mark)}"
                        found.setdefault(str(argument.value), []).append(f"{path.name}::{node.name}")
    return found


def test_every_statement_has_a_test() -> None:
    missing = sorted(STATEMENTS - marked().keys())
    assert missing == [], f"statements without a test: {', '.join(missing)}"


def test_no_test_names_a_statement_that_does_not_exist() -> None:
    assert sorted(marked().keys() - STATEMENTS) == []


@pytest.mark.corpus
def test_the_list_of_statements_is_the_seeds_own(shared_dir: Path) -> None:
    lines = (shared_dir / "seeds" / "statements.tsv").read_text("utf-8").splitlines()[1:]
    assert {line.split("\t")[0] for line in lines} == STATEMENTS
