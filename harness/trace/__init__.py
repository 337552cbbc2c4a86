"""The run: lanes, steps and events, saved as a versioned folder."""
