"""Trajectories that others recorded, read as runs: one format a file, one run a trial."""

from __future__ import annotations

from harness.trace.importing.trajectories import KINDS, read_trajectories

__all__ = ["KINDS", "read_trajectories"]
