"""The four words, the sentence, and the gate."""

from __future__ import annotations

import pytest

from harness.judge.conclusion import Conclusion, Evidence, conclude, gate, sentence
from harness.judge.verdict import Verdict


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence(40, 1, 12, 0.003, 0.2, 0.3), Conclusion.BETTER),
        (Evidence(40, 12, 1, 0.003, 0.2, 0.3), Conclusion.WORSE),
        (Evidence(40, 5, 5, 1.0, 0.24, 0.3), Conclusion.NO_DIFFERENCE),
        (Evidence(20, 6, 3, 0.5, 0.41, 0.3), Conclusion.TOO_FEW),
        (Evidence(20, 6, 3, 0.5, 0.41, 0.5), Conclusion.NO_DIFFERENCE),
        (Evidence(5, 0, 5, 0.0625, None, 1.0), Conclusion.TOO_FEW),
        (Evidence(6, 0, 6, 0.03125, 0.96, 0.3), Conclusion.BETTER),  # what is shown is shown
        (Evidence(6, 0, 0, 1.0, 0.9, 1.0, comparisons=3), Conclusion.TOO_FEW),  # 6 show nothing at 0.05 / 3
        (Evidence(0, 0, 0, 1.0, None, 0.3), Conclusion.TOO_FEW),
        (Evidence(40, 1, 12, 0.06, 0.2, 0.3, alpha=0.1), Conclusion.BETTER),
    ],
)
def test_what_follows_from_what(evidence: Evidence, expected: Conclusion) -> None:
    assert conclude(evidence) is expected
    text = sentence("old", "new", evidence)
    assert expected.split()[0] in text
    assert "old" in text
    assert "new" in text


def test_the_sentence_says_what_the_tasks_could_have_shown() -> None:
    text = sentence("old", "new", Evidence(1_200, 5, 7, 0.774, 0.04, 0.3))
    assert text == (
        "no difference between new and old is shown: 7 of 1,200 tasks only by new, 5 only by old, p = 0.774; "
        "so many show differences of 4 points or more"
    )
    assert "p = 3.0e-06" in sentence("old", "new", Evidence(90, 5, 60, 3e-6, 0.1, 0.3))
    assert sentence("old", "new", Evidence(0, 0, 0, 1.0, None, 0.3)).endswith("no task was judged for both")
    assert "1 task " in sentence("old", "new", Evidence(1, 0, 1, 1.0, None, 0.3))


@pytest.mark.parametrize(
    ("conclusions", "verdict"),
    [
        ([], Verdict.INCONCLUSIVE),
        ([Conclusion.BETTER, Conclusion.NO_DIFFERENCE], Verdict.PASS),
        ([Conclusion.BETTER, Conclusion.TOO_FEW], Verdict.INCONCLUSIVE),
        ([Conclusion.TOO_FEW, Conclusion.WORSE], Verdict.FAIL),
    ],
)
def test_the_gate(conclusions: list[Conclusion], verdict: Verdict) -> None:
    assert gate(conclusions) is verdict
