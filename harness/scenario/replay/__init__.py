"""Recorded conversations again: the model's turns and the tools' results recorded, the pipeline real."""

from harness.scenario.replay.conversation import ReplayedCassette, replay_cassette

__all__ = ["ReplayedCassette", "replay_cassette"]
