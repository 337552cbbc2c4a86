"""How long a suite takes: 500 scripted scenarios of 5 steps, with one process and with two, and whether they agree.

Run it with ``python benchmarks/suite.py [SCENARIOS]``. Each run is the command as a user starts it. Wall time depends
on what else the machine does, CPU time hardly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HARNESS = Path(sys.executable).parent / "harness"
SCENARIO = """\
workspace:
  files:
    app.py: "debug = True\\nnumber = {number}\\n"
    notes.txt: "alpha\\nbeta\\n"
prompt: Turn debugging off.
player:
  script:
    - calls: [{{tool: Read, arguments: {{path: app.py}}}}, {{tool: Read, arguments: {{path: notes.txt}}}}]
    - calls: [{{tool: Grep, arguments: {{pattern: number}}}}]
    - calls: [{{tool: Edit, arguments: {{path: app.py, old_string: debug = True, new_string: debug = False}}}}]
    - calls: [{{tool: Read, arguments: {{path: app.py}}}}]
    - text: Done.
expect:
  final_text: Done.
  steps: 5
  files:
    app.py: "debug = False\\nnumber = {number}\\n"
"""


def run(folder: Path, out: str, *words: str) -> None:
    """Run the suite once and print what it took."""
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run([HARNESS, "run", "suite", "--out", out, "-q", *words], cwd=folder, check=False)
    wall, after = time.perf_counter() - begun, os.times()
    if done.returncode:
        raise SystemExit(f"the suite did not pass: {done.returncode}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{' '.join(words):<12}  {wall:6.1f} s wall  {cpu:6.1f} s CPU")


def content(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "suite").mkdir()
        for count in range(number):
            (folder / "suite" / f"case-{count:04d}.yaml").write_text(SCENARIO.format(number=count), "utf-8")
        print(f"{number} scenarios of 5 steps")
        found = []
        for workers in ("1", "2"):
            run(folder, "reports", "--workers", workers)
            found.append(content(folder / "reports"))
            (folder / "reports").rename(folder / f"reports-{workers}")
        print("the same bytes" if found[0] == found[1] else "NOT the same bytes")


if __name__ == "__main__":
    main()
