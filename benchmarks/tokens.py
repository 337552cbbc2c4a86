"""Counting a growing conversation: each step beside counting each request anew.

``python benchmarks/tokens.py`` prints a Markdown table. A conversation grows to 100,000 messages over 2,000 steps; the
naive recount encodes all messages of every request, so it is measured over the first steps only. The ratios count, the
times depend on the machine.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from harness.measure.conversation import ConversationCounter
from harness.measure.encodings import O200K, encoding
from harness.measure.render import render_tools

MESSAGES_A_STEP = 50
SIZES = (250, 500, 1000, 2000)
NAIVE_SIZES = (25, 50, 100)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"tool_{number}",
            "description": "Do the thing that this tool is for, and say what came of it.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string", "description": "A file."}}},
        },
    }
    for number in range(15)
]


def conversation(steps: int, seed: int = 4) -> list[dict[str, Any]]:
    """Messages of all steps; no two alike, so that no cache of texts helps."""
    source = random.Random(seed)
    words = ["".join(source.choices("etaoinshrdlu", k=source.randint(2, 9))) for _ in range(2000)]
    roles = ("user", "assistant")
    return [
        {"role": roles[number % 2], "content": f"{number} " + " ".join(source.choices(words, k=30))}
        for number in range(steps * MESSAGES_A_STEP)
    ]


def incremental(messages: Sequence[dict[str, Any]], steps: int) -> int:
    counter = ConversationCounter()
    total = 0
    sent: list[dict[str, Any]] = []  # one list that grows, as an agent's history does
    for step in range(steps):
        sent += messages[step * MESSAGES_A_STEP : (step + 1) * MESSAGES_A_STEP]
        total = counter.count({"model": "gpt-4o", "messages": sent, "tools": TOOLS}).total
    return total


def naive(messages: Sequence[dict[str, Any]], steps: int) -> int:
    table = encoding(O200K)
    total = 0
    for step in range(1, steps + 1):
        sent = messages[: step * MESSAGES_A_STEP]
        texts = [table.count_anew(message["content"]) + 4 for message in sent]
        total = 3 + sum(texts) + 4 + table.count_anew(render_tools(TOOLS).text) - 1
    return total


def main() -> None:
    encoding(O200K).count("the tables are loaded")
    print("| steps | messages | counted by step, s | characters encoded | naive recount, s | characters encoded |")
    print("|---|---|---|---|---|---|")
    for steps in sorted({*SIZES, *NAIVE_SIZES}):
        fresh = conversation(steps, seed=steps)
        cells = [_measured(incremental, fresh, steps)]
        cells += [_measured(naive, fresh, steps)] if steps in NAIVE_SIZES else [(None, 0, 0)]
        (_, seconds, characters), (other, naive_seconds, naive_characters) = cells
        if other is not None and other != cells[0][0]:
            raise SystemExit(f"{steps} steps: {cells[0][0]} and {other} tokens")
        rest = f"{naive_seconds:.2f} | {naive_characters:,}" if other is not None else "- | -"
        print(f"| {steps:,} | {steps * MESSAGES_A_STEP:,} | {seconds:.2f} | {characters:,} | {rest} |")


def _measured(count: Any, messages: Sequence[dict[str, Any]], steps: int) -> tuple[int, float, int]:
    table = encoding(O200K)
    before, start = table.encoded_characters, time.perf_counter()
    total = count(messages, steps)
    return total, time.perf_counter() - start, table.encoded_characters - before


if __name__ == "__main__":
    main()
