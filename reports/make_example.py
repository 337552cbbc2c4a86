"""Makes the kept example: the shipped scenarios and cassettes, and two local models compared, on one page.

Usage: python reports/make_example.py [FOLDER], by default the kept ``reports/example``. The commands are those of
docs/report.md, run in a folder of their own, so that no file here is touched by them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HARNESS = Path(sys.executable).parent / "harness"
COMMANDS = (
    "run --quiet",
    "convert cassettes/models/trials.yaml runs/models --from cassettes --quiet",
    "compare runs/models --judge calls --expect cassettes/models/expected.yaml --quiet",
    "report --title Example --quiet",
)
KEPT = (
    "summary.md",
    "junit.xml",
    "report.html",
    "results.jsonl",
    "compare/comparison.json",
    "compare/summary.md",
    "runs/scenarios--gates--edit-conflict.yaml/run.json",
    "runs/scenarios--gates--edit-conflict.yaml/exchanges.jsonl",
    "runs/scenarios--gates--edit-conflict.yaml/events.jsonl",
)


def make_example(target: Path) -> None:
    """Write the example's files to ``target``; raises CalledProcessError for a command that goes wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for shipped in ("scenarios", "cassettes"):
            shutil.copytree(ROOT / shipped, folder / shipped)
        for command in COMMANDS:
            done = subprocess.run([HARNESS, *command.split()], cwd=folder, capture_output=True, text=True, check=False)
            # 125: two models of this size give too little evidence to tell them apart, and compare says so.
            if done.returncode not in ({0, 125} if command.startswith("compare") else {0}):
                raise SystemExit(f"harness {command} ended with {done.returncode}:\n{done.stderr}")
        for kept in KEPT:
            (target / kept).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / "reports" / kept, target / kept)


if __name__ == "__main__":
    make_example(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "reports" / "example")
