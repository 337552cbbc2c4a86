"""A ready ``VCR`` for people who keep vcrpy: scrubs, matches whole requests, fails closed, loses nothing silently.

::

    from harness.cassette.vcr import vcr

    my_vcr = vcr(cassette_library_dir="cassettes")

    with my_vcr.use_cassette("session.yaml"):
        ...

What it changes, each for a bug that people reported (https://github.com/kevin1024/vcrpy/issues):

- Record mode is "none": an unknown request never reaches a server (#990).
- Requests match by method, URL and the body as JSON; vcrpy's default leaves the body out.
- A miss fails the block at its end, even if the program took it for a server error and went on (#526). So do recorded
  answers that nobody asked for (#516), unless ``allow_unused`` is given.
- Secrets are taken out of headers, whatever their case, URLs and bodies of both sides (#569), on each way to the file,
  since they are not even kept in memory (#961).
- Bodies are kept as transferred: no ``decode_compressed_response``, which hides double decoding, no JSON serializer
  (#51).
- While recording, each exchange is at once in ``NAME.partial``, which becomes ``NAME`` when the block succeeds (#205);
  ``NAME.lock`` keeps a second process out (#711).

vcrpy itself cannot keep a stream that breaks off, nor chunk times: `harness record` does.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from harness.errors import InputError

if TYPE_CHECKING:
    from vcr import VCR

# The first version that sees httpx2, which openai 3 sends its requests with.
NEEDED = (9, 4)


def vcr(**options: Any) -> VCR:
    """A ``vcr.VCR`` with safe defaults; ``options`` are its own, and ``allow_unused``.

    Raises InputError where vcrpy is missing, would not see the requests of an installed client, or is asked for what
    loses bytes.
    """
    demand_interception()
    from harness.cassette.vcr.session import HarnessVCR  # noqa: PLC0415 - vcrpy may not be installed

    return HarnessVCR(**options)


def demand_interception() -> None:
    """Raise InputError unless vcrpy is there and intercepts httpx2 where that is installed."""
    try:
        installed = version("vcrpy")
    except PackageNotFoundError as error:
        raise InputError("vcrpy is not installed", hint=f"pip install 'vcrpy>={_text(NEEDED)}'") from error
    if find_spec("httpx2") is None:
        return
    from vcr import patch  # noqa: PLC0415

    if _numbers(installed) < NEEDED or "httpx2" not in getattr(patch, "PATCHER_NAMES", ()):
        raise InputError(
            f"vcrpy {installed} does not see httpx2 {version('httpx2')}{_client()}: requests would reach the server",
            hint=f"pip install 'vcrpy>={_text(NEEDED)}'",
        )


def _client() -> str:
    try:
        return f", which openai {version('openai')} uses"
    except PackageNotFoundError:
        return ""


def _numbers(text: str) -> tuple[int, ...]:
    numbers = []
    for part in text.split(".")[:2]:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        numbers.append(int(digits or 0))
    return tuple(numbers)


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
