"""What a server says of itself while it runs: its sessions as data and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from harness.play.sessions import Session

_COLUMNS = ("id", "base_url", "verdict", "requests", "answered", "misses", "refused", "unused")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2"><title>harness serve</title>
<style>body{{font:14px sans-serif;margin:2em}}td,th{{padding:.2em 1em .2em 0;text-align:left;vertical-align:top}}
pre{{white-space:pre-wrap}}</style></head>
<body><h1>harness serve</h1><p>Verdict so far: <b>{verdict}</b></p>
<table><tr>{heads}</tr>{rows}</table>{reasons}</body></html>
"""


def session_document(session: Session, base_url: str) -> dict[str, Any]:
    """A session as data; ``base_url`` is what its agent was given."""
    return {
        "id": session.id,
        "base_url": base_url,
        "requests": session.requests,
        "answered": len(session.exchanges),
        "misses": session.misses,
        "refused": session.refused,
        "miss": None if session.miss is None else str(session.miss),
        "failure": session.failure,
        "unused": session.made.unused(),
        "marks": session.made.marks(),
    }


def status_page(document: Mapping[str, Any]) -> bytes:
    """The page for a status document: ``sessions``, and ``verdict`` where somebody judges."""
    sessions: Sequence[Mapping[str, Any]] = document["sessions"]
    heads = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in _COLUMNS)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(session, name)}</td>' for name in _COLUMNS)}</tr>" for session in sessions
    )
    reasons = "".join(
        f"<h2>{escape(session['id'])}</h2><pre>{escape(reason)}</pre>"
        for session in sessions
        for reason in (session["failure"], session["miss"])
        if reason
    )
    verdict = escape(str(document.get("verdict", "nobody judges")))
    return _PAGE.format(verdict=verdict, heads=heads, rows=rows, reasons=reasons).encode()


def _cell(session: Mapping[str, Any], name: str) -> str:
    value = session.get(name, "")
    return escape(str(len(value) if name == "unused" else value))
