"""Players and how they are reached: cassette, script, live model, through a transport of the real client."""
