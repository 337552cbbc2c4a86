"""Python functions that a scenario names: ``package.module:function``, or ``file.py:function`` beside it."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import HarnessError, InputError

FORM = r"[^:]+:[A-Za-z_][\w.]*"
"""What such a name looks like, as a whole."""


class FunctionError(HarnessError):
    """A function that cannot be had: its module is missing or raises when it is imported, or does not have it."""


def load_function(name: str, folder: Path) -> Callable[..., Any]:
    """The function of that name; ``folder`` is the scenario's, where files are looked for, and modules before others.

    A file is read anew each time, so that scenarios may each have an ``agent.py`` of their own; a module is imported
    once, as everywhere in Python. Raises FunctionError.
    """
    found = load_object(name, folder)
    if not callable(found):
        raise FunctionError(f"{name} is not a function but {type(found).__name__}")
    function: Callable[..., Any] = found
    return function


def load_object(name: str, folder: Path) -> Any:
    """What the name stands for, a function or not; as `load_function` in all else."""
    module_name, _, attribute = name.rpartition(":")
    with importable_from(folder, Path.cwd()):
        try:
            is_file = module_name.endswith(".py")
            found: Any = _module_of(folder / module_name) if is_file else importlib.import_module(module_name)
        except Exception as error:
            raise FunctionError(f"{name} cannot be imported: {type(error).__name__}: {_line(error)}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise FunctionError(f"{name} is not there: {module_name} has no {attribute}")
        found = getattr(found, part)
    return found


def named_from(name: str, folder: Path) -> str:
    """The name under which a scenario in ``folder`` has what ``name`` stands for in the working folder.

    Only a file has another one there; modules are looked for in the working folder as well.
    """
    module_name, _, attribute = name.rpartition(":")
    if not module_name.endswith(".py"):
        return name
    return f"{path_from(module_name, folder)}:{attribute}"


def path_from(path: str, folder: Path) -> str:
    """The path of a file, from the working folder, as a scenario in ``folder`` writes it."""
    return Path(os.path.relpath(path, folder)).as_posix()


def user_object(name: str, use: Callable[[Any], Any] = lambda found: found) -> Any:
    """What ``use`` makes of the object that ``module:object`` names, looked for in the working folder first.

    That folder stays importable, for what the object imports when it runs. Raises InputError for whatever goes wrong.
    """
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
        return use(found)
    except Exception as error:  # it is the user's code that runs here
        raise InputError(f"cannot be used: {type(error).__name__}: {error}", where=name) from error


def _module_of(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path.name}")
    name = f"harness_scenario_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def importable_from(*folders: Path) -> Iterator[None]:
    """Modules in these folders can be imported while the context is open, before all others."""
    added = [str(folder.resolve()) for folder in folders]
    sys.path[:0] = added
    try:
        yield
    finally:
        for folder in added:
            if folder in sys.path:  # what was imported may have changed it
                sys.path.remove(folder)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
