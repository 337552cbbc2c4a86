"""Options that mean the same for every command, and their defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.errors import InputError

Out = Annotated[Path, typer.Option("--out", help="Folder for reports and saved runs.", metavar="DIR")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what did not pass, and the last line.")]
Workers = Annotated[
    int, typer.Option("--workers", help="Processes that work side by side; the results are the same.", min=1)
]
Seed = Annotated[int, typer.Option("--seed", help="Chooses whatever is left to chance.", min=0)]
Bisect = Annotated[
    bool, typer.Option("--bisect", help="For git bisect run: exit code 0 for PASS, 1 for FAIL, 125 for all else.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the run that was interrupted in --out; keep what it has judged.")
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only scenarios with this tag; can be given again.", metavar="TAG")
]
ExcludeTags = Annotated[
    list[str] | None,
    typer.Option("--exclude-tag", help="No scenarios with this tag; can be given again.", metavar="TAG"),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        "-k",
        help="Only cases with this in their name or path; * and ? stand for anything. Can be given again.",
        metavar="TEXT",
    ),
]
List = Annotated[bool, typer.Option("--list", help="Say which cases there are, and judge none.")]
BaselineFile = Annotated[
    Path | None, typer.Option("--baseline", help="Judge against this accepted result.", metavar="FILE")
]
UpdateBaseline = Annotated[bool, typer.Option("--update-baseline", help="Accept this run: write it to the baseline.")]
TokenTolerance = Annotated[
    float | None,
    typer.Option(
        help="With --baseline: how many percent more prompt tokens than accepted are no failure; by default any.",
        min=0,
        metavar="PERCENT",
    ),
]
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
