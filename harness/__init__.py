"""A test harness for tool-calling agents: replay recorded LLM traffic through the real tool pipeline and judge it."""

__version__ = "0.1.0"
