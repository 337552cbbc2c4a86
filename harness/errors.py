"""Errors written for the person who reads them: what is wrong, where, and what to do."""

from __future__ import annotations


class HarnessError(Exception):
    """Base of every error this package raises on purpose; its text is one line a person can act on."""


class InputError(HarnessError):
    """A file, option or value that cannot be used; the command line prints it and exits with 2.

    ``where`` names the place (file, line, key or exchange), ``hint`` says what to do about it.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text} ({hint})" if hint else text)
