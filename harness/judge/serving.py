"""The verdict on served sessions: the server's own, whatever the agents' exit codes say.

Many agents exit 0 whatever happened, and many swallow an HTTP error; so what was asked and answered is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent

from harness.judge.verdict import Case, Check, Verdict, judged, overall
from harness.play.sessions import Session
from harness.wire.exchange import Exchange, Request
from harness.wire.rules import check_request


def judge_session(session: Session, path: str) -> Case:
    """One case of a session: every request answered, all of the player asked for, every request a valid one.

    A session that nobody asked anything, or whose recording is torn, is INCONCLUSIVE; a player that failed is ERROR.
    """
    exchanges = list(session.exchanges)
    chats = [exchange for exchange in exchanges if exchange.is_chat]
    checks = [*_answered(session), *_asked(session)]
    marks = "; ".join(session.made.marks())
    verdict, first_line = judged(checks)
    return Case(
        name=session.id,
        kind="serve",
        path=path,
        checks=tuple(checks),
        verdict=verdict,
        first_line=first_line,
        facts={
            "requests": session.requests,
            "answered": len(exchanges),
            "misses": session.misses,
            "refused": session.refused,
            "steps": len(chats),
            "tool_calls": sum(_calls(exchange) for exchange in chats),
            **({"marks": marks} if marks else {}),
        },
    )


def judge_sessions(sessions: Sequence[Session], path: str) -> list[Case]:
    """The cases of a server's sessions, in the order in which they were opened."""
    return [judge_session(session, path) for session in sessions]


def verdict_of(sessions: Sequence[Session], path: str) -> Verdict:
    """The verdict on all of them; where there is no session nothing was judged, so INCONCLUSIVE."""
    return overall(judge_sessions(sessions, path))


def serving_document(cases: Sequence[Case], sessions: Sequence[dict[str, object]], url: str) -> dict[str, object]:
    """What ``harness serve --json`` prints at the end; ``sessions`` are the status documents of the cases."""
    return {
        "url": url,
        "sessions": [
            {**session, "verdict": case.verdict, "case": case.document()}
            for case, session in zip(cases, sessions, strict=True)
        ],
        "totals": {
            name: sum(value for case in cases if isinstance(value := case.facts[name], int))
            for name in ("requests", "answered", "misses", "refused", "tool_calls")
        },
        "verdict": overall(cases),
    }


def _answered(session: Session) -> Iterator[Check]:
    name = "every request answered"
    if session.miss is not None:
        first, _, rest = str(session.miss).partition("\n")
        more = f" (and {session.misses - 1} more)" if session.misses > 1 else ""
        yield Check(name, Verdict.FAIL, first + more, details=dedent(rest))
    if session.error is not None:
        yield Check("the player", Verdict.ERROR, session.error)
    if session.refused:
        message = (
            f"the agent asked {session.requests} times, {session.max_requests} are allowed: it may run in a circle"
        )
        yield Check("request budget", Verdict.FAIL, message, str(session.max_requests), str(session.requests))
    if not session.requests:
        yield Check("an agent asked", Verdict.INCONCLUSIVE, "nobody sent a request")
    elif session.miss is None and session.error is None and not session.refused:
        yield Check(name, Verdict.PASS, actual=f"{session.requests} requests")


def _asked(session: Session) -> Iterator[Check]:
    for note in session.made.notes():
        yield Check("the evidence", Verdict.INCONCLUSIVE, note)
    if not session.requests:
        return
    yield from _protocol([request for request in list(session.asked) if request.is_chat])
    unused = session.made.unused()
    if session.miss is not None or session.error is not None:
        return  # what broke off has left something unused: that says nothing new
    for left in unused:
        yield Check("nothing unused", Verdict.FAIL, f"{left} was never asked for: the run is partial")
    if not unused:
        yield Check("nothing unused", Verdict.PASS)


def _protocol(chats: Sequence[Request]) -> Iterator[Check]:
    """Every chat request is one a strict server takes; what the next requests repeat is told once."""
    told: set[tuple[str, str, str]] = set()
    for number, request in enumerate(chats):
        try:
            body = request.json()
        except ValueError as error:
            yield Check("protocol: not_json", Verdict.FAIL, f"not_json: {error}", where=f"request {number + 1}")
            continue
        if not isinstance(body, dict):
            what = f"not_an_object: a request is a JSON object, not {type(body).__name__}"
            yield Check("protocol: not_an_object", Verdict.FAIL, what, where=f"request {number + 1}")
            continue
        for breach in check_request(body):
            key = (breach.code, breach.path, breach.why)
            if key not in told:
                told.add(key)
                where = f"request {number + 1} {breach.path}"
                yield Check(f"protocol: {breach.code}", Verdict.FAIL, f"{breach.code}: {breach.why}", where=where)
    if not told and chats:
        yield Check("protocol", Verdict.PASS, actual=f"{len(chats)} requests")


def _calls(exchange: Exchange) -> int:
    try:
        return len(exchange.turn().tool_calls)
    except ValueError:
        return 0
