from __future__ import annotations

from typing import Any

import orjson

from harness.measure.spending import KINDS, spending_of
from harness.report.html.texts import Texts
from harness.report.html.timeline import run_document
from harness.trace.run import Lane, Run
from tests.report.html.runs import call, step, two_step_run


def drawn(run: Run) -> tuple[dict[str, Any], list[Any]]:
    texts = Texts(100)
    document = run_document(run, spending_of(run), texts)
    return document, texts.document(100_000)


def test_batches_gates_truncations_faults_and_drift_stand_at_their_step() -> None:
    document, texts = drawn(two_step_run())
    [lane] = document["lanes"]
    first, second = lane["steps"]
    assert first["batches"] == [[True, [0, 1]], [False, [2]]]
    read, cut, refused = first["calls"]
    assert read["gates"] == [["permission", "allow", "reads"]]
    assert cut["cuts"] == [[1, 60000, 51200]]
    assert texts[cut["full"]] == "whole"
    assert (refused["executed"], refused["code"]) == (False, "ACCESS_DENIED")
    assert refused["gates"][0][:2] == ["permission", "deny"]
    assert first["events"] == ["fault: fault status=429, what refused once"]
    [drift] = second["drift"]
    assert (drift["class"], drift["allowed"]) == ("history", True)
    assert texts[drift["recorded"]] == "same\nold line\nsame"
    assert texts[drift["present"]] == "same\nnew line\nsame"
    assert [texts[note] for note in second["notes"]] == ["a note"]


def test_messages_stand_where_they_were_said_once() -> None:
    document, texts = drawn(two_step_run())
    first, second = document["lanes"][0]["steps"]
    assert [(entry["role"], texts[entry["text"]]) for entry in first["before"]] == [("user", "Read three files.")]
    assert [(entry["role"], texts[entry["text"]]) for entry in second["before"]] == [("user", "On.")]
    assert texts[second["text"]] == "All done."


def test_the_tools_of_a_run_are_kept_once_and_its_prompts_are_counted() -> None:
    document, texts = drawn(two_step_run())
    [tools] = document["tools"]
    assert tools["names"] == ["Read"]
    assert orjson.loads(texts[tools["text"]])["function"]["description"] == "Reads."
    first, second = document["lanes"][0]["steps"]
    assert first["tools"] == second["tools"] == 0
    counted = dict(zip(KINDS, first["tokens"], strict=False))
    assert counted["tools"] > 0
    assert counted["user"] > 0
    assert sum(second["tokens"][: len(KINDS)]) > sum(first["tokens"][: len(KINDS)])
    assert first["usage"] == [100, None, 7]


def test_imported_steps_bring_their_messages_along() -> None:
    said = ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]},)
    only = step(0, (call(1, None, executed=False, status="missing"),), exchange=None, before=said, duration_s=1.5)
    run = Run("r", "imported", "s", [Lane("main", [only], "answered", after=({"role": "user", "content": "bye"},))])
    document, texts = drawn(run)
    [lane] = document["lanes"]
    assert texts[lane["steps"][0]["before"][0]["text"]] == "a\n(image_url, 38 characters as JSON)"
    assert lane["steps"][0]["batches"] == [[False, [0]]]
    assert lane["steps"][0]["seconds"] == 1.5
    assert "tokens" not in lane["steps"][0]
    assert texts[lane["after"][0]["text"]] == "bye"


def test_a_miss_stands_behind_the_last_step() -> None:
    run = two_step_run()
    run.lanes[0].outcome = "miss"
    run.events.append({"lane": "main", "step": 2, "event": "miss", "text": "no answer\n  recorded: a\n  now: b"})
    document, texts = drawn(run)
    assert texts[document["lanes"][0]["miss"]].startswith("no answer")
