"""What git commands do: which subcommand runs, seen through git's own options, and whether it only reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from harness.pipeline.decision import Decision, Ruling, strictest
from harness.pipeline.shell.rules import Predicate, Word, denied, names, only, without

_HARMLESS_GLOBAL = re.compile(r"--(no-pager|no-replace-objects|bare|literal-pathspecs|no-optional-locks|version)|-[vP]")
_GLOBALS_WITH_VALUE = names(
    "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --list-cmds"
)
_LISTS = r"--(list|contains|no-contains|merged|no-merged|points-at)(=.*)?"
_LISTING = (
    r"-[arvi]+|--(all|remotes|verbose|show-current|column|no-column|no-color|color|sort|format|ignore-case|abbrev)(=.*)?|"
    + _LISTS
)


def _listing(arguments: Sequence[Word]) -> str | None:
    """Branches and tags are listed without a name; with one they are made, unless an option says list."""
    lists = any(re.fullmatch(_LISTS, word.text) for word in arguments)
    for word in arguments:
        option = word.text.startswith("-")
        if not word.exact or (option and not re.fullmatch(_LISTING, word.text)) or (not option and not lists):
            return "only listing is reading"
    return None


def _first(words: str, inner: Predicate, *, empty: bool) -> Predicate:
    """Reading if the first argument is one of ``words``, or missing where ``empty`` is true."""
    allowed = names(words)

    def judge(arguments: Sequence[Word]) -> str | None:
        if not arguments:
            return None if empty else "only listing is reading"
        if not arguments[0].exact or arguments[0].text not in allowed:
            return f"{arguments[0].text} changes something"
        return inner(arguments[1:])

    return judge


_HISTORY = without("", "--output --ext-diff --open-files-in-pager")
_PLAIN = only(r"[^-].*", "an option may change something")
_CONFIG_PLACE = re.compile(r"--(global|local|system|worktree|show-origin|show-scope|includes|null|name-only)|-z")
_CONFIG_READS = _first("--get --get-all --get-regexp --list -l get list", _PLAIN, empty=False)


def _config(arguments: Sequence[Word]) -> str | None:
    """A setting is shown if its name stands alone, or with an option that shows."""
    rest = [word for word in arguments if not (word.exact and _CONFIG_PLACE.fullmatch(word.text))]
    if len(rest) == 1 and rest[0].exact and re.fullmatch(r"[A-Za-z][\w-]*(\.[^=\s]+)+", rest[0].text):
        return None
    return _CONFIG_READS(rest)


READERS: Mapping[str, Predicate] = {
    **dict.fromkeys(
        names(
            "status log diff show rev-parse ls-files ls-tree blame annotate shortlog describe rev-list merge-base "
            "name-rev for-each-ref show-ref show-branch diff-tree diff-index diff-files count-objects check-ignore "
            "check-attr whatchanged cherry range-diff version var"
        ),
        _HISTORY,
    ),
    "cat-file": without("", "--filters --textconv"),
    "grep": without("O", "--open-files-in-pager --ext-grep"),
    "branch": _listing,
    "tag": lambda arguments: _listing([Word("--list") if w.text == "-l" else w for w in arguments]),
    "remote": _first("-v --verbose get-url", _PLAIN, empty=True),
    "stash": _first("list show", _HISTORY, empty=False),
    "reflog": _first("show", _HISTORY, empty=True),
    "worktree": _first("list", only(r"--porcelain|-v|-z", "an option may change something"), empty=False),
    "notes": _first("list show", _PLAIN, empty=True),
    "config": _config,
    "submodule": _first(
        "status summary", only(r"--recursive|--cached|--quiet", "an option may change something"), empty=True
    ),
    "fsck": without("", "--lost-found"),
    "help": only(r"-[ag]|--all|--guides", "opens a page in another program"),
    "symbolic-ref": only(r"HEAD|--short|-q", "sets a reference"),
}
"""Subcommands of git that read, with what must not be in their arguments (bug report G10)."""

_DENIED = Ruling(Decision.DENY, "git reset throws work away")
_CHANGES: Mapping[str, str] = {
    "push": "changes another repository",
    "commit": "writes history",
    "checkout": "changes files",
    "clean": "removes files",
    "rm": "removes files",
}


def rule_git(arguments: Sequence[Word]) -> Ruling:
    """The ruling on ``git`` with these arguments: reset is denied, reading allowed, else asked for. Never raises."""
    notes: list[Ruling] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if not word.exact:
            if any(later.text == "reset" for later in arguments[at:]):
                return _DENIED
            return strictest(
                [*notes, _ask(f"git: which subcommand runs is not known, {word.text} stands in its place")]
            )
        if not word.text.startswith("-"):
            break
        name, _, value = word.text.partition("=")
        values = [value] if value else []
        if not value and name in _GLOBALS_WITH_VALUE:
            following = arguments[at + 1 : at + 2]
            values = [value.text for value in following]
            if not all(value.exact for value in following):
                notes.append(_ask(f"git {name}: its value may become other words"))
            at += 1
        at += 1
        if name != "-C" and not _HARMLESS_GLOBAL.fullmatch(word.text):
            notes.append(_ask(f"git {name} can change which programs run"))
            notes.extend(_rule_setting(setting) for setting in values)
    if at >= len(arguments):
        return strictest([*notes, Ruling(Decision.ALLOW, "git without a subcommand prints help")])
    subcommand, rest = arguments[at].text, arguments[at + 1 :]
    if subcommand == "reset":
        return _DENIED
    predicate = READERS.get(subcommand)
    objection = predicate(rest) if predicate else _CHANGES.get(subcommand, "is not known to only read")
    if objection is None:
        notes.append(Ruling(Decision.ALLOW, f"git {subcommand} only reads"))
    else:
        notes.append(_ask(f"git {subcommand}: {objection}"))
    return strictest(notes)


def _rule_setting(setting: str) -> Ruling:
    """A setting given on the command line may be a program or an alias: a denied one stays denied."""
    words = setting.rpartition("=")[2].lstrip("!").split()
    if words and (denied(words[0]) or words[0] == "reset"):
        return Ruling(Decision.DENY, f"git -c {setting}: runs {words[0]}")
    return _ask(f"git -c {setting} can change which programs run")


def _ask(reason: str) -> Ruling:
    return Ruling(Decision.ASK, reason)
