"""What the answers of a user's function mean, and that it is loaded once."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.judge.functions import BrokenCheckError, Functions

OWN = """
loaded = []
loaded.append(1)

def answers(subject):
    return subject

def asserts(subject):
    assert subject, "it is empty"

def counts(subject):
    loaded.append(1)
    return f"{len(loaded)}"
"""


@pytest.fixture
def functions(tmp_path: Path) -> Functions:
    (tmp_path / "own.py").write_text(OWN, "utf-8")
    return Functions(tmp_path)


@pytest.mark.parametrize(
    ("answer", "objection"),
    [
        (True, ""),
        (None, ""),
        (False, "own.py:answers says no"),
        ("because", "because"),
        ("", "own.py:answers says no, and not why"),
    ],
)
def test_what_an_answer_means(functions: Functions, answer: object, objection: str) -> None:
    assert functions.objection("own.py:answers", answer) == objection


def test_an_assertion_is_an_objection_with_its_text(functions: Functions) -> None:
    assert functions.objection("own.py:asserts", [1]) == ""
    assert functions.objection("own.py:asserts", []) == "it is empty"


@pytest.mark.parametrize("answer", [0, 1, [], {"ok": True}])
def test_another_answer_judges_nothing(functions: Functions, answer: object) -> None:
    with pytest.raises(BrokenCheckError, match="it gives True, False, None or the reason as text"):
        functions.objection("own.py:answers", answer)


def test_an_error_judges_nothing_and_is_named_with_its_line(functions: Functions) -> None:
    with pytest.raises(BrokenCheckError, match=r"raised TypeError: .* \(own.py:9\)"):
        functions.objection("own.py:asserts", _NoTruth())


def test_a_function_is_loaded_once(functions: Functions) -> None:
    assert [functions.objection("own.py:counts", None) for _ in range(3)] == ["2", "3", "4"]


class _NoTruth:
    def __bool__(self) -> bool:
        raise TypeError("no truth")
