"""Checks and verdicts."""
