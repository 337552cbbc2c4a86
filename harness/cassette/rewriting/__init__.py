"""Recorded responses for a session in other folders."""

from harness.cassette.rewriting.response import rewrite_response

__all__ = ["rewrite_response"]
