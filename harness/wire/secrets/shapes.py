"""What secrets look like: the shapes of keys, the names under which secrets stand, and what only looks like one.

Sources of the shapes: the providers' own documents and the public rules of secret scanners (GitHub's list of supported
patterns, gitleaks). Every shape begins with a fixed text, so that looking for it costs nearly nothing, and may not
begin inside a longer word: hashes, base64 and ids stay as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

KINDS = (
    "anthropic-key",
    "api-key",
    "aws-key",
    "cookie",
    "github-token",
    "google-key",
    "jwt",
    "openai-key",
    "organization",
    "password",
    "private-key",
    "project",
    "secret",
    "slack-token",
    "token",
)

PLACEHOLDER = re.compile(rf"<({'|'.join(KINDS)})-(\d{{1,9}})>")

# An escape of JSON before a key is no part of a word: "\\nsk-…" in a text that quotes JSON.
_START = r"""(?:(?<![A-Za-z0-9_+-])|(?<=\\[nrtbf"/\\])|(?<=\\u[0-9a-fA-F]{4}))"""


class Shape(NamedTuple):
    """A kind of key: ``hint`` is the text at its beginning, ``regex`` matches from there."""

    kind: str
    hint: str
    regex: re.Pattern[str]


def _shape(kind: str, hint: str, rest: str) -> Shape:
    return Shape(kind, hint, re.compile(f"{_START}{hint}(?:{rest})", re.ASCII))


# A key holds a digit, or is so long and unbroken that it is no compound word (CSS classes begin with "sk-" too).
_LONG = r"(?=[A-Za-z_-]{0,80}[0-9]|[A-Za-z0-9]{32})[A-Za-z0-9_-]{20,}+"

SHAPES = (
    _shape("anthropic-key", "sk-ant-", r"[A-Za-z0-9_-]{12,}+"),
    _shape("api-key", "sk-or-", r"(?:v1-)?[A-Za-z0-9]{16,}+"),
    _shape("openai-key", "sk-", rf"(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{{12,}}+|{_LONG}"),
    _shape("github-token", "github_pat_", r"[A-Za-z0-9_]{20,}+"),
    *(_shape("github-token", f"gh{letter}_", r"[A-Za-z0-9]{20,}+") for letter in "pousr"),
    _shape("token", "glpat-", r"[A-Za-z0-9_-]{20,}+"),
    *(
        _shape("aws-key", prefix, r"[A-Z0-9]{16}(?![A-Za-z0-9_+/=-])")
        for prefix in ("AKIA", "ASIA")
    ),
    _shape("google-key", "AIza", r"[A-Za-z0-9_-]{30,}+"),
    _shape("token", "ya29.", r"[A-Za-z0-9_-]{20,}+"),
    _shape("secret", "GOCSPX-", r"[A-Za-z0-9_-]{20,}+"),
    *(_shape("slack-token", f"xox{letter}-", r"(?=[A-Za-z-]{0,80}[0-9])[A-Za-z0-9-]{10,}+") for letter in "abeoprs"),
    _shape("slack-token", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,}+"),
    _shape("jwt", "eyJ", r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]++){0,3}"),
    _shape("api-key", "gsk_", r"[A-Za-z0-9]{32,}+"),
    _shape("api-key", "hf_", r"[A-Za-z0-9]{30,}+"),
    _shape("api-key", "xai-", r"[A-Za-z0-9]{40,}+"),
    _shape("api-key", "pplx-", r"[A-Za-z0-9]{40,}+"),
    *(_shape("api-key", f"{prefix}_live_", r"[A-Za-z0-9]{16,}+") for prefix in ("sk", "rk")),
    _shape("token", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9_-])"),
    _shape("token", "pypi-", r"AgE[A-Za-z0-9_-]{40,}+"),
    _shape("organization", "org-", r"(?=[A-Za-z]{0,40}[0-9A-Z])[A-Za-z0-9]{16,}+(?![A-Za-z0-9_-])"),
    _shape("project", "proj_", r"(?=[A-Za-z]{0,40}[0-9A-Z])[A-Za-z0-9]{16,}+(?![A-Za-z0-9_-])"),
)  # fmt: skip

ACCOUNT_KINDS = frozenset({"organization", "project"})
"""Kinds that name an account and open nothing."""

BEARER = re.compile(
    r"(?<![A-Za-z0-9_])bearer(?:\s|%20|\+){1,4}((?=[^0-9\s]{0,200}[0-9]|\S{24})[A-Za-z0-9._~+/-]{8,}+={0,2})",
    re.IGNORECASE | re.ASCII,
)
USERINFO = re.compile(r"(?<=://)([^\s/:@?#\"'`\\<>{}$]{0,128}):([^\s/@?#\"'`\\<>{}]{3,256})@", re.ASCII)
PEM_START = re.compile(r"-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# No possessive group: that of Python 3.11.2 stops after its first round. There is one way to match it in any case.
PEM_REST = re.compile(r"(?:[^-]++|-(?!----))*-----END (?:[A-Z]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
PEM_LINE = re.compile(
    r"(?:\\{1,8}[nr]|[\r\n])*+[ \t]{0,12}(?:\d{1,7}[ \t]{0,4}[\t:|\u2192][ \t]{0,4})?[A-Za-z0-9+/]{16,}+={0,2}"
)
PEM_BODY = re.compile(r"[A-Za-z0-9+/]{32}")

_STRONG = (
    r"api_?key|api_?token|(?:access|refresh|auth|bearer|session|security|id)_?token|(?:app|api|client|webhook|signing|"
    r"shared|jwt)_?secret|secret_?(?:access_?)?key|private_?key|account_?key|passw(?:or)?d|passphrase|subscription_?key"
)
_KEY = re.compile(rf"(?:^|_)(?:(?P<strong>{_STRONG}|secret|pwd|(?:set_)?cookie|(?:proxy_)?authorization)|token)$")
_CURSOR = re.compile(r"(?:page|next|prev(?:ious)?|continuation|cursor|sync|resume)[-_ ]?token$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[-. ]+")

NAMES = ("key", "token", "secret", "password", "passwd", "passphrase", "pwd", "authorization", "cookie")
"""What the name of a secret in running text ends with."""

STRONG_NAME = re.compile(rf"(?:{_STRONG.replace('_?', '[-_ ]?')})$", re.IGNORECASE)
ASSIGNED = re.compile(
    r"""\\{0,8}["'`]?\s{0,8}(?:=>|:=|[:=])\s{0,8}(?:\\{0,8}["'`])?(?:(?:bearer|basic)\s{1,4})?"""
    r"""((?![$%<*\[{])[^\s"'`\\,;&<>(){}\[\]]{8,8192}+)(?![(\[])""",
    re.IGNORECASE,
)
URL_PARAMETER = re.compile(r"[?&;](?P<name>[A-Za-z0-9_.-]{1,40})=(?P<value>[^&;#\s\"'`\\<>]{1,4096})", re.ASCII)
_URL_NAMES = frozenset({
    "auth", "code", "credential", "key", "pwd", "sas", "secret", "sig", "signature", "subscription_key", "token",
    "x_amz_credential", "x_amz_security_token", "x_amz_signature", "x_goog_credential", "x_goog_signature",
})  # fmt: skip

HINTS = (*sorted({shape.hint.lower() for shape in SHAPES}), *NAMES, "bearer", "://")
"""A text without any of them, in lower case, holds no secret that is known by its looks."""

_DUMMY = re.compile(
    r"""\W*(?:redacted|filtered|scrubbed|masked|removed|censored|hidden|none|null|nil|undefined|string|str|text|true
    |false|required|optional|empty|password|secret|token|pass|api[-_ ]?key|your[-_ ].*|changeme|not[-_ ]needed|x+)\W*
    |[*.\u2022\u2026_-]+|\$.*|%\w+%|<.*>|\{.*\}|\[.*\]|os\.environ.*|process\.env.*
    |.*(?:\*{4}|x{6}|\.\.\.|\u2026).*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_FILE = re.compile(r"(?:~|\.{0,2})/(?:[^/]*/)*[^/]*|[A-Za-z][\w+.-]*://.*")


@lru_cache(maxsize=4096)
def key_strength(name: str) -> Literal["strong", "weak"] | None:
    """Whether a key of JSON names a secret: *weak* where other things bear the name too (``token`` in logprobs)."""
    if len(name) > 100:
        return None
    found = _KEY.search(_SEPARATORS.sub("_", _CAMEL.sub("_", name)).lower())
    if found is None or _CURSOR.search(name):
        return None
    return "strong" if found["strong"] else "weak"


def key_kind(name: str) -> str:
    """The kind of the secret that stands under a name."""
    plain = _SEPARATORS.sub("_", _CAMEL.sub("_", name)).lower()
    if "pass" in plain or "pwd" in plain:
        return "password"
    if "private" in plain:
        return "private-key"
    if "cookie" in plain:
        return "cookie"
    if plain.endswith("key") and "secret" not in plain:
        return "api-key"
    return "token" if plain.endswith("token") else "secret"


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter holds a credential; shorter names than in JSON, as in ``?key=``."""
    plain = _SEPARATORS.sub("_", name).lower()
    return plain in _URL_NAMES or key_strength(name) is not None


def is_dummy(value: str) -> bool:
    """Whether a value stands for a secret without being one: ``[REDACTED]``, ``$API_KEY``, ``your-api-key``."""
    return _DUMMY.fullmatch(value[:300].strip()) is not None


def is_telling(value: str, *, strong: bool) -> bool:
    """Whether a value in running text looks like a secret, and not like a word, a name of code or a path."""
    if is_dummy(value) or _DOTTED.fullmatch(value):
        return False
    if not any(character.isdigit() for character in value) or not any(character.isalpha() for character in value):
        return False
    if strong:
        return not _FILE.fullmatch(value) or _is_aws_secret(value)
    return len(value) >= 16 and sum(map(str.isdigit, value)) >= 3 and not _FILE.fullmatch(value)


def is_file_or_address(value: str) -> bool:
    """Whether a value under a secret's name is a path or an address; AWS secret keys may begin with a slash."""
    return _FILE.fullmatch(value) is not None and not _is_aws_secret(value)


def _is_aws_secret(value: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9/+]{40}", value) is not None and value.lower() != value
