"""The codes of anomalies are an interface: the page lists those that there are, and no others."""

from __future__ import annotations

import re

from tests.wire.recordings import ROOT

_SOURCES = ("chat", "deltas", "open_calls", "readings")
_CODES = re.compile(
    r'(?:_note\(|_anomaly\(|Anomaly\(|Reading\([^()]*?,|= |return [^\n]*?, |else )\s*"([a-z]+_[a-z_]+)"'
)


def test_the_page_lists_every_code() -> None:
    used: set[str] = set()
    for name in _SOURCES:
        source = (ROOT / "harness" / "wire" / f"{name}.py").read_text("utf-8")
        used.update(_CODES.findall(source))
        used.update(re.findall(r'"(arguments_[a-z_]+|name_[a-z]+|index_[a-z_]+)"', source))
    page = (ROOT / "docs" / "streams.md").read_text("utf-8")
    table = page[page.index("## Anomalies") : page.index("## Conformance")]
    listed = {code for row in table.splitlines() if row.startswith("| `") for code in re.findall("`([a-z_]+)`", row)}
    assert listed == used
