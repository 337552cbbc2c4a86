"""What goes wrong between a model and its reader, as edits of an answer: seeded, composable, the same everywhere."""

from harness.wire.faults.drawing import generate
from harness.wire.faults.fault import Applied, Fault, Mangled, rng_of
from harness.wire.faults.spec import KINDS, parse_fault, parse_faults, read_fault

__all__ = ["KINDS", "Applied", "Fault", "Mangled", "generate", "parse_fault", "parse_faults", "read_fault", "rng_of"]
