"""Bash commands, classified from their syntax tree (seed 000, gate 1; bug reports G07, G10 and G12).

The tree finds every command of a text. The grammar is not bash itself, so whatever the two may read differently is
*doubt*: it has to be asked for at least, and the raw text is searched for denied commands as well. Nothing is allowed
because it was not understood.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from harness.pipeline.decision import Decision, Ruling, strictest
from harness.pipeline.shell.commands import judge, search_denied
from harness.pipeline.shell.containment import Outside
from harness.pipeline.shell.rules import HARMFUL_VARIABLE, Word, names
from harness.pipeline.shell.survey import survey
from harness.pipeline.shell.words import hidden_code, spell

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_LENGTH = 16_384
"""Characters that are parsed. Longer commands are asked for: the parser's time grows with the square of some inputs."""

_TESTS = names("unary_expression binary_expression negated_expression parenthesized_expression")
_TEST_TOKENS = names("[ ] = == != ! -a -o")
_ARITHMETIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_REDIRECTS_INTO_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})

_STRUCTURE = names(
    "program list pipeline subshell compound_statement negated_command if_statement elif_clause else_clause "
    "for_statement do_group while_statement case_statement case_item command command_name word number string "
    "string_content raw_string ansi_c_string concatenation simple_expansion expansion variable_name "
    "special_variable_name command_substitution process_substitution redirected_statement file_redirect "
    "file_descriptor herestring_redirect heredoc_redirect heredoc_start heredoc_body heredoc_content heredoc_end "
    "variable_assignment variable_assignments array declaration_command unset_command test_command unary_expression "
    "brace_expression "
    "binary_expression parenthesized_expression test_operator comment arithmetic_expansion extglob_pattern regex"
)
_EXPANSION_OPERATORS = names("${ } :- - :+ + # ## % %% / // :? ? ^ ^^ , ,,") | {"", '"'}
_ON_ONE_LINE = names(
    "command command_name declaration_command unset_command file_redirect herestring_redirect concatenation word "
    "number variable_assignment variable_assignments variable_name special_variable_name simple_expansion regex "
    "extglob_pattern"
)
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_CHAINS = frozenset({"pipeline", "list", "negated_command", "redirected_statement"})
_UNQUOTED = frozenset({"simple_expansion", "expansion", "command_substitution", "concatenation"})
_LITERALS = names(
    "word number string raw_string ansi_c_string concatenation simple_expansion expansion command_substitution "
    "process_substitution arithmetic_expansion brace_expression regex extglob_pattern translated_string"
)


def classify_command(command: str, outside: Outside | None = None) -> Ruling:
    """The ruling on a Bash command: the strictest of all commands in it, with the reason in words.

    DENY, ASK and ALLOW as in seed 000, gate 1, also behind wrappers, quoting and substitutions (bug reports G07, G10
    and G12). Never raises: what cannot be understood is ASK, or DENY where the text shows a denied command. With
    ``outside``, which says whether a path leads out of the workspace, reading such a path is ASK.
    """
    if not command.strip():
        return _ask("there is nothing to run")
    try:
        rulings = list(_rule_text(command, outside))
    except Exception as error:  # noqa: BLE001 - a gate that raises would be a gate that is open
        rulings = [_ask(f"the command cannot be classified ({type(error).__name__})"), *search_denied(command)]
    return strictest(rulings or [_ask("there is nothing to run")])


def _rule_text(command: str, outside: Outside | None) -> Iterator[Ruling]:
    if len(command) > MAX_LENGTH:
        yield _ask(f"the command is longer than {MAX_LENGTH} characters")
        yield from search_denied(command)
        return
    if re.search(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\ufeff\ud800-\udfff]", command):
        yield _ask("the command holds characters that cannot be seen")
        yield from search_denied(command)
    yield from _Reading(command).rulings()
    yield from survey(command, outside)
    if "\\\n" in command:
        # Bash joins the lines before it reads words, the grammar takes the join for a space.
        if re.search(r"\S\\\n\S", command):
            yield _ask("a word goes on over the end of a line")
        yield from _Reading(command.replace("\\\n", "")).rulings()


class _Reading:
    """One pass over the tree of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._source = text.encode("utf-8", "replace")
        self._found: list[Ruling] = []
        self._doubts: list[str] = []
        self._displaced: dict[int, list[Word]] = {}

    def rulings(self) -> list[Ruling]:
        # The grammar's scanner looks characters up in tables for single bytes and crashes on others, so it is given a
        # harmless byte for each byte that is not ASCII; the words are read from the true text.
        root = _parse(re.sub(rb"[\x80-\xff]", b"%", self._source))
        if root.has_error:
            self._doubts.append("the syntax is not understood")
        end = 0
        stack = [root]
        while stack:
            node = stack.pop()
            self._visit(node)
            if node.child_count:
                stack.extend(reversed(node.children))
            else:
                self._covered(end, node.start_byte)
                end = max(end, node.end_byte)
        self._covered(end, len(self._source))
        if self._doubts:
            self._found.extend(_ask(doubt) for doubt in dict.fromkeys(self._doubts))
            self._found.extend(search_denied(self._text))
        return self._found

    def _covered(self, start: int, end: int) -> None:
        if not re.fullmatch(rb"(?:[ \t\n]|\\\n)*", self._source[start:end]):
            self._doubts.append("a part of the text is not understood")

    def _visit(self, node: Node) -> None:
        kind = node.type
        if node.is_named and kind not in _STRUCTURE:
            self._doubts.append(f"{kind.replace('_', ' ')}: not among the constructs that are checked")
        if kind in _ON_ONE_LINE:
            self._check_lines(node)
        visit = getattr(self, f"_visit_{kind}", None) if node.is_named else None
        if visit is not None:
            visit(node)
        elif node.is_named and not node.child_count and kind not in {"raw_string", "ansi_c_string"}:
            self._opaque(node)

    def _check_lines(self, node: Node) -> None:
        """A simple command ends with its line; the grammar lets some go on and hides the next command in the words."""
        leaf = not node.child_count
        spans = [(node.start_byte, node.end_byte)] if leaf else []
        spans += [(one.end_byte, other.start_byte) for one, other in pairwise(node.children)]
        if any(b"\n" in self._source[start:end].replace(b"\\\n", b"") for start, end in spans):
            self._doubts.append("a command goes on over the end of a line")

    def _opaque(self, node: Node) -> None:
        if node.type not in {"comment", "heredoc_end", "heredoc_start"} and hidden_code(
            self._of(node), quoted=node.type in {"string_content", "heredoc_content"}
        ):
            self._doubts.append("a substitution is hidden in text")

    def _visit_comment(self, node: Node) -> None:
        # In bash # begins a comment only where a word can begin.
        if node.start_byte and self._source[node.start_byte - 1] not in b" \t\n;&|":
            self._doubts.append("it is not certain where a comment begins")

    def _visit_command(self, node: Node) -> None:
        words: list[Word] = []
        for child in node.children:
            if child.type == "command_name":
                words.append(self._spell(child))
            elif child.type in {"==", "=~"}:
                words.append(Word(child.type))
            elif not child.is_named or child.type in {"regex", "extglob_pattern", "subshell"}:
                self._doubts.append("a word is not understood")
            elif child.type in _LITERALS:
                words.append(self._spell(child))
        self._found.append(judge([*words, *self._displaced.get(node.id, []), *self._displaced_words(node)]))

    def _visit_redirected_statement(self, node: Node) -> None:
        # The grammar takes words behind a redirection for its targets; bash gives them to the command.
        words = self._displaced_words(node)
        target = node.child_by_field_name("body")
        while target is not None and target.type in _CHAINS:
            target = target.named_children[-1] if target.named_children else None
        if words and target is not None and target.type == "command":
            self._displaced.setdefault(target.id, []).extend(words)
        elif words:
            self._doubts.append("words behind a redirection")

    def _visit_file_redirect(self, node: Node) -> None:
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = [self._spell(child) for child in node.children if child.type in _LITERALS]
        target = targets[0] if targets else Word("-")
        if operator in {"<", "<&", "<&-", ">&-"}:
            if target.text.startswith(("/dev/tcp", "/dev/udp")) or (operator == "<" and not target.exact):
                self._found.append(_ask(f"reads from {target.text}, which may be the network"))
        elif not target.exact or not (
            target.text in _REDIRECTS_INTO_NOWHERE or (operator == ">&" and re.fullmatch(r"\d|-", target.text))
        ):
            self._found.append(_ask(f"writes to {target.text}"))
        else:
            self._found.append(Ruling(Decision.ALLOW, f"output goes to {target.text}"))

    def _visit_heredoc_redirect(self, node: Node) -> None:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        marker = re.fullmatch(r"""(['"]?)([A-Za-z0-9_]+)\1""", self._of(start)) if start else None
        if marker is None or end is None:
            self._doubts.append("the end of a here-document is not certain")
            return
        indent = rb"\t*" if any(child.type == "<<-" for child in node.children) else b""
        line = rb"(?m)^" + indent + re.escape(marker[2].encode()) + rb"$"
        starts_line = re.search(rb"\n" + indent + rb"\Z", self._source[: end.start_byte])
        ends_line = self._source[end.end_byte : end.end_byte + 1] in {b"", b"\n"}
        twice = body is not None and re.search(line, self._source[body.start_byte : body.end_byte])
        late = body is not None and any(
            child.start_byte > body.end_byte and child.type != "heredoc_end" for child in node.children
        )
        if not starts_line or not ends_line or twice or late:
            self._doubts.append("the end of a here-document is not certain")
        if body is not None and not marker[1] and not body.child_count and hidden_code(self._of(body), quoted=True):
            self._doubts.append("a substitution is hidden in a here-document")

    def _visit_heredoc_body(self, node: Node) -> None:
        """Judged with its redirection, which knows whether the marker is quoted."""

    def _visit_variable_assignment(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None or name.type != "variable_name":
            self._doubts.append("an assignment to an element computes its index")
        elif HARMFUL_VARIABLE.fullmatch(self._of(name)):
            self._found.append(_ask(f"sets {self._of(name)}, which can change what runs"))
        else:
            self._found.append(Ruling(Decision.ALLOW, f"sets {self._of(name)}"))

    def _visit_declaration_command(self, node: Node) -> None:
        for child in node.named_children:
            plain = child.type in {"variable_assignment", "variable_name"} or self._of(child) in {"-r", "-x", "-g"}
            if not plain or (child.type == "variable_name" and HARMFUL_VARIABLE.fullmatch(self._of(child))):
                self._found.append(_ask(f"{self._of(child)} changes how variables work"))
        self._found.append(Ruling(Decision.ALLOW, "declares variables"))

    def _visit_unset_command(self, node: Node) -> None:
        for child in node.named_children:
            if child.type != "variable_name" or HARMFUL_VARIABLE.fullmatch(self._of(child)):
                self._found.append(_ask(f"unset {self._of(child)}"))
        self._found.append(Ruling(Decision.ALLOW, "unsets variables"))

    def _visit_for_statement(self, node: Node) -> None:
        name = node.child_by_field_name("variable")
        if name is None or HARMFUL_VARIABLE.fullmatch(self._of(name)):
            self._found.append(_ask("a loop sets a variable that can change what runs"))

    def _visit_expansion(self, node: Node) -> None:
        for child in node.children:
            if child.type in {"raw_string", "ansi_c_string"} and re.search(r"[$`]", self._of(child)):
                self._doubts.append("quotes inside an expansion may not quote")
            elif not child.is_named and child.type not in _EXPANSION_OPERATORS:
                self._doubts.append(f"the expansion {self._of(node)} may run code")
        if re.match(r"\$\{(!|.*\[(?![@*\d]+\]))", self._of(node)):
            self._doubts.append(f"the expansion {self._of(node)} may run code")

    def _visit_arithmetic_expansion(self, node: Node) -> None:
        # A variable's value is computed in turn, and an index in it can hold a command.
        if not re.fullmatch(r"\$(\(\(|\[)[\d\s+*/%()<>=!&|^~?:-]*(\)\)|\])", self._of(node)):
            self._doubts.append("arithmetic with variables can run code")

    def _visit_compound_statement(self, node: Node) -> None:
        if node.children and node.children[0].type == "((":
            self._doubts.append("arithmetic with variables can run code")

    def _visit_test_command(self, node: Node) -> None:
        bracket = node.children[0].type if node.children else ""
        self._found.append(Ruling(Decision.ALLOW, "a test"))
        if bracket not in {"[", "[["}:
            self._doubts.append("arithmetic with variables can run code")
        stack = [(child, node) for child in node.children]
        while stack:
            part, parent = stack.pop()
            if part.type in _TESTS:
                stack.extend((child, part) for child in part.children)
            elif doubt := self._doubt_in_test(part, parent, single=bracket == "["):
                self._doubts.append(doubt)

    def _visit_command_substitution(self, node: Node) -> None:
        # Inside backquotes a backslash hides one more level.
        if self._of(node).startswith("`") and "\\" in self._of(node):
            self._doubts.append("backquotes with backslashes")

    def _doubt_in_test(self, part: Node, parent: Node, *, single: bool) -> str | None:
        """What makes a part of ``[ ]`` (``single``) or ``[[ ]]`` more than a test."""
        text = self._spell(part).text
        if text in {"-v", "-R"}:
            return "a test of a variable computes its index"
        if single and part.type in _UNQUOTED and text not in {"$?", "$#"}:
            return "an expansion without quotes inside [ may be any test"
        if single and not part.is_named and part.type not in _TEST_TOKENS:
            return f"{part.type} inside [ is not a part of the test"
        if not single and text in _ARITHMETIC_TESTS:
            sides = (self._of(parent.children[0]), self._of(parent.children[-1]))
            if not all(re.fullmatch(r"-?\d+|\$[#?]|\"\$[#?]\"|\$\{#\w+\}", side) for side in sides):
                return "arithmetic with variables can run code"
        return None

    def _displaced_words(self, node: Node) -> list[Word]:
        return [word for child in node.children if child.type in _REDIRECTS for word in self._extra_words(child)]

    def _extra_words(self, redirect: Node) -> list[Word]:
        if redirect.type == "file_redirect":
            return [self._spell(child) for child in redirect.children if child.type in _LITERALS][1:]
        if redirect.type == "heredoc_redirect":
            own = [self._spell(child) for child in redirect.children if child.type in _LITERALS]
            return own + [word for child in redirect.children for word in self._extra_words(child)]
        return []

    def _spell(self, node: Node) -> Word:
        return spell(node, self._source)

    def _of(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _ask(reason: str) -> Ruling:
    return Ruling(Decision.ASK, reason)


_LOCK = threading.Lock()


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - loaded with the first command, not with the package
    from tree_sitter import Language, Parser  # noqa: PLC0415

    return Parser(Language(tree_sitter_bash.language()))


def _parse(source: bytes) -> Node:
    with _LOCK:
        return _parser().parse(source).root_node
