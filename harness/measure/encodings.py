"""Which encoding a model's tokens are counted in, and how many tokens a text is; offline, tables loaded when needed.

The names follow the rules worked out from recordings (docs/token-counting.md): o200k_base for gpt-4o and gpt-4.1,
cl100k_base for gpt-3.5-turbo and gpt-4. Any other model is counted in o200k_base, as an estimate.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Protocol

O200K = "o200k_base"
CL100K = "cl100k_base"

# With or without a provider's prefix (`openai/gpt-4o`) or a fine-tuning's (`ft:gpt-4o-mini:org::id`).
_PREFIX = re.compile(r"^(?:ft:|.*/)", re.DOTALL)
_O200K_EXACT = re.compile(r"(?:gpt-4o(?![a-z])|gpt-4\.1(?!\d))(?!.*(?:audio|search|realtime|transcribe|tts))")
_CL100K_EXACT = re.compile(r"gpt-(?:3\.5|35)-turbo|gpt-4(?:-|$)")
_OTHER_OPENAI = re.compile(r"gpt-|chatgpt-|o\d(?:-|$)|codex-|computer-use-")

# A longer text is known by its digest, so that what was counted is not kept in memory.
_SHORT = 64
_CACHE_ENTRIES = 1 << 19


class _Tokenizer(Protocol):
    def count(self, text: str) -> int: ...


class Encoding:
    """A table of tokens; `count` encodes the same text once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.encoded_characters = 0
        self._tokenizer: _Tokenizer | None = None
        self._counts: dict[str | bytes, int] = {}

    def count(self, text: str) -> int:
        """The number of tokens in a text; names of special tokens in it count as the text they are."""
        if not text:
            return 0
        key = text if len(text) <= _SHORT else _digest(text)
        found = self._counts.get(key)
        if found is None:
            if len(self._counts) >= _CACHE_ENTRIES:
                self._counts.clear()
            found = self._counts[key] = self.count_anew(text)
        return found

    def count_anew(self, text: str) -> int:
        """As `count`, without looking up what was counted before."""
        self.encoded_characters += len(text)
        if self._tokenizer is None:
            self._tokenizer = _load(self.name)
        try:
            return self._tokenizer.count(text)
        except UnicodeEncodeError:  # half a surrogate pair: JSON can write it, UTF-8 cannot
            return self._tokenizer.count(text.encode("utf-8", "replace").decode())


@dataclass(frozen=True, slots=True)
class ModelEncoding:
    """The encoding for a model; ``reason`` says why a count in it is only an estimate, None where it is not."""

    encoding: Encoding
    reason: str | None = None


def encoding_for(model: str | None) -> ModelEncoding:
    """The encoding of a model by its name."""
    if not model:
        return ModelEncoding(encoding(O200K), "no model is named")
    name = _PREFIX.sub("", model)
    if "/" in model and is_openai(model):
        # A gateway in between may add to the request or count on its own.
        table = CL100K if _CL100K_EXACT.match(name) else O200K
        return ModelEncoding(encoding(table), f"{model} is asked through a gateway")
    if _O200K_EXACT.match(name):
        return ModelEncoding(encoding(O200K))
    if _CL100K_EXACT.match(name):
        return ModelEncoding(encoding(CL100K))
    if is_openai(model):
        return ModelEncoding(encoding(O200K), f"the counting rules of {name} are not known")
    return ModelEncoding(encoding(O200K), f"{name} has a tokenizer of its own")


def is_openai(model: str | None) -> bool:
    """Whether a name is one of OpenAI's, as far as names tell; gpt-oss models follow other rules."""
    name = _PREFIX.sub("", model or "")
    return bool(_OTHER_OPENAI.match(name)) and not name.startswith("gpt-oss")


@cache
def encoding(name: str) -> Encoding:
    """The one object of an encoding, o200k_base or cl100k_base."""
    return Encoding(name)


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _load(name: str) -> _Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package opens its tables in a deprecated way
        # The bindings, not the tiktoken-like class above them: that refuses texts of a million characters.
        from bpe_openai import _bindings  # type: ignore[import-untyped]  # noqa: PLC0415  slow to import

    tokenizer: _Tokenizer = _bindings.tokenizer_for_encoding(name)
    return tokenizer
