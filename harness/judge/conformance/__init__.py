"""Hostile streams through several assemblers, and which calls an agent would run.

Anybody's assembler can take part: see `harness.judge.conformance.assemblers`.
"""

from __future__ import annotations

from harness.judge.conformance.assemblers import Assembler, load_assembler
from harness.judge.conformance.cases import CASES, HostileStream
from harness.judge.conformance.compare import Comparison, Outcome, Result, compare

__all__ = ["CASES", "Assembler", "Comparison", "HostileStream", "Outcome", "Result", "compare", "load_assembler"]
