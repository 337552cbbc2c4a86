"""Secrets are found however they are written, and nothing else is touched.

No key here is one: all are put together from alphabets.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import InputError
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response, decoded
from harness.wire.secrets import Scrubber, SecretFinder
from harness.wire.secrets.shapes import PLACEHOLDER
from harness.wire.secrets.stream import stream_edits

LETTERS = "a1B2c3D4e5F6g7H8i9J0"
UPPER = "A2B3C4D5E6F7G2H3"
CHAT = "https://models.example/v1/chat/completions"
SSE = (("content-type", "text/event-stream"),)

PEM = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + (LETTERS * 3 + "\n") * 4 + "-----END RSA PRIVATE " + "KEY-----"
HEAD = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
BODY = base64.urlsafe_b64encode(b'{"sub":"greenhouse"}').decode().rstrip("=")

SHAPED = {
    "openai-key": ["sk-" + LETTERS * 2, "sk-proj-" + LETTERS + "_x-" + LETTERS, "sk-" + "abcdefgh" * 6],
    "anthropic-key": ["sk-ant-" + "api03-" + LETTERS * 4],
    "github-token": ["ghp_" + LETTERS * 2, "github_pat_" + LETTERS + "_" + LETTERS],
    "aws-key": ["AKIA" + UPPER, "ASIA" + UPPER],
    "google-key": ["AIza" + LETTERS + "-_" + LETTERS],
    "slack-token": ["xoxb-" + "123456789012-" + LETTERS],
    "jwt": [f"{HEAD}.{BODY}.{LETTERS}", f"{HEAD}.{BODY}"],
    "organization": ["org-" + LETTERS],
    "project": ["proj_" + LETTERS],
    "private-key": [PEM],
}
ONES = [(kind, secret) for kind, secrets in SHAPED.items() for secret in secrets]
NAMED = {
    "AWS_SECRET_ACCESS_KEY=" + "ab/Cd+12" * 5: "ab/Cd+12" * 5,
    'api_key: "' + LETTERS + '"': LETTERS,
    "export DB_PASSWORD='Kj8#mP9!vL2'": "Kj8#mP9!vL2",
    "client-secret = " + LETTERS + ";": LETTERS,
    "Authorization: Bearer " + LETTERS: LETTERS,
    "curl -H 'authorization: bearer " + LETTERS + "'": LETTERS,
    "postgres://plants:" + LETTERS + "@db.example/x": LETTERS,
    "see https://x.example/a?b=1&sig=" + LETTERS + "%3D&c=2": LETTERS + "%3D",
    r"{\"password\": \"" + LETTERS + r"\"}, cut off here": LETTERS,
}
HARMLESS = [
    "task-management-and-risk-assessment-of-2024",
    "sk-toggleable__label-arrow { } sk-container-id-1",
    "the password: it must have 8 characters, api_key is required",
    "max_tokens=4096, token: str, tokens: 12345678",
    "api_key = os.environ['X'], api_key = settings.keys.openai1, password = hash_pw2(x), secret=${SECRET_1}",
    "Bearer authentication, Authorization: Bearer <token>, bearer $OPENAI_API_KEY",
    "http://127.0.0.1:8080/@here, https://example.org/?q=a&page=2, user@host:22",
    "private_key: /home/plants/.ssh/id_ed25519",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "chatcmpl-"
    + LETTERS
    + " call_"
    + LETTERS
    + " msg_"
    + LETTERS
    + " req_"
    + LETTERS
    + " fp_44709d6fcb toolu_"
    + LETTERS,
    "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 20).decode(),
    "org-mode is for outlines, xoxo-xoxo, proj_name",
    "grep for -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
]


@pytest.mark.parametrize(("kind", "secret"), ONES, ids=[f"{kind}-{at}" for at, (kind, _) in enumerate(ONES)])
@pytest.mark.parametrize("around", ["%s", "key: %s.", '"%s"', "X=%s\n", "(%s)", "https://%s@x", r"a line\n%s\n"])
def test_keys_are_known_by_their_shape(kind: str, secret: str, around: str) -> None:
    if kind == "private-key" and "@" in around:
        return
    text = around.replace("%s", secret)
    (found,) = SecretFinder().find(text)
    assert (found.kind, found.value) == (kind, secret)
    assert Scrubber().text(text) == around.replace("%s", f"<{kind}-1>")


@pytest.mark.parametrize(("text", "secret"), NAMED.items())
def test_others_by_what_stands_before_them(text: str, secret: str) -> None:
    assert [found.value for found in SecretFinder().find(text)] == [secret]
    assert secret not in Scrubber().text(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_one_stays(text: str) -> None:
    for written in (text, json.dumps({"content": text, "arguments": json.dumps({"text": text})})):
        assert Scrubber().text(written) == written


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("password", 'hun"ter\\2', "password"),
        ("userPassword", "1234", "password"),
        ("api_key", "abc", "api-key"),
        ("X-Api-Key", "abc", "api-key"),
        ("access_token", "abc123xyz", "token"),
        ("client_secret", "abc", "secret"),
        ("authorization", "abc", "secret"),
        ("private_key", PEM, "private-key"),
        ("passphrase", "correct horse battery staple", "password"),
        ("token", LETTERS, "token"),
    ],
)
def test_a_value_of_json_goes_by_its_key(key: str, value: str, kind: str) -> None:
    for ensure_ascii in (True, False):
        plain = json.dumps({"a": "ü", key: value, "b": [1, 2.50]}, ensure_ascii=ensure_ascii)
        expected = json.dumps({"a": "ü", key: f"<{kind}-1>", "b": [1, 2.50]}, ensure_ascii=ensure_ascii)
        assert Scrubber().text(plain) == expected
        inside = json.dumps({"arguments": plain, "list": {key: [value, value]}})
        scrubbed = json.loads(Scrubber().text(inside))
        assert scrubbed == {"arguments": expected, "list": {key: [f"<{kind}-1>"] * 2}}


@pytest.mark.parametrize(
    "document",
    [
        {"password": {"type": "string", "description": "The password"}, "required": ["password", "api_key"]},
        {"password": "", "api_key": None, "secret": "[REDACTED]", "client_secret": "**FILTERED**"},
        {"password": "must be at least 8 characters", "api_key": "${API_KEY}", "private_key": "~/.ssh/id_rsa"},
        {"logprobs": {"content": [{"token": " Hello", "logprob": -0.1, "bytes": [32]}]}, "next_page_token": LETTERS},
        {"usage": {"prompt_tokens": 12345678}, "signature": LETTERS * 9, "encrypted_content": LETTERS * 9},
    ],
)
def test_a_key_alone_is_no_secret(document: dict[str, Any]) -> None:
    assert Scrubber().text(json.dumps(document)) == json.dumps(document)


def test_a_key_in_escapes_is_found() -> None:
    secret = "sk-" + LETTERS * 2
    hidden = "".join(f"\\u{ord(character):04x}" for character in secret)
    assert Scrubber().text(f'{{"a": "x {hidden} y", "b": 1}}') == '{"a": "x <openai-key-1> y", "b": 1}'
    slashes = "ab\\/Cd12+" * 5
    assert Scrubber().text(f'{{"aws_secret_access_key":"{slashes}"}}') == '{"aws_secret_access_key":"<secret-1>"}'


def test_a_private_key_that_is_cut_off_and_numbered_goes_too() -> None:
    lines = PEM.splitlines()[:-1]
    numbered = "".join(f"{number:6}\t{line}\n" for number, line in enumerate(lines, 1))
    scrubbed = Scrubber().text(numbered + "     7\tsome other text\n")
    assert LETTERS not in scrubbed
    assert "some other text" in scrubbed


def test_the_same_secret_has_the_same_placeholder_and_others_have_others() -> None:
    first, second = "sk-" + LETTERS * 2, "sk-" + LETTERS[::-1] * 2
    scrubber = Scrubber()
    assert scrubber.text(f"{first} {second} {first}") == "<openai-key-1> <openai-key-2> <openai-key-1>"
    assert scrubber.text(json.dumps({"api_key": second})) == '{"api_key": "<openai-key-2>"}'
    assert scrubber.text(f"Bearer {first}") == "Bearer <openai-key-1>"
    assert scrubber.replaced == {"<openai-key-1>": 3, "<openai-key-2>": 2}
    assert first not in repr(scrubber.replaced)


def test_a_number_that_is_taken_is_not_given_again() -> None:
    scrubber = Scrubber()
    assert scrubber.text("<openai-key-2> and sk-" + LETTERS * 2) == "<openai-key-2> and <openai-key-3>"
    scrubber.reserve(b"x <password-7>")
    assert scrubber.text('{"password": "a"}') == '{"password": "<password-8>"}'


def test_the_users_own_patterns() -> None:
    scrubber = Scrubber([r"PLANT-\d+", r"bed (\w+)"])
    text = json.dumps({"arguments": json.dumps({"a": "PLANT-17 in\nbed fern"})})
    assert json.loads(json.loads(scrubber.text(text))["arguments"]) == {"a": "<secret-1> in\nbed <secret-2>"}
    with pytest.raises(InputError, match="not a regular expression"):
        Scrubber(["("])


# --- exchanges


def exchange(body: bytes = b"{}", answer: bytes = b"{}", *, headers: Headers = (), said: Headers = ()) -> Exchange:
    return Exchange(Request("POST", CHAT, headers, body), Response(200, said, answer))


def test_headers_go_whatever_their_case_and_what_they_held_is_known() -> None:
    key = "plants-" + "by-the-window-42"
    scrubbed = Scrubber().exchange(
        exchange(
            b'{"user": "I am ' + key.encode() + b'"}',
            b'{"error": {"message": "wrong key ' + key.encode() + b'"}}',
            headers=(
                ("AUTHORIZATION", f"Bearer {key}"),
                ("Accept", "a"),
                ("x-Portkey-Api-Key", "x"),
                ("Cookie", "a=b"),
            ),
            said=(("Set-Cookie", "a=b"), ("OpenAI-Organization", "o"), ("Location", f"/x?api_key={LETTERS}")),
        )
    )
    assert scrubbed.request.headers == (("Accept", "a"),)
    assert scrubbed.response.headers == (("Location", "/x?api_key=<api-key-1>"),)
    assert scrubbed.request.body == b'{"user": "I am <secret-1>"}'
    assert scrubbed.response.body == b'{"error": {"message": "wrong key <secret-1>"}}'


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.example/v1?key=abc&alt=sse", "https://x.example/v1?key=<api-key-1>&alt=sse"),
        ("https://x.example/v1?alt=sse&Api-Key=abc#access_token=d", None),
        (f"https://x.example/?X-Amz-Signature={LETTERS}", "https://x.example/?X-Amz-Signature=<secret-1>"),
        ("https://me:word@x.example/v1?a=b?c&token=t", "https://me:<password-1>@x.example/v1?a=b?c&token=<token-1>"),
        ("https://x.example/v1/chat/completions?api-version=1", "https://x.example/v1/chat/completions?api-version=1"),
        (f"https://x.example/?key=AIza{LETTERS * 2}", "https://x.example/?key=<google-key-1>"),
    ],
)
def test_urls(url: str, expected: str | None) -> None:
    scrubbed = Scrubber().url(url)
    assert scrubbed == (expected or "https://x.example/v1?alt=sse&Api-Key=<api-key-1>#access_token=<token-1>")
    assert Scrubber().url(scrubbed) == scrubbed


def test_a_form() -> None:
    headers = (("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", "43"))
    body = b"grant_type=x&client_secret=a%2Bb&scope=read"
    scrubbed = Scrubber().request(Request("POST", "https://x.example/token", headers, body))
    assert scrubbed.body == b"grant_type=x&client_secret=<secret-1>&scope=read"
    assert scrubbed.headers[1] == ("Content-Length", str(len(scrubbed.body)))


@pytest.mark.parametrize(("said", "expected"), [("16", "26"), ("7", "7")])
def test_the_length_follows_where_it_was_true(said: str, expected: str) -> None:
    scrubbed = Scrubber().exchange(exchange(b'{"api_key": "a"}', headers=(("Content-Length", said),)))
    assert scrubbed.request.body == b'{"api_key": "<api-key-1>"}'
    assert scrubbed.request.headers == (("Content-Length", expected),)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_body_is_packed_again_and_left_alone_where_nothing_is_found(encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    plain = json.dumps({"password": LETTERS, "text": "x" * 2000}).encode()
    packed = pack(plain)
    headers = (("content-encoding", encoding), ("content-length", str(len(packed))))
    chunks = (Chunk(5, 0.1), Chunk(len(packed), 0.2))
    scrubbed = Scrubber().response(Response(200, headers, packed, chunks))
    assert json.loads(decoded(scrubbed.body, scrubbed.headers)) == {"password": "<password-1>", "text": "x" * 2000}
    assert scrubbed.chunks[-1] == Chunk(len(scrubbed.body), 0.2)
    assert dict(scrubbed.headers)["content-length"] == str(len(scrubbed.body))
    harmless = Response(200, headers, pack(b'{"a": 1}'), chunks)
    assert Scrubber().response(harmless).body is harmless.body


@pytest.mark.parametrize(
    ("headers", "body"), [((("content-encoding", "br"),), b"\x0b\x02\x80abc"), ((), gzip.compress(b"{}", mtime=0)[:-9])]
)
def test_what_cannot_be_read_is_counted(headers: Headers, body: bytes) -> None:
    scrubber = Scrubber()
    assert scrubber.response(Response(200, headers, body)).body == body
    assert scrubber.unreadable == 1


def test_log_probabilities_do_not_spell_it_out() -> None:
    secret = "sk-" + LETTERS * 2
    logprobs = {"content": [{"token": piece, "logprob": -0.5, "bytes": list(piece.encode())} for piece in secret]}
    choices = [
        {"index": 0, "message": {"content": f"It is {secret}"}, "logprobs": logprobs},
        {"index": 1, "message": {"content": "No"}, "logprobs": {"content": []}},
    ]
    scrubbed = Scrubber().exchange(exchange(answer=json.dumps({"é": 1, "choices": choices}).encode())).response.body
    first, second = json.loads(scrubbed)["choices"]
    assert first == {"index": 0, "message": {"content": "It is <openai-key-1>"}, "logprobs": None}
    assert second == choices[1]


# --- streams


def chunk(delta: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": delta, **more}]}


def call(fragment: str, index: int = 0, **more: Any) -> dict[str, Any]:
    return chunk({"tool_calls": [{"index": index, **more, "function": {"arguments": fragment}}]})


def body_of(documents: list[dict[str, Any]], *, line: str = "\n", ascii_only: bool = True) -> bytes:
    events = [f"data: {json.dumps(document, ensure_ascii=ascii_only)}{line}{line}" for document in documents]
    return ("".join(events) + f"data: [DONE]{line}{line}").encode()


def pieces(text: str, cuts: list[int]) -> list[str]:
    ends = [0, *sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(ends)]


SECRET_TEXTS = [secret for _, secret in ONES]
words = st.sampled_from(["Water ", "the ferns\n", "ü 🌱 ", '"', "\\", "{", ": ", "\u2028", "a-", "=", "."])
texts = st.lists(st.one_of(words, st.sampled_from(SECRET_TEXTS), st.sampled_from(sorted(NAMED))), max_size=6).map(
    " ".join
)
cuts = st.lists(st.integers(0, 2000), max_size=25)


@given(texts)
def test_scrubbing_twice_is_scrubbing_once(text: str) -> None:
    for written in (text, json.dumps({"a": text, "b": json.dumps([text])}), json.dumps(text)):
        scrubber = Scrubber()
        once = scrubber.text(written)
        assert scrubber.text(once) == once
        assert Scrubber().text(once) == once


@given(st.text(), st.sampled_from([r"\w+", "secret", r"<.*?>", "a|b", r"\S+"]))
def test_whatever_the_pattern_it_ends_and_is_stable(text: str, pattern: str) -> None:
    scrubber = Scrubber([pattern])
    once = scrubber.text(text)
    assert scrubber.text(once) == once


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False), texts),
        lambda parts: st.one_of(
            st.lists(parts, max_size=3), st.dictionaries(st.sampled_from(["a", "content", "ü"]), parts, max_size=3)
        ),
        max_leaves=6,
    ),
    st.booleans(),
)
def test_in_json_exactly_the_strings_change(document: Any, ascii_only: bool) -> None:
    def expected(value: Any) -> Any:
        if isinstance(value, str):
            return scrubber.text(value)
        if isinstance(value, list):
            return [expected(part) for part in value]
        return {key: expected(part) for key, part in value.items()} if isinstance(value, dict) else value

    if not isinstance(document, dict | list):
        document = [document]
    scrubber = Scrubber()
    scrubbed = scrubber.text(json.dumps(document, ensure_ascii=ascii_only))
    assert scrubbed == json.dumps(expected(document), ensure_ascii=ascii_only)


@settings(deadline=None)
@given(
    texts, texts, cuts, cuts, st.lists(st.integers(0, 5000), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_in_every_split_a_scrubbed_stream_is_the_scrubbed_message(
    content: str, argument: str, cuts: list[int], more_cuts: list[int], reads: list[int], line: str, ascii_only: bool
) -> None:
    arguments = json.dumps({"password": LETTERS, "text": argument})
    documents = [chunk({"role": "assistant", "content": ""}), call("", id="call_1", type="function")]
    documents += [chunk({"content": piece}) for piece in pieces(content, cuts)]
    documents += [call(piece) for piece in pieces(arguments, more_cuts)]
    documents.append(chunk({}, finish_reason="tool_calls"))
    body = body_of(documents, line=line, ascii_only=ascii_only)
    ends = [*sorted({read % len(body) for read in reads}), len(body)]
    response = Response(200, SSE, body, tuple(Chunk(end, float(number)) for number, end in enumerate(ends)))
    scrubber = Scrubber()
    scrubbed = scrubber.response(response)
    before, after = Exchange(Request("POST", CHAT), response).turn(), Exchange(Request("POST", CHAT), scrubbed).turn()
    assert after.content == scrubber.text(before.content or "")
    assert after.tool_calls[0].arguments == scrubber.text(before.tool_calls[0].arguments)
    assert (after.finish_reason, after.anomalies) == (before.finish_reason, before.anomalies)
    assert scrubbed.body.count(b"data:") == body.count(b"data:")
    assert [one.time for one in scrubbed.chunks] == [one.time for one in response.chunks]
    new_ends = [one.end for one in scrubbed.chunks]
    assert new_ends == sorted(new_ends)
    assert new_ends[-1] == len(scrubbed.body)
    for secret in SECRET_TEXTS:
        assert secret not in (after.content or "") + after.tool_calls[0].arguments
    assert scrubber.response(scrubbed) == scrubbed


def test_only_what_held_the_secret_changes() -> None:
    secret = "sk-" + LETTERS * 2
    parts = ["The key is sk", "-" + LETTERS, LETTERS + " ü ", "keep it"]
    body = b": hello\n\n" + body_of([chunk({"content": part}) for part in parts])
    scrubbed = Scrubber().response(Response(200, SSE, body)).body
    new = ["The key is <openai-key-1>", "", " ü ", "keep it"]
    assert scrubbed == b": hello\n\n" + body_of([chunk({"content": part}) for part in new])
    _, found = stream_edits(body, SecretFinder().find, lambda _: "")
    assert [one.secret.value for one in found] == [secret]
    assert body[found[0].at :].startswith(b'{"id": "chatcmpl-1"')


def test_calls_that_take_turns_are_told_apart() -> None:
    first, second = json.dumps({"api_key": "one" + LETTERS}), json.dumps({"api_key": "two" + LETTERS})
    documents = [call("", 0, id="a"), call("", 1, id="b")]
    for one, two in zip(first, second, strict=True):
        documents += [call(one, 0), call(two, 1)]
    scrubbed = Scrubber().response(Response(200, SSE, body_of(documents)))
    turn = Exchange(Request("POST", CHAT), scrubbed).turn()
    assert [each.arguments for each in turn.tool_calls] == ['{"api_key": "<api-key-1>"}', '{"api_key": "<api-key-2>"}']


def test_other_apis_stream_their_texts_under_delta_too() -> None:
    secret = "ghp_" + LETTERS * 2
    messages = [
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}
        for piece in pieces(json.dumps({"t": secret}), [3, 9, 20, 33])
    ]
    responses = [
        {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "delta": piece}
        for piece in pieces(secret, [1, 2, 30])
    ]
    responses.append({"type": "response.completed", "response": {"output": [{"text": secret}]}})
    for documents in (messages, responses):
        scrubbed = Scrubber().response(Response(200, SSE, body_of(documents))).body
        assert scrubbed.count(b"<github-token-1>") == (1 if documents is messages else 2)
        assert LETTERS[:6].encode() not in scrubbed


def test_log_probabilities_of_a_stream_go_with_the_text() -> None:
    secret = "sk-" + LETTERS * 2
    documents = [
        chunk({"content": piece}, logprobs={"content": [{"token": piece, "bytes": list(piece.encode())}]})
        for piece in ("It is ", *pieces(secret, [2, 9, 17]), ".")
    ]
    scrubbed = Scrubber().response(Response(200, SSE, body_of(documents))).body
    events = [json.loads(line[6:]) for line in scrubbed.decode().split("\n\n") if line.startswith("data: {")]
    assert [event["choices"][0]["logprobs"] is None for event in events] == [False, True, True, True, True, False]


def test_comments_names_and_broken_events_are_read_too() -> None:
    secret = "sk-" + LETTERS * 2
    body = f': {secret}\n\nevent: {secret}\ndata: {{broken {secret}\n\ndata: {{\ndata: "a": "{secret}"}}\n\n'.encode()
    scrubbed = Scrubber().response(Response(200, SSE, body)).body
    assert scrubbed == body.replace(secret.encode(), b"<openai-key-1>")


def test_json_under_the_type_of_a_stream_is_read_as_json() -> None:
    answer = Response(200, SSE, json.dumps({"error": {"message": "x", "api_key": "abc"}}).encode())
    assert b"<api-key-1>" in Scrubber().response(answer).body


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_pass(body: bytes, streamed: bool) -> None:
    response = Response(200, SSE if streamed else (), body)
    scrubbed = Scrubber().exchange(Exchange(Request("POST", CHAT, (), body), response))
    assert scrubbed.response.body == body


def test_deep_nesting_passes() -> None:
    deep = b'{"choices":[{"delta":' * 300 + b'{"content":"x","api_key":"abc"}' + b"}]}" * 300
    for headers, body in (((), deep), (SSE, b"data: " + deep + b"\n\n")):
        assert b"<api-key-1>" in Scrubber().response(Response(200, headers, body)).body
    assert PLACEHOLDER.fullmatch("<api-key-1>")


def test_chunks_inside_a_secret_stay_inside_its_placeholder() -> None:
    secret = "sk-" + LETTERS * 2
    body = json.dumps({"a": secret}).encode()
    start = body.index(b"sk-")
    chunks = tuple(Chunk(end, 0.0) for end in (start, start + 2, start + 40, start + 43, len(body)))
    scrubbed = Scrubber().response(Response(200, (), body, chunks))
    assert [one.end for one in scrubbed.chunks] == [start, start + 2, start + 14, start + 14, len(scrubbed.body)]
    assert replace(scrubbed, chunks=()).body == b'{"a": "<openai-key-1>"}'


def test_half_a_surrogate_pair_beside_a_secret_stays() -> None:
    key = SHAPED["openai-key"][0]
    scrubbed = Scrubber().text(f"\ud83d {key} \udc80 é")
    assert scrubbed == "\ud83d <openai-key-1> \udc80 é"
    assert Scrubber(["d.."]).text("d\ud83d") != "d\ud83d"


def test_a_secret_over_events_that_hold_half_a_pair_is_found() -> None:
    key = SHAPED["openai-key"][0]
    pieces = ["\ud83d " + key[:9], key[9:], " \ude00"]
    events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    scrubbed = Scrubber().response(Response(200, SSE, body)).body
    texts = [json.loads(line[6:])["choices"][0]["delta"]["content"] for line in scrubbed.split(b"\n\n") if line]
    assert "".join(texts) == "\ud83d <openai-key-1> \ude00"
