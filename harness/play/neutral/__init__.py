"""Scripts written once for all agents: neutral actions, put into calls of the tools that a request offers."""
