"""What an agent did in a run, short enough to be kept in a baseline and compared."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import groupby

from harness.trace.run import Run


@dataclass(frozen=True, slots=True)
class Behaviour:
    """``calls`` are the names of the calls in order, repeats in a row once with their number, such as ``Read*3 Edit``.

    ``digest`` tells apart also what the text does not show: arguments, how the calls ended, batches, final texts.
    """

    calls: str = ""
    digest: str = ""


def behaviour_of(run: Run) -> Behaviour:
    """The behaviour of a run, all its lanes; the same behaviour has the same digest, on every machine."""
    names = [call.name for lane in run.lanes for step in lane.steps for call in step.calls]
    counted = [(name, len(list(same))) for name, same in groupby(names)]
    told = [
        [
            lane.name,
            lane.outcome,
            lane.final_text,
            [
                [step.index, [[call.name, call.arguments, call.batch, call.status, call.error_code]
                              for call in step.calls]]
                for step in lane.steps
            ],
        ]
        for lane in run.lanes
    ]  # fmt: skip
    text = json.dumps(told, sort_keys=True, default=str, skipkeys=True)
    return Behaviour(
        " ".join(name if number == 1 else f"{name}*{number}" for name, number in counted),
        hashlib.sha256(text.encode()).hexdigest()[:12],
    )
