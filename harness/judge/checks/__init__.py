"""A scenario's expectations, each judged against its run: a family of checks a module."""

from __future__ import annotations

from harness.judge.checks.scenario import judge_lanes, judge_scenario

__all__ = ["judge_lanes", "judge_scenario"]
