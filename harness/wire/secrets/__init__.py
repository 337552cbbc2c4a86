"""Secrets in requests and responses: finding them, and replacing them by placeholders."""

from __future__ import annotations

from harness.wire.secrets.finder import Secret, SecretFinder
from harness.wire.secrets.scrubber import Scrubber

__all__ = ["Scrubber", "Secret", "SecretFinder"]
