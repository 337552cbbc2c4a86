"""From a replayed cassette to a verdict: faults of the recording first, then drift."""

from __future__ import annotations

from harness.judge.verdict import Case, Check, Verdict, judged
from harness.scenario.replay import ReplayedCassette


def judge_replay(replayed: ReplayedCassette, path: str) -> Case:
    """One case of a cassette: every exchange played, every call planned as recorded, no fault, no drift."""
    exchanges = len(replayed.cassette.exchanges)
    chat = len(replayed.cassette.chat_exchanges)
    intact = sum(entry.problem is None for entry in replayed.untouched)
    checks = [
        Check(f"fault: {fault.code}", Verdict.FAIL, f"{fault.code}: {fault.why}", where=fault.where)
        for fault in replayed.faults
    ]
    checks += [
        Check(
            f"drift: {found.drift.kind}",
            Verdict.FAIL,
            f"drift in {found.drift.kind}: {found.drift.why}",
            where=f"exchange {found.exchange} {found.drift.path}",
        )
        for found in replayed.drift
    ]
    checks += [
        Check(
            "other exchange played",
            Verdict.FAIL,
            f"{entry.exchange.request.method} {entry.exchange.request.path}: {entry.problem}",
            where=f"exchange {entry.exchange.index}",
        )
        for entry in replayed.untouched
        if entry.problem is not None
    ]
    checks += [
        Check("the recording is whole", Verdict.INCONCLUSIVE, note, where=str(replayed.cassette.path))
        for note in replayed.cassette.notes
    ]
    if chat:
        checks += [
            _count("every chat exchange replayed", chat, replayed.steps),
            _count("every call planned with its name, id and arguments", replayed.tool_calls, replayed.planned_calls),
        ]
    if chat < exchanges:
        checks.append(_count("every other exchange played byte for byte", exchanges - chat, intact))
    verdict, first_line = judged(checks)
    return Case(
        name=replayed.run.name,
        kind="replay",
        path=path,
        checks=tuple(checks),
        verdict=verdict,
        first_line=first_line,
        facts={
            "dialect": replayed.cassette.dialect,
            "exchanges": exchanges,
            "chat_exchanges": chat,
            "played_as_bytes": len(replayed.untouched),
            "lanes": len(replayed.run.lanes),
            "steps": replayed.steps,
            "tool_calls": replayed.tool_calls,
            "anomalies": len(replayed.anomalies),
        },
    )


def replay_document(replayed: ReplayedCassette, case: Case) -> dict[str, object]:
    """The cassette's entry in what ``harness replay --json`` prints."""
    return {
        "path": case.path,
        "dialect": replayed.cassette.dialect,
        "exchanges": len(replayed.cassette.exchanges),
        "chat_exchanges": len(replayed.cassette.chat_exchanges),
        "played_as_bytes": len(replayed.untouched),
        "tool_calls": replayed.tool_calls,
        "steps": replayed.steps,
        "drift": [
            {"class": found.drift.kind, "path": f"exchange {found.exchange} {found.drift.path}", "why": found.drift.why}
            for found in replayed.drift
        ],
        "faults": [{"code": fault.code, "where": fault.where, "why": fault.why} for fault in replayed.faults],
        "anomalies": replayed.anomalies,
        "notes": [*replayed.cassette.notes, *replayed.notes],
        "verdict": case.verdict,
    }


def _count(name: str, wanted: int, found: int) -> Check:
    if wanted == found:
        return Check(name, Verdict.PASS, expected=str(wanted), actual=str(found))
    return Check(name, Verdict.FAIL, f"{name}: {found} of {wanted}", str(wanted), str(found))
