"""A scenario's document as YAML for people: keys in order, texts of several lines as blocks, calls on one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

WIDTH = 110

_OTHER_BREAKS = frozenset("\x85\u2028\u2029")


class OneLine(dict[str, Any]):
    """A mapping that is written on one line."""


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, and knows the two styles."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.rstrip("\n") or (len(text) > WIDTH and text.endswith("\n")) else None
    if style is None and "\n" in text:
        style = '"'
    if _OTHER_BREAKS & set(text):
        style = '"'  # only there they are escaped, and not read as line breaks that are folded
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _one_line(dumper: yaml.SafeDumper, mapping: OneLine) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", mapping, flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(OneLine, _one_line)
_Dumper.ignore_aliases = lambda *_: True  # type: ignore[method-assign]  # what stands twice is written twice


def to_yaml(document: Mapping[str, Any]) -> str:
    """The document as YAML; reading it gives the same document."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH)
