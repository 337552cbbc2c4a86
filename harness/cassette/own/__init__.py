"""The harness's own cassette format: JSON lines that grow with the conversation, ``NAME.cassette.jsonl``.

Each line is one JSON object in UTF-8, ended by a line feed. The first one is the header::

    {"format":"harness-cassette","version":1,"workspace":"/srv/shop","home":"/home/kim"}

``workspace`` and ``home`` are the folders of the recorded session, where they are known. Then come the exchanges in
recorded order, each behind what it is the first to need::

    {"parameters":1,"value":{"model":"m","messages":null,"tools":null,"stream":true}}
    {"tools":1,"value":[...]}
    {"message":1,"value":{"role":"system","content":"..."}}
    {"message":2,"value":{"role":"user","content":"..."}}
    {"exchange":1,"request":{"method":"POST","url":"...","headers":[["accept","*/*"]],"parameters":1,"tools":1,
     "messages":[1,2]},"response":{"status":200,"reason":"OK","headers":[...],"body":"...","chunk_ends":[...],
     "chunk_times":[...]}}

Messages, tools arrays and parameters (the body without both; null holds their places) are stored once, numbered from 1
each. In ``messages`` a number is a message, ``[exchange, first, last]`` are those messages of an earlier exchange,
counted from 1. So an exchange adds its new messages and one short line, however long the conversation is.

Bytes are kept. A request body that is a JSON object is stored in parts when one of the known styles
(`harness.cassette.own.styles`; ``style`` is left out for compact) gives the same bytes again, else as it is: as
``body`` where it is UTF-8, else as ``base64``. Response bodies are always stored as they are; what a stream's events
have in common stands once, ``"body":["data: ...",{"before":"data: {...","parts":["Hel","lo"],"after":"..."}]``
(`harness.cassette.own.framing`). ``chunk_ends`` are the offsets behind each network read, ``chunk_times`` the seconds
since the request; where no reads are known, both are missing, as are an empty body, reason or headers.

A file is only appended to, an exchange at a time. What stands behind the last line feed is torn, and lines behind the
last exchange belong to none: a reader leaves both out and says so, a writer cuts them off. A broken line elsewhere, a
number that is not the next one, or another version is an error.
"""

from __future__ import annotations

from harness.cassette.own.layout import NAME, SUFFIX
from harness.cassette.own.reader import is_own, read_cassette
from harness.cassette.own.writer import CassetteWriter, dump_cassette

__all__ = ["NAME", "SUFFIX", "CassetteWriter", "dump_cassette", "is_own", "read_cassette"]
