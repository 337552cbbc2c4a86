"""How well prompt tokens are counted: the acceptance table over recorded exchanges of OpenAI models.

``python benchmarks/token_accuracy.py PATH...`` reads cassettes, or folders of them, and prints a Markdown table:
distinct exchanges with api.openai.com of gpt-3.5, gpt-4, gpt-4o and gpt-4.1 with text only, counted against the
usage recorded in them. ``--misses`` lists those that are not exact.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.cassette.cassette import Cassette
from harness.cassette.dialects import load_cassette
from harness.measure.accuracy import acceptance_table, judge_cassettes

SUFFIXES = (".yaml", ".yml")


def cassettes(paths: Sequence[Path]) -> Iterator[Cassette]:
    for path in paths:
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        for file in files:
            yield load_cassette(file)


def main(arguments: Sequence[str]) -> int:
    paths = [Path(argument) for argument in arguments if argument != "--misses"]
    if not paths or not all(path.exists() for path in paths):
        print(__doc__, file=sys.stderr)
        return 2
    judged = judge_cassettes(cassettes(paths), paths[0] if paths[0].is_dir() else paths[0].parent)
    print("| case | exchanges | exact | exact, % | within 2 | worst, tokens | worst, % |")
    print("|---|---|---|---|---|---|---|")
    for row in acceptance_table(judged):
        share = 100 * row.exact / row.exchanges if row.exchanges else 0
        worst = f"{row.worst:+} | {100 * row.worst_share:.1f}"
        print(f"| {row.case} | {row.exchanges} | {row.exact} | {share:.1f} | {row.within_two} | {worst} |")
    if "--misses" in arguments:
        for one in judged:
            if one.off or one.count.estimate:
                print(f"{one.path}#{one.index}: {one.count.total} for {one.recorded}; {'; '.join(one.count.reasons)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
