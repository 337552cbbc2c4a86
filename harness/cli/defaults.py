"""The project's configuration as the defaults of commands; what is given on the command line wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.cli.options import DEFAULT_OUT
from harness.configuration import Configuration

_PATHS = ("run", "check")
"""Commands whose paths are the project's scenarios and cassettes."""


def commands(group: Any) -> dict[str, list[Any]]:
    """The parameters of each command of a group."""
    return {name: list(command.params) for name, command in getattr(group, "commands", {}).items()}


def defaults(configuration: Configuration, parameters: Mapping[str, Iterable[Any]]) -> dict[str, Any]:
    """For each command the defaults of those of its parameters that the configuration sets."""
    if configuration.file is None:
        return {}
    settings = _settings(configuration)
    found: dict[str, dict[str, Any]] = {}
    for command, known in parameters.items():
        found[command] = {
            parameter.name: settings[parameter.name]
            for parameter in known
            if parameter.name in settings and _means_the_same(command, parameter)
        }
    if configuration.out is not None and "report" in found:
        found["report"]["paths"] = [str(configuration.out)]
    return found


def _settings(configuration: Configuration) -> dict[str, Any]:
    """The settings that are there, by the names of parameters."""
    endpoints = configuration.endpoints
    lists = {
        "paths": configuration.paths,
        "secret": configuration.secrets,
        "tag": configuration.tags,
        "exclude_tag": configuration.exclude_tags,
        "endpoint": None if endpoints is None else [f"{model}={url}" for model, url in endpoints.items()],
    }
    single = {
        "out": None if configuration.out is None else str(configuration.out),
        "baseline": None if configuration.baseline is None else str(configuration.baseline),
        "allow_drift": None if configuration.allow_drift is None else ",".join(configuration.allow_drift),
        "workers": configuration.workers,
        "seed": configuration.seed,
        "on_miss": configuration.on_miss,
        "token_tolerance": configuration.token_tolerance,
        "api_key_env": configuration.api_key_env,
    }
    several = {name: [str(value) for value in values] for name, values in lists.items() if values is not None}
    return several | {name: value for name, value in single.items() if value is not None}


def _means_the_same(command: str, parameter: Any) -> bool:
    """Whether a parameter is the one that the setting is about: a few commands have others of the same name."""
    if parameter.name == "paths":
        return command in _PATHS
    if parameter.name == "out":
        return bool(parameter.default == DEFAULT_OUT)
    return parameter.name != "baseline" or command == "run"
