"""Mutation testing of the pipeline's core: does a test fail for each small change of the code.

    pip install 'mutmut>=3.8,<4'
    python benchmarks/mutation/run.py [--workers 2] [--work DIR] [MODULE ...]

Works on a copy, changes nothing here. Exits with 1 where less than 90 % of a module's mutants are killed, or where one
survives that SURVIVORS.md does not explain.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = Path(__file__).with_name("SURVIVORS.md")

MODULES = ("executor", "orchestrator", "budget", "circuit_breaker", "file_versions")
SUBSET = tuple(f"tests/pipeline/test_{module}.py" for module in MODULES)
LEFT_OUT = (
    "tests/pipeline/test_budget.py::test_both_budgets_hold_for_any_number_of_calls_that_is_answered",
    "tests/pipeline/test_budget.py::test_both_budgets_hold_for_every_step",
    "tests/pipeline/test_file_versions.py::TestLockOnRealFiles",
)
"""Searches over large inputs: they take longer than all the others together and kill nothing that those do not."""

LEAST_KILLED = 0.9
LONGEST_SUBSET_S = 5.0
KILLED = frozenset({"killed", "timeout", "segfault"})

# The same examples each time, and no time spent on shrinking what has failed.
PROFILE = """

from hypothesis import Phase

settings.register_profile(
    "mutation", deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate], max_examples=40
)
settings.load_profile("mutation")
"""


@dataclass(frozen=True)
class Mutant:
    """One change of the code and what became of it; ``change`` is the removed and the added line."""

    module: str
    function: str
    name: str
    status: str
    change: tuple[str, str]

    def row(self) -> str:
        """The first two columns of its row in SURVIVORS.md."""
        before, after = (re.sub(r"\|", r"\\|", text) for text in self.change)
        return f"| `{self.module}.{self.function}` | `{before}` → `{after}` |"


def main() -> int:
    options = _options()
    modules = tuple(options.modules) or MODULES
    work = options.work or Path(tempfile.mkdtemp(prefix="mutation-"))
    _copy(work, modules)
    elapsed_s, subset_s = _subset_seconds(work)
    print(f"the unit subset takes {elapsed_s:.1f} s, {subset_s:.1f} s of the processor, start-up included", flush=True)
    began = time.monotonic()
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(options.workers)]
    log = work / "mutmut.log"
    with log.open("w", encoding="utf-8") as output:
        code = subprocess.run(command, cwd=work, stdout=output, stderr=subprocess.STDOUT, check=False).returncode
    if code:
        print(log.read_text(encoding="utf-8")[-3000:], file=sys.stderr)
        return 2
    mutants = _mutants(work)
    passed = _report(mutants, modules, time.monotonic() - began)
    if options.work is None:
        shutil.rmtree(work)
    return 0 if passed and subset_s < LONGEST_SUBSET_S else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Mutation testing of the pipeline's core.")
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], help="all by default")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--work", type=Path, help="folder for the copy, kept afterwards")
    return parser.parse_args()


def _copy(work: Path, modules: tuple[str, ...]) -> None:
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    for folder in ("harness", "tests"):
        shutil.copytree(ROOT / folder, work / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", work)
    with (work / "tests" / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(PROFILE)
    settings = {
        "source_paths": ["harness/pipeline"],
        "only_mutate": [f"harness/pipeline/{module}.py" for module in modules],
        "also_copy": ["harness", "tests", "pyproject.toml"],
        "pytest_add_cli_args_test_selection": list(SUBSET),
        "pytest_add_cli_args": ["-p", "no:cacheprovider", *(f"--deselect={name}" for name in LEFT_OUT)],
    }
    lines = [f"{key}=\n    " + "\n    ".join(values) for key, values in settings.items()]
    (work / "setup.cfg").write_text("[mutmut]\n" + "\n".join(lines) + "\n", encoding="utf-8")


def _subset_seconds(work: Path) -> tuple[float, float]:
    """Time on the clock and of the processor; only the latter is the same on a machine that does something else too.

    Of the second run: the first compiles the copy.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *SUBSET]
    command += [f"--deselect={name}" for name in LEFT_OUT]
    elapsed_s = spent_s = 0.0
    for _ in range(2):
        began, used = time.monotonic(), os.times()
        subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
        now = os.times()
        elapsed_s = time.monotonic() - began
        spent_s = now.children_user + now.children_system - used.children_user - used.children_system
    return elapsed_s, spent_s


def _mutants(work: Path) -> list[Mutant]:
    statuses: dict[str, str] = {}
    for line in _mutmut(work, "results", "--all", "true").splitlines():
        name, separator, status = line.strip().rpartition(": ")
        if separator:
            statuses[name] = status
    alive = [name for name, status in statuses.items() if status not in KILLED]
    with ThreadPoolExecutor(2) as pool:
        changes = dict(zip(alive, pool.map(lambda name: _change(_mutmut(work, "show", name)), alive), strict=True))
    return [Mutant(*_place(name), name, status, changes.get(name, ("", ""))) for name, status in statuses.items()]


def _place(name: str) -> tuple[str, str]:
    """Module and function of a mutant: mutmut calls them ``package.module.xǁClassǁmethod__mutmut_7``."""
    where = name.removeprefix("harness.pipeline.").rpartition("__mutmut_")[0]
    module, _, function = where.partition(".")
    return module, function.removeprefix("x").removeprefix("ǁ").removeprefix("_").replace("ǁ", ".")


def _change(diff: str) -> tuple[str, str]:
    removed, added = (
        " ".join(
            line[1:].strip() for line in diff.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)
        )
        for sign in "-+"
    )
    return removed, added


def _mutmut(work: Path, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments], cwd=work, check=True, capture_output=True, text=True
    ).stdout


def _report(mutants: list[Mutant], modules: tuple[str, ...], seconds: float) -> bool:
    passed = True
    print(f"\n| module | mutants | killed | timed out | survived | not reached | killed of all |\n|{'---|' * 7}")
    for module in (*modules, "all"):
        counts = Counter(mutant.status for mutant in mutants if module in (mutant.module, "all"))
        total, killed = sum(counts.values()), sum(counts[status] for status in KILLED)
        passed = passed and killed >= LEAST_KILLED * total
        rest = (counts["killed"], counts["timeout"], counts["survived"], counts["no tests"])
        print(f"| {module} | {total} | {' | '.join(map(str, rest))} | {killed / max(1, total):.1%} |")
    print(f"\n{seconds:.0f} s\n")
    explained = EXPLAINED.read_text(encoding="utf-8") if EXPLAINED.exists() else ""
    for mutant in mutants:
        if mutant.status not in KILLED:
            known = mutant.row() in explained
            passed = passed and known
            print(mutant.row() + ("" if known else f" NOT EXPLAINED ({mutant.status}, {mutant.name})"))
    return passed


if __name__ == "__main__":
    sys.exit(main())
