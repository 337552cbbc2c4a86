"""What recorders and saved runs write holds no secret, on every path that writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.cassette.dialects.vcrpy import VcrpyWriter
from harness.cassette.own import CassetteWriter
from harness.cassette.scrubbing import Scrubber, recordable
from harness.trace.folder import load_run, save_run
from harness.trace.run import Lane, Run
from harness.wire.exchange import Exchange, Request, Response

CHAT = "https://models.example/v1/chat/completions"
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
PASSWORD = "fern-" + "and-moss-7"
SECRETS = (KEY, PASSWORD, "session-of-me", "org-of-me", "org-" + "Q1w2E3r4T5y6U7i8")


def leaking() -> Exchange:
    """Every place in which a recorder has left a secret: headers of both sides and any case, URL, bodies."""
    request = Request(
        "POST",
        f"{CHAT}?api-key={KEY}",
        (("Authorization", f"Bearer {KEY}"), ("COOKIE", "id=session-of-me"), ("accept", "*/*"), ("User-Agent", "x")),
        json.dumps({"messages": [{"role": "user", "content": f"use {KEY}"}], "password": PASSWORD}).encode(),
    )
    events = [
        {"choices": [{"index": 0, "delta": {"content": part}}]} for part in (f"It is {KEY[:9]}", KEY[9:30], KEY[30:])
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + f": {SECRETS[-1]}\n\ndata: [DONE]\n\n"
    headers = (
        ("set-Cookie", "id=session-of-me; Path=/"),
        ("OPENAI-ORGANIZATION", "org-of-me"),
        ("content-type", "text/event-stream"),
    )
    return Exchange(request, Response(200, headers, stream.encode()))


def by_vcrpy(path: Path) -> bytes:
    writer = VcrpyWriter(path)
    writer.add(leaking())
    writer.add(leaking())
    return path.read_bytes()


def by_own(path: Path) -> bytes:
    path = path.with_suffix(".cassette.jsonl")
    with CassetteWriter(path) as writer:
        writer.add(leaking())
        writer.add(leaking())
    return path.read_bytes()


def by_run(path: Path) -> bytes:
    lane = Lane("main", [], "answered", KEY, f"password={PASSWORD}")
    note = {"event": "note", "api_key": KEY}
    run = Run("n", "scenario", "s", lanes=[lane], exchanges=[leaking()], events=[note], facts={"text": KEY})
    save_run(run, path)
    load_run(path)
    return b"".join(file.read_bytes() for file in sorted(path.iterdir()))


@pytest.mark.parametrize("save", [by_vcrpy, by_own, by_run])
def test_h06_every_save_path_scrubs(save: Callable[[Path], bytes], tmp_path: Path) -> None:
    content = save(tmp_path / "session")
    for secret in SECRETS:
        assert secret.encode() not in content
    assert KEY[:12].encode() not in content
    assert b"<openai-key-1>" in content
    assert b"<openai-key-2>" not in content


def test_h05_headers_of_both_sides_whatever_their_case_urls_and_bodies(tmp_path: Path) -> None:
    path = tmp_path / "session.yaml"
    VcrpyWriter(path).add(leaking())
    (loaded,) = load_cassette(path).exchanges
    assert loaded.request.headers == (("accept", "*/*"),)
    assert loaded.response.headers == (("content-type", "text/event-stream"),)
    assert loaded.request.url == f"{CHAT}?api-key=<openai-key-1>"
    assert loaded.request.json() == {
        "messages": [{"role": "user", "content": "use <openai-key-1>"}],
        "password": "<password-1>",
    }
    assert loaded.turn().content == "It is <openai-key-1>"


def test_a_recorder_that_goes_on_with_a_file_gives_no_placeholder_twice(tmp_path: Path) -> None:
    path = tmp_path / "session.cassette.jsonl"
    for secret in (KEY, KEY[::-1].replace("-jorp-ks", "") + PASSWORD):
        body = json.dumps({"api_key": secret}).encode()
        with CassetteWriter(path) as writer:
            writer.add(Exchange(Request("POST", CHAT, (), body), Response(200, (), b"{}")))
    first, second = (exchange.request.json()["api_key"] for exchange in load_cassette(path).exchanges)
    assert (first, second) == ("<openai-key-1>", "<api-key-1>")
    with CassetteWriter(path) as writer:
        writer.add(Exchange(Request("POST", CHAT, (), b'{"api_key": "other"}'), Response(200, (), b"{}")))
    assert load_cassette(path).exchanges[2].request.json() == {"api_key": "<api-key-2>"}


def test_a_writer_takes_the_users_own_patterns(tmp_path: Path) -> None:
    exchange = Exchange(Request("POST", CHAT, (), b'{"a": "PLANT-7"}'), Response(200, (), b"{}"))
    for number, writer in enumerate((VcrpyWriter, CassetteWriter)):
        path = tmp_path / f"{number}.cassette.jsonl"
        writer(path, scrubber=Scrubber([r"PLANT-\d+"])).add(exchange)
        assert b"PLANT-7" not in path.read_bytes()
        assert b"<secret-1>" in path.read_bytes()


def test_what_needs_no_scrubbing_is_equal_to_what_it_was() -> None:
    exchange = Exchange(Request("POST", CHAT, (("accept", "a"),), b'{"a":  1}'), Response(200, (), b"data: x\n\n"))
    assert recordable(exchange, Scrubber()) == exchange
