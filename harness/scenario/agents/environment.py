"""The environment of an agent that is a process: nothing of the user's but PATH, nothing that differs by the day."""

from __future__ import annotations

import os
from collections.abc import Mapping

from harness.scenario.agents.context import AgentContext

COMMITS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "harness",
    "GIT_AUTHOR_EMAIL": "harness@localhost",
    "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "harness",
    "GIT_COMMITTER_EMAIL": "harness@localhost",
    "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z",
}
"""Who commits and when, so that the same commits have the same hash from day to day."""

QUIET = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "CI": "1",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""What keeps an agent from asking, reporting to its maker, and reaching the harness by way of a proxy."""


def model_environment(context: AgentContext) -> dict[str, str]:
    """Where SDKs look for the model's address and key."""
    return {
        "OPENAI_BASE_URL": context.base_url,
        "OPENAI_API_BASE": context.base_url,
        "OPENAI_API_KEY": context.api_key,
    }


def agent_environment(context: AgentContext, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a process; PATH and TMPDIR are of ``given``, by default this process's."""
    given = os.environ if given is None else given
    home = str(context.home)
    return {
        "PATH": given.get("PATH", os.defpath),
        "TMPDIR": given.get("TMPDIR", "/tmp"),  # noqa: S108  where programs look without it
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        **QUIET,
        **COMMITS,
        **model_environment(context),
    }
