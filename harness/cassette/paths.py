r"""Known folders in texts, however they are spelled, and their exchange for others.

A session knows a few folders by name (its workspace, its HOME). They stand in prompts, results and arguments as they
are, with escaped slashes (``\/``), percent-encoded in URLs, with doubled backslashes, relative to the root
(``home/dev/x/repo``, where an agent takes that for its project), or as a *slug*: agents keep things about
``/home/dev/x/repo`` under ``-home-dev-x-repo``. `KnownPaths` finds all of these, for one side of a
replay (the recorded or the present one); `PathMap` exchanges one side for the other.

A folder is found only as a whole: ``/tmp/x`` stands in ``/tmp/x/a``, in ``"/tmp/x"`` and before the full stop of a
sentence, but not in ``/tmp/x2``, ``/tmp/x-1``, ``/tmp/x.old`` or ``/var/tmp/x``. Slugs are bounded in the same way, so
the slug of a folder inside a known one is not found: nothing tells it from the slug of a sibling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

# Not in any text that people write, and no letter: what it marks stays readable.
LITERAL_MARK = "\ue000"

_NAME = re.compile(r"\w+", re.ASCII)
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_HEX_ESCAPE = re.compile(r"%[0-9A-F]{2}")
_ALNUM_RUN = re.compile(r"[A-Za-z0-9]+")
_NOT_ALNUM = re.compile(r"[^A-Za-z0-9]")

# Languages written without blanks put their words right beside a path, so their letters end one.
_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_LETTER = rf"[^\W{_UNSPACED}]"
# In front of a path or slug: what is no part of a word although its last character may be a letter. An escape in
# JSON text that was not parsed, a percent escape, the end of a terminal's colour code.
_HEX = "[0-9A-Fa-f]"
_AFTER_ESCAPE = (
    rf"\\[nrtbf]|\\u(?:00[0-3AaBb]{_HEX}|20{_HEX}{{2}}|[2-9A-Fa-f]{_HEX}{{3}})|%{_HEX}{{2}}"
    r"|(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e)\[[0-9;]*m"
)
_BEFORE_PATH = re.compile(
    rf"(?:\A|[^\w/.~}})+@-]|[{_UNSPACED}]|{_AFTER_ESCAPE}"
    r"|(?:\A|[^\w.])[-+@]"  # a line of a diff, a file mentioned as @/path
    r"|:(?://|\\/\\/)"  # file:///path
    r"|(?:\A|[\s\"'`=(\[,;:])-[A-Za-z]"  # the option -I/path
    r")\Z"
)
_BEFORE_ROOTLESS = re.compile(rf"(?:\A|[^\w/\\.~}})+@$-]|[{_UNSPACED}]|{_AFTER_ESCAPE})\Z")
_ROOTLESS_PARTS = 3  # shorter ones are as likely a folder of the project: tmp/x
_CLEAR = rf"(?:\A|[^\w.-]|[{_UNSPACED}]|{_AFTER_ESCAPE})"
_BEHIND_PATH = (
    rf"(?!{_LETTER}|-(?!>)|~|[+@$]{_LETTER}|\$?\{{|\.+(?:{_LETTER}|[*?\[{{~$-])"
    rf"|\\u(?:00[C-Fc-f]|0[1-9A-Fa-f]{_HEX}|1{_HEX}{{2}}){_HEX}"  # a letter, escaped
    r"|%(?!2[2367CcFf]|0[AaDd]|3[AaBbDdFf]|5[Cc])[0-9A-Fa-f]{2})"
)
_BEHIND_SLUG = rf"(?!{_LETTER}|-(?!-(?:[^\w-]|\Z))|\.+{_LETTER})"  # `--` closes the slugs of some agents
_LOOK_BACK = 24


class Found(NamedTuple):
    """A known folder in a text: its place, its name, and the form in which it is spelled there."""

    start: int
    end: int
    name: str
    form: str


class _Form(NamedTuple):
    """A way to spell a folder; ``style`` is what its placeholder says of it, ``separator`` only that of slugs."""

    spell: Callable[[str], str]
    style: str = ""
    windows_style: str = ""
    separator: str = ""


def _json(folder: str) -> str:
    return json.dumps(folder, ensure_ascii=False)[1:-1]


def _json_ascii(folder: str) -> str:
    return json.dumps(folder)[1:-1]


def _json_slashes(folder: str) -> str:
    return _json(folder).replace("/", "\\/")


def _forward(folder: str) -> str:
    return folder.replace("\\", "/") if _is_windows(folder) else folder


def _url(folder: str) -> str:
    """As in ``file://…``, which has a slash before the letter of a drive."""
    path = _forward(folder)
    return quote(path if path.startswith("/") else f"/{path}", safe="/:!*'()~@&=+$,;")


def _url_component(folder: str) -> str:
    return quote(folder, safe="!*'()~")


def _lower_hex(text: str) -> str:
    return _HEX_ESCAPE.sub(lambda found: found.group().lower(), text)


def _core(folder: str) -> str:
    return folder.lstrip("/\\")


def _has_rootless(folder: str) -> bool:
    """Whether the path relative to the root is long enough to be told from any other relative path."""
    return not _is_windows(folder) and len(_parts(folder)) >= _ROOTLESS_PARTS


def _parts(folder: str) -> list[str]:
    return [part for part in re.split(r"[/\\]+", folder) if part]


# In order of preference where two forms spell a folder alike.
_FORMS: dict[str, _Form] = {
    "path": _Form(lambda folder: folder),
    "json": _Form(_json, "", "json"),
    "json-ascii": _Form(_json_ascii, "", "json"),
    "json-slashes": _Form(_json_slashes, "json", "json"),
    "json-ascii-slashes": _Form(lambda folder: _json_ascii(folder).replace("/", "\\/"), "json", "json"),
    "json-twice": _Form(lambda folder: _json(_json(folder)), "", "json2"),
    "json-ascii-twice": _Form(lambda folder: _json_ascii(_json_ascii(folder)), "", "json2"),
    "json-slashes-quoted": _Form(lambda folder: _json(_json_slashes(folder)), "json-quoted", "json2"),
    "json-slashes-twice": _Form(lambda folder: _json_slashes(_json_slashes(folder)), "json2", "json2"),
    "forward": _Form(_forward, "", "forward"),
    "url": _Form(_url, "", "forward"),
    "url-lower": _Form(lambda folder: _lower_hex(_url(folder)), "", "forward"),
    "url-component": _Form(_url_component, "url", "url"),
    "url-component-lower": _Form(lambda folder: _lower_hex(_url_component(folder)), "url-lower", "url-lower"),
    "rootless": _Form(_core, "rootless"),
    "slug": _Form(lambda folder: _NOT_ALNUM.sub("-", _core(folder)), "slug", "slug", "-"),
    "slug-separators": _Form(lambda folder: re.sub(r"[/\\:]", "-", _core(folder)), "slug", "slug", "-"),
    "slug-dots": _Form(lambda folder: re.sub(r"[/\\:.]", "-", _core(folder)), "slug", "slug", "-"),
    "slug-words": _Form(lambda folder: re.sub(r"[^\w-]", "-", _core(folder)), "slug", "slug", "-"),
    "slug_": _Form(lambda folder: _NOT_ALNUM.sub("_", _core(folder)), "slug_", "slug_", "_"),
    "slug_-separators": _Form(lambda folder: re.sub(r"[/\\:]", "_", _core(folder)), "slug_", "slug_", "_"),
}
_STYLES = sorted({style for form in _FORMS.values() for style in (form.style, form.windows_style) if style})


class _Spelling(NamedTuple):
    name: str
    form: str
    placeholder: str
    before: re.Pattern[str]


class KnownPaths:
    """The named folders of one side.

    ``folders`` maps names (letters, digits, ``_``) to absolute folders; a slash at their end says nothing. The root
    folder is left out: every absolute path begins with it. Where folders are nested the longest wins; where two
    have the same slug, the first. Immutable; an instance is compiled once and may be shared. Raises ValueError for
    another kind of name and for a path that is not absolute.
    """

    def __init__(self, folders: Mapping[str, str]) -> None:
        self.folders: dict[str, str] = {}
        for name, folder in folders.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"the name of a folder consists of letters, digits and _, not {name!r}")
            if (stripped := _normal(name, folder)) is not None:
                self.folders[name] = stripped
        self._spellings: dict[str, _Spelling] = {}
        for form_name, form in _FORMS.items():
            for name, folder in self.folders.items():
                if form_name == "rootless" and not _has_rootless(folder):
                    continue
                for variant in _variants(folder):
                    spelled = form.spell(variant)
                    if _ALNUM_RUN.search(spelled) or not form.separator:  # a slug may consist of dashes alone
                        self._spellings.setdefault(spelled, _spelling(name, folder, form_name, form))
        self._pattern = _pattern(self._spellings)
        # A spelling keeps each run of letters and digits, so a text without the longest of them holds none.
        self._anchors = [_anchor(folder) for folder in self.folders.values()]
        names = "|".join(sorted(map(re.escape, self.folders), key=len, reverse=True))
        self._literal = re.compile(rf"<(?={LITERAL_MARK}*(?:{names})(?:-(?:{'|'.join(_STYLES)}))?>)")
        self._literal_starts = [f"<{start}" for start in (*self.folders, LITERAL_MARK)] if self.folders else []

    def find(self, text: str) -> list[Found]:
        """Every known folder in a text, in order and without overlap."""
        return [found for found, _ in self._scan(text)]

    def to_placeholders(self, text: str) -> str:
        r"""The text with names in place of folders: ``<workspace>/a``, ``<workspace-slug>``; the same object if none.

        The kind of spelling is kept apart: ``<workspace-json>`` had escaped slashes, ``<workspace-url>`` encoded
        ones, ``<workspace-slug_>`` is a slug with underscores. How the special characters within a folder's own name
        were spelled is not, because the folder of the other side need not have any. Up to that, different texts stay
        different: where a text has such a placeholder itself, it is marked (``LITERAL_MARK`` behind its ``<``).
        """
        pieces: list[str] = []
        position = 0
        for found, spelling in self._scan(text):
            pieces += (self._marked(text[position : found.start]), spelling.placeholder)
            position = found.end
        if not position:
            return self._marked(text)
        pieces.append(self._marked(text[position:]))
        return "".join(pieces)

    def spelled(self, name: str, form: str) -> str | None:
        """A folder in one of the forms that `find` reports, or None for a name that this side does not have."""
        folder = self.folders.get(name)
        return None if folder is None else _FORMS[form].spell(folder)

    def _scan(self, text: str) -> Iterator[tuple[Found, _Spelling]]:
        if not any(anchor in text for anchor in self._anchors):
            return
        position = 0
        while (match := self._pattern.search(text, position)) is not None:
            start, end = match.span()
            spelling = self._spellings[match.group()]
            if spelling.before.search(text, max(0, start - _LOOK_BACK), start) is None:
                position = start + 1
                continue
            form = spelling.form
            if form == "path" and text.endswith("://", 0, start):
                form = "url"  # spelled like the plain path here, but the other side may have something to encode
            yield Found(start, end, spelling.name, form), spelling
            position = end

    def _marked(self, text: str) -> str:
        if not any(start in text for start in self._literal_starts):
            return text
        return self._literal.sub(f"<{LITERAL_MARK}", text)


class PathMap:
    """Exchanges the recorded folders in texts for the present ones of the same names, each in the form it had."""

    def __init__(self, recorded: KnownPaths, present: KnownPaths) -> None:
        self.recorded = recorded
        self.present = present

    @property
    def is_identity(self) -> bool:
        """Whether no text changes: each name that both sides have stands for the same folder."""
        present = self.present.folders
        return all(present.get(name, folder) == folder for name, folder in self.recorded.folders.items())

    @property
    def reversed(self) -> PathMap:
        """The map from the present folders to the recorded ones."""
        return PathMap(self.present, self.recorded)

    def rewrite(self, text: str) -> str:
        """The text with present folders; the same object where nothing changes.

        A recorded folder whose name the present side does not have stays, and so does everything in it that is not
        another known folder. Present folders are put in once: what they contain is not looked at again.
        """
        changes = self.changes(text)
        if not changes:
            return text
        pieces: list[str] = []
        position = 0
        for start, end, new in changes:
            pieces += (text[position:start], new)
            position = end
        pieces.append(text[position:])
        return "".join(pieces)

    def changes(self, text: str) -> list[tuple[int, int, str]]:
        """What `rewrite` changes: start and end of each recorded folder in the text, and what takes its place."""
        changes: list[tuple[int, int, str]] = []
        for start, end, name, form in self.recorded.find(text):
            new = self.present.spelled(name, form)
            if new is not None and new != text[start:end]:
                changes.append((start, end, new))
        return changes


def _normal(name: str, folder: str) -> str | None:
    """The folder without a slash at its end, or None for the root."""
    if _is_windows(folder):
        stripped = folder.replace("/", "\\").rstrip("\\")
        return None if not stripped or stripped.endswith(":") else stripped
    if not folder.startswith("/"):
        raise ValueError(f"the folder {name} must be an absolute path, not {folder!r}")
    return folder.rstrip("/") or None


def _variants(folder: str) -> tuple[str, ...]:
    """The letter of a drive is written in both cases."""
    return (folder, folder[0].swapcase() + folder[1:]) if folder[1:2] == ":" else (folder,)


def _is_windows(folder: str) -> bool:
    return _WINDOWS.match(folder) is not None


def _spelling(name: str, folder: str, form_name: str, form: _Form) -> _Spelling:
    style = form.windows_style if _is_windows(folder) else form.style
    placeholder = f"<{name}-{style}>" if style else f"<{name}>"
    before = _BEFORE_ROOTLESS if form_name == "rootless" else _before_slug(folder, form.separator) or _BEFORE_PATH
    return _Spelling(name, form_name, placeholder, before)


def _before_slug(folder: str, separator: str) -> re.Pattern[str] | None:
    """What must stand before a slug. The fewer its parts, the more it takes to tell it from a word of a text."""
    if not separator:
        return None
    parts = len(_parts(folder))
    if parts == 1:
        return re.compile(rf"[/\\]{separator}\Z")
    return re.compile(rf"{_CLEAR}{separator}{{{1 if parts == 2 else 0},2}}\Z")


def _pattern(spellings: Mapping[str, _Spelling]) -> re.Pattern[str]:
    def alternatives(*, slugs: bool) -> str:
        chosen = [text for text, spelling in spellings.items() if bool(_FORMS[spelling.form].separator) is slugs]
        return "|".join(re.escape(text) for text in sorted(chosen, key=len, reverse=True))

    if not spellings:
        return re.compile(r"(?!)")
    return re.compile(f"(?:{alternatives(slugs=False)}){_BEHIND_PATH}|(?:{alternatives(slugs=True)}){_BEHIND_SLUG}")


def _anchor(folder: str) -> str:
    return max(_ALNUM_RUN.findall(folder), key=len, default="")
