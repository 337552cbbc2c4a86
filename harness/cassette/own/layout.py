"""Names of the format that reader and writer share."""

from __future__ import annotations

NAME = "harness"
FORMAT = "harness-cassette"
VERSION = 1
SUFFIX = ".cassette.jsonl"
