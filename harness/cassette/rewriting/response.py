"""Recorded responses for a session in other folders.

`rewrite_response` exchanges the recorded folders for the present ones (see `harness.cassette.paths`) in what the
model said: content, reasoning and other texts of the message, and the strings inside of the arguments of calls. It
edits the bytes of the body in place. Nothing is serialised again, so what names no folder stays byte for byte.

In a stream a folder may be spread over any number of fragments. They are joined as the assembler joins them (per
choice, field and call), the exchange is made in the joined text, and the new text is cut into the same number of
fragments: at the old places outside of what changed, at about the same share of its length inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.cassette.paths import PathMap
from harness.cassette.rewriting.changes import strings_edits
from harness.cassette.rewriting.cutting import Path
from harness.cassette.rewriting.documents import (
    Document,
    document_edits,
    line_edits,
    plain_document,
    stream_documents,
)
from harness.cassette.rewriting.edits import ByteEdit, Edit, edited, in_bytes
from harness.cassette.rewriting.texts import Texts
from harness.cassette.rewriting.transfer import decoded_chunks, headers_for, moved
from harness.wire.exchange import Response, decoded


def rewrite_response(response: Response, paths: PathMap) -> tuple[Response, bool]:
    """The response with recorded folders replaced by present ones, and whether anything changed.

    Where nothing changes it is the very same object. Chat answers, plain and streamed, change in the texts of their
    messages and in arguments only; JSON of another kind changes in all its strings (streamed: each event for itself),
    any other UTF-8 as a text. Events of a stream that are no valid JSON stay as they are.

    A changed body that was compressed is given decoded, without its ``content-encoding``: only so can a chunk still
    end where it ended. ``content-length`` is set right, ``chunks`` are moved, their times stay; of chunks that brought
    nothing to decode, none is kept. Never raises, whatever the body.
    """
    if paths.is_identity:
        return response, False
    try:
        body = decoded(response.body, response.headers)
    except ValueError:
        return response, False
    edits = _edits_of(body, paths, streamed=response.streamed)
    if not edits:
        return response, False
    encoded = body != response.body
    chunks = decoded_chunks(response, len(body)) if encoded else response.chunks
    new = edited(body, edits)
    return (
        replace(
            response,
            headers=headers_for(response.headers, len(new), encoded=encoded),
            body=new,
            chunks=moved(chunks, len(body), edits),
        ),
        True,
    )


def _edits_of(body: bytes, paths: PathMap, *, streamed: bool) -> list[ByteEdit]:
    texts = Texts(streamed=streamed)
    documents = list(stream_documents(body) if streamed else plain_document(body))
    for number, document in enumerate(documents):
        texts.take(number, document.value)
    if not texts.is_chat:
        return _other_edits(body, documents, paths)
    by_document: dict[int, list[tuple[Path, list[Edit]]]] = {}
    for fragments, edits in texts.edits(paths):
        for fragment, own in zip(fragments, edits, strict=True):
            if own:
                by_document.setdefault(fragment.document, []).append((fragment.path, own))
    return [edit for number in sorted(by_document) for edit in document_edits(documents[number], by_document[number])]


def _other_edits(body: bytes, documents: Iterable[Document], paths: PathMap) -> list[ByteEdit]:
    """What changes in an answer of an API that is not known: the strings of its JSON documents, else its text."""
    documents = tuple(documents)
    if documents:
        return [edit for document in documents for edit in line_edits(document, strings_edits(document.text, paths))]
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return []
    return list(in_bytes(text, [Edit(*change) for change in paths.changes(text)], 0))
