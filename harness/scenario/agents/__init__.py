"""What asks: the built-in pipeline, a Python callable, a command line."""
