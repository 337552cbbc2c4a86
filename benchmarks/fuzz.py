"""Values and near-misses of function schemas: how many schemas work, by two validators, and how fast.

``python benchmarks/fuzz.py [--peer PYTHON] PATH...`` reads function definitions from files and folders (JSON, JSON
lines, cassettes), makes 100 values and 20 near-misses of each distinct schema, and lists every schema for which
anything went wrong, with the reason. Then values per second are measured on a sample; with ``--peer``, an interpreter
that has hypothesis-jsonschema (0.23.1 needs Hypothesis below 6.170), beside that on the schemas that it can do. Needs
jsonschema.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
from fuzz_peer import values_per_second

from harness.errors import HarnessError, InputError
from harness.fuzz import (
    NearMissMaker,
    RandomChoices,
    RejectedError,
    ValueMaker,
    attempt,
    repaired_schema,
    schema_values,
)
from harness.fuzz.definitions import Definition, definitions_in

VALUES = 100
NEAR_MISSES = 20
SAMPLE = 40
PEER_SCRIPT = Path(__file__).with_name("fuzz_peer.py")


def definitions(paths: Sequence[Path]) -> Iterator[Definition]:
    """Those of all files below the paths; files that hold none, or that are something else, are passed over."""
    for path in paths:
        for file in [path] if path.is_file() else sorted(part for part in path.rglob("*") if part.is_file()):
            try:
                yield from definitions_in(file)
            except (HarnessError, ValueError):
                continue


def problem(schema: Any, rules: Counter[str]) -> str:
    """What goes wrong with a schema, or an empty text."""
    try:
        values, misses = ValueMaker(schema), NearMissMaker(schema)
    except InputError as error:
        return str(error)
    python, rust = jsonschema.Draft202012Validator(schema), jsonschema_rs.Draft202012Validator(schema)
    choices = RandomChoices.seeded(1)
    try:
        for _ in range(VALUES):
            value = attempt(values.value, choices)
            if not (python.is_valid(value) and rust.is_valid(value)):
                return f"a value is refused: {value!r}"
        for _ in range(NEAR_MISSES):
            miss = attempt(misses.near_miss, choices)
            rules[miss.broken.keyword] += 1
            if python.is_valid(miss.value) or rust.is_valid(miss.value):
                return f"a near-miss is accepted: {miss!r}"
    except RejectedError as error:
        return f"no value was found: {error}"
    return ""


def coverage(found: Sequence[Definition]) -> list[Any]:
    """Print what works and what does not; the distinct schemas that work, as they were meant."""
    distinct = {json.dumps(one.parameters, sort_keys=True): one for one in found}
    faults: Counter[str] = Counter()
    rules: Counter[str] = Counter()
    sound, wrong = [], []
    for definition in distinct.values():
        schema, said = repaired_schema(definition.parameters)
        faults.update(fault.why.partition(";")[0] for fault in said)
        if why := problem(schema, rules):
            wrong.append(f"{definition.where} {definition.name}: {why}")
        else:
            sound.append(schema)
    share = 100 * len(sound) / max(len(distinct), 1)
    print(f"{len(found):,} definitions, {len(distinct):,} distinct schemas, {len(sound):,} sound ({share:.2f} %)")
    print(f"each: {VALUES} values accepted and {NEAR_MISSES} near-misses refused by jsonschema and jsonschema-rs\n")
    print("| rule broken | near-misses |\n|---|---|")
    for keyword, count in rules.most_common():
        print(f"| `{keyword}` | {count:,} |")
    print("\n| schema fault | times |\n|---|---|")
    for why, count in faults.most_common():
        print(f"| {why} | {count:,} |")
    print("\nThe rest:" if wrong else "")
    for line in wrong:
        print(f"- {line}")
    return sound


def random_values_per_second(schema: Any) -> float:
    """With the seeded source, the schema read once."""
    maker, choices = ValueMaker(schema), RandomChoices.seeded(1)
    start = time.perf_counter()
    for _ in range(VALUES):
        attempt(maker.value, choices)
    return VALUES / (time.perf_counter() - start)


def speed(schemas: Sequence[Any], peer: str | None) -> None:
    sample = random.Random(1).sample(schemas, min(SAMPLE, len(schemas)))
    rows = {
        "seeded source": [random_values_per_second(schema) for schema in sample],
        "Hypothesis, this package": [values_per_second(partial(schema_values, schema), VALUES) for schema in sample],
    }
    if peer:
        done = subprocess.run([peer, PEER_SCRIPT], input=json.dumps(sample), capture_output=True, text=True, check=True)
        rows["Hypothesis, hypothesis-jsonschema"] = json.loads(done.stdout)
    print(f"\n| values per second, {len(sample)} schemas | schemas done | median | slowest tenth |\n|---|---|---|---|")
    for name, rates in rows.items():
        done_rates = sorted(rate for rate in rates if rate)
        tenth = done_rates[len(done_rates) // 10]
        print(f"| {name} | {len(done_rates)} | {statistics.median(done_rates):,.0f} | {tenth:,.0f} |")
    if peer:
        ours, theirs = rows["Hypothesis, this package"], rows["Hypothesis, hypothesis-jsonschema"]
        ratios = [one / other for one, other in zip(ours, theirs, strict=True) if one and other]
        ratio = statistics.median(ratios)
        print(f"\nThis package beside hypothesis-jsonschema, median over {len(ratios)}: {ratio:.1f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--peer", help="an interpreter that has hypothesis-jsonschema")
    arguments = parser.parse_args()
    speed(coverage(list(definitions(arguments.paths))), arguments.peer)


if __name__ == "__main__":
    main()
