"""A run's calls against a reference: which calls fit, in which order, and where the two part."""
