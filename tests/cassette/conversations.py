"""Sessions for tests: conversations that grow, fork, change and mix, in bodies as different clients write them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from harness.cassette.own.styles import STYLES, render
from harness.wire.exchange import Chunk, Exchange, Request, Response
from tests.cassette.test_vcrpy_writing import bodies, headers, responses, texts

CHAT = "https://api.example.com/v1/chat/completions"

texts_of_messages = st.one_of(
    st.sampled_from(["hi", "é <b> & \u2028", "{}", "", 'a "quote" \\', "x\ud83d", "\ude00\ufdd0"]), st.text(max_size=12)
)
messages = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, texts_of_messages),
    st.builds(lambda text: {"content": text, "role": "assistant", "tool_calls": [{"id": "c1"}]}, texts_of_messages),
    st.sampled_from([{"role": "system", "content": None}, "no mapping", 7, None, 1.5, {}, {"n": 1e300}]),
)
tools: st.SearchStrategy[Any] = st.sampled_from(
    [[], [{"type": "function", "function": {"name": "a"}}], [{"x": 1}, {}], None, {}, "none"]
)


@st.composite
def bodies_of_a_session(draw: Any, size: int = 5) -> list[bytes]:
    """Request bodies; each may go on with an earlier one, change its beginning, or be something else."""
    histories: list[Any] = [[]]
    written: list[bytes] = []
    for _ in range(draw(st.integers(0, size))):
        history = list(draw(st.sampled_from(histories)))
        if history and draw(st.booleans()):
            history[draw(st.integers(0, len(history) - 1))] = draw(messages)
        history += draw(st.lists(messages, max_size=4))
        histories.append(history)
        body: dict[str, Any] = {"model": draw(st.sampled_from(["m", "é"]))}
        if draw(st.booleans()):
            body["tools"] = draw(tools)
        body["messages"] = draw(st.sampled_from([history, history, None, {}]))
        if draw(st.booleans()):
            body["temperature"] = draw(st.sampled_from([0, 0.1, 1.0, None]))
        written.append(render(draw(st.sampled_from(list(STYLES))), body))
    return written


@st.composite
def sessions(draw: st.DrawFn) -> list[Exchange]:
    """Chat exchanges, with other traffic between them."""
    sent = draw(bodies_of_a_session())
    sent += draw(st.lists(bodies, max_size=2))
    urls = st.one_of(st.just(CHAT), texts)
    return [
        Exchange(Request("POST", draw(urls), draw(headers()), body), draw(responses()), index)
        for index, body in enumerate(draw(st.permutations(sent)))
    ]


def chat(messages: list[Any], answer: bytes = b'{"choices":[]}', index: int = 0, **body: Any) -> Exchange:
    """A chat exchange with a body as openai's client writes it."""
    request = Request("POST", CHAT, (), render("compact", {"model": "m", "messages": messages, **body}))
    return Exchange(request, Response(200, (), answer, (Chunk(len(answer), 0.25),), "OK"), index)
