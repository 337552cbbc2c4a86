"""The YAML format of test cases, and what runs them."""
