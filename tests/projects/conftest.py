"""The projects here are run by tests/plugin as their users would, not collected with the harness's own tests."""

collect_ignore_glob = ["*"]
