"""Checks that are Python functions: what they are given, and what their answers mean."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.scenario.functions import FunctionError, load_function


class BrokenCheckError(HarnessError):
    """A function that judged nothing: it cannot be had, raised something else than AssertionError, or answers oddly."""


class Functions:
    """The functions that a scenario's checks name, each loaded once; ``folder`` is the scenario's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: dict[str, Callable[..., Any]] = {}

    def objection(self, name: str, subject: object) -> str:
        """Why the function says that ``subject`` is wrong, empty where it has nothing against it.

        True and None are no objection, as of a test that asserts. False, a text (the reason) and an AssertionError
        are one. Raises BrokenCheckError for everything else.
        """
        try:
            if name not in self._loaded:
                self._loaded[name] = load_function(name, self._folder)
            answer = self._loaded[name](subject)
        except AssertionError as error:
            return " ".join(str(error).split()) or _assertion(error)
        except FunctionError as error:
            raise BrokenCheckError(str(error)) from error
        except Exception as error:  # whatever a user's function raises, nothing was judged
            raise BrokenCheckError(f"{name} raised {type(error).__name__}: {error}{_place(error)}") from error
        if answer is None or answer is True:
            return ""
        if answer is False:
            return f"{name} says no"
        if isinstance(answer, str):
            return answer or f"{name} says no, and not why"
        raise BrokenCheckError(f"{name} gave {type(answer).__name__}; it gives True, False, None or the reason as text")


def _assertion(error: AssertionError) -> str:
    """The source line of an assertion that says nothing."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{frame.line or 'an assertion'} does not hold"


def _place(error: Exception) -> str:
    """Where in the function's own file it came to the error."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    own = [frame for frame in frames if frame.filename == frames[0].filename]
    return f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
