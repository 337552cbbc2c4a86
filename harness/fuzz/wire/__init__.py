"""A real agent fuzzed over the wire: the server plays a model that calls its tools rightly and wrongly.

What holds of every agent, whatever its language: it ends, it answers each call once, what it sends next passes the
rules of the protocol, and it uses nothing of an answer that broke off.
"""

from harness.fuzz.wire.agent import WireAgent, WireOutcome
from harness.fuzz.wire.fuzzer import (
    DEFAULT_EXAMPLES,
    WIRE_ORACLES,
    WireFinding,
    WireReport,
    WireSpec,
    fuzz_agent,
)
from harness.fuzz.wire.scenarios import TIMEOUT_S, save_wire

__all__ = [
    "DEFAULT_EXAMPLES",
    "TIMEOUT_S",
    "WIRE_ORACLES",
    "WireAgent",
    "WireFinding",
    "WireOutcome",
    "WireReport",
    "WireSpec",
    "fuzz_agent",
    "save_wire",
]
