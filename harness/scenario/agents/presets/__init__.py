"""Presets of real agents, as data: how each is configured, started and installed, one TOML file an agent."""
