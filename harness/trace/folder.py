"""A run on disk: a folder with ``run.json``, ``exchanges.jsonl`` and ``events.jsonl``.

``run.json`` is written last, so a folder that has one is whole. What a report says can be computed again from it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import orjson

from harness.errors import InputError
from harness.files import write_atomically
from harness.trace.run import FORMAT, VERSION, CallRecord, Lane, Run, Step, Trial
from harness.wire.exchange import Chunk, Exchange, Headers, Request, Response
from harness.wire.half_pairs import dumps, loads
from harness.wire.secrets import Scrubber

_LATER = tuple(
    (field.name, field.default) for field in fields(Step) if field.name in ("before", "duration_s", "cost_usd")
)
"""Fields of a step that are written only where they say something."""


def save_run(
    run: Run, folder: Path, rewrite: Callable[[bytes], bytes] | None = None, scrubber: Scrubber | None = None
) -> Path:
    """Write the run; an earlier run in the same folder is replaced. Returns the folder. Raises OSError.

    Secrets become placeholders everywhere, those of ``scrubber`` where the exchanges have passed one already.
    ``rewrite`` is applied to the bytes of each file, for what else must not be kept as it is.
    """
    scrubber = scrubber or Scrubber()
    change = rewrite or (lambda content: content)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").unlink(missing_ok=True)
    exchanges = _lines(_exchange_document(scrubber.exchange(exchange)) for exchange in run.exchanges)
    write_atomically(folder / "exchanges.jsonl", change(exchanges))
    events = b"".join(scrubber.document(dumps(event)) + b"\n" for event in run.events)
    write_atomically(folder / "events.jsonl", change(events))
    document = {
        "format": FORMAT,
        "version": VERSION,
        "name": run.name,
        "kind": run.kind,
        "source": run.source,
        "facts": run.facts,
        "lanes": [_lane_document(lane) for lane in run.lanes],
        **({"trial": asdict(run.trial)} if run.trial is not None else {}),
    }
    content = scrubber.document(dumps(document, option=orjson.OPT_INDENT_2)) + b"\n"
    write_atomically(folder / "run.json", change(content))
    return folder


def load_run(folder: Path) -> Run:
    """Read a saved run; raises InputError for a folder that holds none, or one of a later version."""
    path = folder / "run.json"
    try:
        document = loads(path.read_bytes())
        _demand_readable(document, path)
        run = Run(
            name=document["name"],
            kind=document["kind"],
            source=document["source"],
            facts=document["facts"],
            lanes=[_lane(lane) for lane in document["lanes"]],
            exchanges=[_exchange(line) for line in _read_lines(folder / "exchanges.jsonl")],
            events=_read_lines(folder / "events.jsonl"),
            trial=Trial(**document["trial"]) if "trial" in document else None,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError("there is no run here", where=str(error.filename)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(error.filename)) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"not a saved run: {type(error).__name__}: {error}", where=str(path)) from error
    return run


def _demand_readable(document: dict[str, Any], path: Path) -> None:
    if document["format"] != FORMAT:
        raise InputError(f"the format is {document['format']!r}, not {FORMAT!r}", where=str(path))
    if document["version"] > VERSION:
        raise InputError(f"the run has version {document['version']}, this harness reads {VERSION}", where=str(path))


def _lines(documents: Iterable[Any]) -> bytes:
    return b"".join(dumps(document) + b"\n" for document in documents)


def _read_lines(path: Path) -> list[Any]:
    return [loads(line) for line in path.read_bytes().splitlines() if line]


def _lane_document(lane: Lane) -> dict[str, Any]:
    document = asdict(lane)
    for step in document["steps"]:
        for name, default in _LATER:
            if step[name] == default:
                del step[name]
    if not document["after"]:
        del document["after"]
    return document


def _lane(document: dict[str, Any]) -> Lane:
    steps = [
        Step(
            **{
                **step,
                "tools": tuple(step["tools"]),
                "anomalies": tuple(step["anomalies"]),
                "notes": tuple(step["notes"]),
                "before": tuple(step.get("before", ())),
                "calls": tuple(CallRecord(**call) for call in step["calls"]),
            }
        )
        for step in document["steps"]
    ]
    return Lane(**{**document, "steps": steps, "after": tuple(document.get("after", ()))})


def _exchange_document(exchange: Exchange) -> dict[str, Any]:
    request, response = exchange.request, exchange.response
    return {
        "index": exchange.index,
        "request": {
            "method": request.method,
            "url": request.url,
            "headers": request.headers,
            **_body(request.body),
        },
        "response": {
            "status": response.status,
            "reason": response.reason,
            "headers": response.headers,
            **_body(response.body),
            "chunks": [[chunk.end, chunk.time] for chunk in response.chunks],
        },
    }


def _exchange(document: dict[str, Any]) -> Exchange:
    request, response = document["request"], document["response"]
    return Exchange(
        Request(request["method"], request["url"], _headers(request["headers"]), _bytes(request)),
        Response(
            response["status"],
            _headers(response["headers"]),
            _bytes(response),
            tuple(Chunk(end, time) for end, time in response["chunks"]),
            response["reason"],
        ),
        document["index"],
    )


def _headers(headers: Iterable[Iterable[str]]) -> Headers:
    return tuple((name, value) for name, value in headers)


def _body(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}


def _bytes(document: dict[str, Any]) -> bytes:
    if "body_base64" in document:
        return base64.b64decode(document["body_base64"])
    body: str = document["body"]
    return body.encode("utf-8")
