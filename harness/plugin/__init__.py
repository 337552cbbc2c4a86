"""What the pytest plugin is made of; imported only by tests that need it."""
