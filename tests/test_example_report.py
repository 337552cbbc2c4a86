"""The example that is kept is what its command writes, byte for byte: the same run twice gives the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "reports" / "example"


def test_the_kept_example_is_what_the_command_writes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "reports" / "make_example.py", tmp_path], check=True, capture_output=True)
    kept = sorted(path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.is_file())
    assert Path("report.html") in kept
    assert any(path.name == "run.json" for path in kept)
    for path in kept:
        assert (tmp_path / path).read_bytes() == (EXAMPLE / path).read_bytes(), path
