"""The codes of the protocol's rules are all listed, so that a scenario can name each and no other."""

from __future__ import annotations

import re
from pathlib import Path

from harness.wire import rules


def test_every_rule_is_listed_and_nothing_else() -> None:
    source = Path(rules.__file__).read_text("utf-8")
    assert set(re.findall(r'Breach\(\s*"([a-z_]+)"', source)) == rules.CODES
