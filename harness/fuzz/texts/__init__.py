"""Raw ``arguments`` texts: an object written in the ways in which models and gateways write it, right and wrong."""

from harness.fuzz.texts.families import FAMILIES, RawText, raw_text
from harness.fuzz.texts.reading import Reading, read_strictly

__all__ = ["FAMILIES", "RawText", "Reading", "raw_text", "read_strictly"]
