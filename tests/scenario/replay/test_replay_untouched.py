"""Exchanges that are no chat are played as bytes, alone in a cassette or beside a conversation."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cassette.cassette import Cassette
from harness.cassette.dialects.vcrpy import dump_vcrpy
from harness.errors import InputError
from harness.judge.suite import collect, judge_all
from harness.judge.verdict import Verdict
from harness.play.cassette_player import CassettePlayer
from harness.play.player import MissError
from harness.scenario.replay import replay_cassette
from harness.trace.folder import load_run
from harness.wire.exchange import Chunk, Headers, Request, Response
from tests.scenario.replay.recordings import JSON_HEADERS, cassette, judged, parallel

PACKED: Headers = (("Content-Encoding", "gzip"), ("Content-Type", "application/json"), ("Content-Length", "7"))
STREAM = b"event: message_start\ndata: {}\n\nevent: message_stop\ndata: {}\n\n"

# Requests of other APIs, a picture, a repeat with another answer, an error, nothing at all.
OTHERS = [
    (Request("POST", "<GARDEN_API_BASE>/responses", JSON_HEADERS, b'{"model":"m-1","input":"hi"}'),
     Response(200, PACKED, gzip.compress(b'{"output":[]}', mtime=0), reason="OK")),
    (Request("POST", "https://models.example/v1/messages", (), b'{"model":"m-1","stream":true}'),
     Response(200, (), STREAM, chunks=(Chunk(21, 0.1), Chunk(len(STREAM), 0.2)))),
    (Request("POST", "https://models.example/v1/messages", (), b'{"model":"m-1","stream":true}'),
     Response(529, JSON_HEADERS, b'{"error":{}}', reason="Überlastet")),
    (Request("GET", "https://files.example/fern.png#stream"),
     Response(200, (("X-Note", "grün \u2713"),), b"\x89PNG\xff\x00")),
    (Request("DELETE", "https://[HOST]/v1/files/1"), Response(204)),
]  # fmt: skip


def test_a_cassette_without_chat_is_played_byte_for_byte() -> None:
    case, replayed = judged(cassette(*OTHERS))
    assert (case.verdict, case.first_line) == (Verdict.PASS, "")
    assert [check.name for check in case.checks] == ["every other exchange played byte for byte"]
    assert (case.facts["exchanges"], case.facts["chat_exchanges"], case.facts["played_as_bytes"]) == (5, 0, 5)
    assert [exchange.response.body for exchange in replayed.run.exchanges] == [answer.body for _, answer in OTHERS]
    assert replayed.run.lanes == []


def test_beside_a_conversation_they_are_played_too() -> None:
    chat = [(exchange.request, exchange.response) for exchange in parallel().exchanges]
    case, replayed = judged(cassette(OTHERS[0], chat[0], OTHERS[3], chat[1]))
    assert case.verdict is Verdict.PASS
    assert (case.facts["chat_exchanges"], case.facts["played_as_bytes"], case.facts["steps"]) == (2, 2, 2)
    assert [step.exchange for step in replayed.run.lanes[0].steps] == [0, 1]
    assert [exchange.index for exchange in replayed.run.exchanges] == [0, 1, 2, 3]


Change = Callable[[Response], Response]


def _raise(_: Response) -> Response:
    raise MissError("no recorded answer\n  record again")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda answer: replace(answer, body=answer.body + b" ", chunks=()), "bytes were recorded, "),
        (lambda answer: replace(answer, body=answer.body[:-1], chunks=()), "and they differ"),
        (lambda answer: replace(answer, status=answer.status + 1), "the status was 200, 201 arrived"),
        (_raise, "not found again: no recorded answer"),
    ],
)
def test_what_does_not_arrive_as_recorded_fails(monkeypatch: pytest.MonkeyPatch, change: Change, words: str) -> None:
    answer = CassettePlayer.answer
    monkeypatch.setattr(CassettePlayer, "answer", lambda self, request: change(answer(self, request)))
    case, _ = judged(cassette(OTHERS[3]))
    assert case.verdict is Verdict.FAIL
    assert case.first_line.startswith("exchange 0: GET /fern.png: ")
    assert words in case.first_line
    assert case.checks[-1].message == "every other exchange played byte for byte: 0 of 1"


def test_an_empty_cassette_is_bad_input() -> None:
    with pytest.raises(InputError, match=r"greenhouse\.yaml: the cassette holds no exchange"):
        replay_cassette(Cassette(Path("greenhouse.yaml"), "vcrpy", ()), "greenhouse")


def test_the_saved_run_keeps_what_was_played(tmp_path: Path) -> None:
    path = tmp_path / "others.yaml"
    path.write_bytes(dump_vcrpy(cassette(*OTHERS).exchanges))
    (one,) = judge_all(collect([path], ["replay"]), tmp_path / "out")
    assert one.case.verdict is Verdict.PASS
    assert one.document["played_as_bytes"] == 5
    saved = load_run(Path(one.case.run_folder)).exchanges
    assert [exchange.response.body for exchange in saved] == [answer.body for _, answer in OTHERS]
