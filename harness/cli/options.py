"""Options that mean the same for every command, and their defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.errors import InputError

Out = Annotated[Path, typer.Option("--out", help="Folder for reports and saved runs.", metavar="DIR")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what did not pass, and the last line.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
ApiKeyEnv = Annotated[str, typer.Option(help="Environment variable that holds the API key.", metavar="NAME")]
Secrets = Annotated[
    list[str] | None,
    typer.Option("--secret", help="Regular expression of what is a secret too; can be given again.", metavar="REGEX"),
]
DEFAULT_OUT = Path("reports")
DEFAULT_PATHS = ("scenarios", "cassettes")


def model_url(entry: str) -> tuple[str, str]:
    """``MODEL=URL`` taken apart; raises InputError for anything else."""
    model, separator, url = entry.partition("=")
    if not separator or not model or not url.startswith(("http://", "https://")):
        raise InputError(
            f"{entry!r} is not MODEL=URL", where="--endpoint", hint="such as my-model=http://127.0.0.1:8090/v1"
        )
    return model, url
