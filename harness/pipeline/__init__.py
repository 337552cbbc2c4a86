"""The agent's tool pipeline as the seeds describe it: the system under test."""
