"""A second, tolerant reading of a shell text, made to find what runs in it rather than whether it is correct.

The grammar of `harness.pipeline.shell.classify` decides what may be allowed; this reading only ever adds denials. It
never refuses a text: what is broken is read as far as it goes, and structure (loops, groups, functions) is flattened to
the simple commands in it, in order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.pipeline.shell.rules import names
from harness.pipeline.shell.script import Parameter, Piece, Script, Simple, Spelling, Substitution, Text
from harness.pipeline.shell.words import decode_ansi

MAX_DEPTH = 40
"""Substitutions within each other that are followed; deeper ones end the reading."""

_RESERVED = names("if then else elif fi do done while until { } ! esac coproc function")
_BLANK = " \t\n"
_ENDS_WORD = frozenset(" \t\n;&|()<>")
_OPERATOR = re.compile(r";;&|;;|;&|&&|&(?!>)|\|\||\|&|\||;")
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-?|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())")
_HEREDOC = re.compile(r"[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s;&|<>()'\"\\])+)")
_PARAMETER = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?$!-]")
_OPERATION = re.compile(r":?[-=+?]|##?|%%?|//?[#%]?|\^\^?|,,?|@|:")
_RUN = re.compile(r"[\w/.,:=+-]+")
_QUOTED_RUN = re.compile(r"[^\"\\$`\]]+")
_ARRAY = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=")
_PLAIN_ARITHMETIC = re.compile(r"\(\((?:[\d\s+*/%<>=!&|^~?:,()-]|\$(?!\()|\b[A-Za-z_]\w*+(?!\s+\w))*?\)\)")


class TooDeepError(Exception):
    """The text is nested more deeply than MAX_DEPTH."""


def read_script(text: str, depth: int = 0) -> Script:
    """The simple commands of ``text``, in order. Raises TooDeepError."""
    return _Reader(text, depth).script()


@dataclass(slots=True)
class _Heredoc:
    command: Simple
    end: str
    strips: bool
    quoted: bool


class _Reader:
    """A position in a text. Each method reads on from it and leaves it behind what was read."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self._heredocs: list[_Heredoc] = []

    def script(self, closing: str = "") -> Script:
        if self._depth > MAX_DEPTH:
            raise TooDeepError
        self._depth += 1
        found = _Commands(self, closing).read()
        self._depth -= 1
        return found

    # What the loop over commands asks.

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def peek(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def skip(self, count: int = 1) -> None:
        self._at += count

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        if match:
            self._at = match.end()
        return match

    def starts_with(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def skip_comment(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def skip_blanks(self, blanks: str = _BLANK) -> None:
        while not self.at_end and (self.peek() in blanks or self.starts_with("\\\n")):
            self._at += 1 if self.peek() in blanks else 2

    # Words.

    def word(self, stops: frozenset[str] = _ENDS_WORD) -> Spelling:
        """One word; empty where none begins."""
        pieces: list[Piece] = []
        nesting = 0
        while not self.at_end:
            char = self.peek()
            if self.starts_with("\\\n"):
                self._at += 2
            elif char in "<>" and self.peek(1) == "(":
                self._at += 2
                pieces.append(Substitution(self.script(")"), quoted=True, process=True))
            elif char == "(" and (nesting or self._ends_in(pieces, "@?*+")):
                nesting += 1
                self._at += 1
                pieces.append(Text(char))
            elif char == ")" and nesting:
                nesting -= 1
                self._at += 1
                pieces.append(Text(char))
            elif char in stops and not (nesting and char in " |"):
                break
            else:
                self._piece(pieces)
        return _joined(pieces)

    @staticmethod
    def _ends_in(pieces: list[Piece], marks: str) -> bool:
        last = pieces[-1] if pieces else None
        return isinstance(last, Text) and not last.quoted and last.text[-1:] in marks and bool(last.text)

    def _piece(self, pieces: list[Piece]) -> None:
        """One unquoted piece; always goes on by a character at least."""
        char = self.peek()
        if char == "\\":
            pieces.append(Text(self.peek(1), quoted=True))
            self._at += 2
        elif char == "'":
            end = self._end_of("'", self._at + 1)
            pieces.append(Text(self._text[self._at + 1 : end], quoted=True))
            self._at = end + 1
        elif char == '"':
            self._at += 1
            pieces.extend(self.double_quoted('"'))
        elif self.starts_with("$'"):
            match = re.compile(r"(?:[^\\']|\\.)*", re.DOTALL).match(self._text, self._at + 2)
            end = match.end() if match else self._at + 2
            pieces.append(Text(decode_ansi(self._text[self._at + 2 : end]), quoted=True))
            self._at = end + 1
        elif self.starts_with('$"'):
            self._at += 2
            pieces.extend(self.double_quoted('"'))
        elif char == "$":
            pieces.append(self._dollar(quoted=False))
        elif char == "`":
            pieces.append(self._backquoted(quoted=False))
        else:
            run = _RUN.match(self._text, self._at)
            pieces.append(Text(run[0] if run else char))
            self._at += len(run[0]) if run else 1

    def _end_of(self, mark: str, start: int) -> int:
        end = self._text.find(mark, start)
        return len(self._text) if end < 0 else end

    def double_quoted(self, closing: str) -> list[Piece]:
        """Pieces up to ``closing``, or to the end of the text for an empty one."""
        pieces: list[Piece] = [Text("", quoted=True)]
        while not self.at_end:
            char = self.peek()
            if closing and char == closing:
                self._at += 1
                break
            if char == "\\":
                following = self.peek(1)
                kept = "" if following == "\n" else following if following in '$`"\\' else "\\" + following
                pieces.append(Text(kept, quoted=True))
                self._at += 2
            elif char == "$":
                pieces.append(self._dollar(quoted=True))
            elif char == "`":
                pieces.append(self._backquoted(quoted=True))
            else:
                run = _QUOTED_RUN.match(self._text, self._at)
                pieces.append(Text(run[0] if run else char, quoted=True))
                self._at += len(run[0]) if run else 1
        return pieces

    def _dollar(self, *, quoted: bool) -> Piece:
        if self.starts_with("$((") and (match := _PLAIN_ARITHMETIC.match(self._text, self._at + 1)):
            self._at = match.end()
            return Text("0", quoted=True)
        if self.starts_with("$("):
            self._at += 2
            return Substitution(self.script(")"), quoted)
        if self.starts_with("$["):
            self._at += 2
            return Substitution([Simple(mentions=[tuple(self.double_quoted("]"))])], quoted)
        if self.starts_with("${"):
            self._at += 2
            return self._braced(quoted=quoted)
        self._at += 1
        name = re.compile(r"[A-Za-z_]\w*|[\d@*#?$!-]").match(self._text, self._at)
        if name is None:
            return Text("$", quoted=True)
        self._at = name.end()
        return Parameter(name[0], quoted)

    def _braced(self, *, quoted: bool) -> Piece:
        if self.peek() in {" ", "\t", "\n", "|"}:
            self._at += 1
            return Substitution(self.script("}"), quoted)
        length = self.peek() == "#" and self.peek(1) not in {"}", ""}
        indirect = self.peek() == "!" and self.peek(1) not in {"}", ""}
        self._at += length or indirect
        name = self.take(_PARAMETER)
        index = None
        if self.peek() == "[":
            self._at += 1
            index = _joined(self._until("]", quoted=quoted))
        operation = self.take(_OPERATION)
        argument = _joined(self._until("}", quoted=quoted))
        return Parameter(
            name[0] if name else "", quoted, index, operation[0] if operation else "", argument, indirect, length
        )

    def _until(self, closing: str, *, quoted: bool) -> list[Piece]:
        """Pieces up to ``closing``, which is read too. Inside double quotes single ones quote nothing."""
        pieces: list[Piece] = []
        while not self.at_end and self.peek() != closing:
            if quoted and self.peek() == "'":
                pieces.append(Text("'", quoted=True))
                self._at += 1
            else:
                self._piece(pieces)
        self._at += 1
        return pieces

    def _backquoted(self, *, quoted: bool) -> Piece:
        match = re.compile(r"`((?:[^\\`]|\\.)*)`?", re.DOTALL).match(self._text, self._at)
        inner = match[1] if match else ""
        self._at = match.end() if match else len(self._text)
        return Substitution(read_script(re.sub(r"\\([\\`$])", r"\1", inner), self._depth), quoted)

    # Redirections and what stands on the lines behind them.

    def redirection(self, operator: str, command: Simple) -> None:
        """The target of a redirection, whose operator was read."""
        if operator in {"<<", "<<-"}:
            if match := self.take(_HEREDOC):
                end = re.sub(r"['\"\\]", "", match[1])
                self._heredocs.append(_Heredoc(command, end, operator == "<<-", end != match[1]))
            return
        self.skip_blanks(" \t")
        target = self.word()
        if operator == "<<<":
            command.inputs.append(target)
        elif operator in {"<", "<>"}:
            command.reads.append(target)
        else:
            command.mentions.append(target)

    def heredocs(self) -> None:
        """The here-documents that begin on this line, each given to its command."""
        waiting, self._heredocs = self._heredocs, []
        for heredoc in waiting:
            lines: list[str] = []
            while not self.at_end:
                end = self._end_of("\n", self._at)
                line = self._text[self._at : end]
                self._at = end + 1
                line = line.lstrip("\t") if heredoc.strips else line
                if line == heredoc.end:
                    break
                lines.append(line)
            body = "".join(f"{line}\n" for line in lines)
            spelled: list[Piece] = [Text(body, quoted=True)]
            if not heredoc.quoted:
                spelled = _Reader(body, self._depth).double_quoted("")
            heredoc.command.inputs.append(_joined(spelled))


class _Commands:
    """The loop over the simple commands of one script."""

    def __init__(self, reader: _Reader, closing: str) -> None:
        self._reader = reader
        self._closing = closing
        self._found: Script = []
        self._now = Simple()
        self._groups = 0
        self._cases = 0
        self._in_test = False
        self._reserved = ""

    def read(self) -> Script:
        reader = self._reader
        while not reader.at_end:
            char = reader.peek()
            if char in " \t" or reader.starts_with("\\\n"):
                reader.skip_blanks(" \t")
            elif char == "\n":
                reader.skip()
                reader.heredocs()
                self._end("\n")
            elif char == "#":
                reader.skip_comment()
            elif self._in_test and char in "<>()&|":
                reader.skip()
            elif char == "(":
                self._open()
            elif char == ")":
                if self._close():
                    break
            elif redirect := reader.take(_REDIRECT):
                reader.redirection(redirect[1], self._now)
            elif operator := reader.take(_OPERATOR):
                self._operator(operator[0])
            elif self._word():
                break
        self._end("")
        return self._found

    def _open(self) -> None:
        reader = self._reader
        reader.skip()
        defines = re.compile(r"[ \t]*\)")
        if len(self._now.words) == 1 and reader.take(defines):
            self._now.defines = True
        else:
            self._groups += 1
        self._end(";")

    def _close(self) -> bool:
        """A closing parenthesis; true where it closes the script."""
        self._reader.skip()
        if not self._groups and self._closing == ")":
            return True
        self._groups = max(0, self._groups - 1)
        self._end(";")
        return False

    def _operator(self, operator: str) -> None:
        self._end(operator)
        if self._cases and operator in {";;", ";&", ";;&"}:
            self._pattern()

    def _word(self) -> bool:
        """One word of the command; true where it closes the script."""
        reader, now = self._reader, self._now
        spelled = reader.word()
        if not spelled:
            reader.skip()
            return False
        plain = "".join(piece.text for piece in spelled if isinstance(piece, Text) and not piece.quoted)
        plain = plain if all(isinstance(piece, Text) and not piece.quoted for piece in spelled) else ""
        if self._in_test:
            self._in_test = plain != "]]"
            now.mentions.append(spelled)
        elif not now.words and plain == "}" and self._closing == "}":
            return True
        elif plain in _RESERVED and (not now.words or (len(now.words) == 1 and _literal(now.words[0]) == "time")):
            self._reserved = plain
            now.words.clear()
        elif not now.words and plain == "[[":
            self._in_test = True
        elif plain == "{" and self._reserved in {"coproc", "function"}:
            if self._reserved == "function":
                self._found.append(Simple(words=[*now.words], defines=True))
            now.words.clear()
            self._reserved = ""
        elif not now.words and (target := _assigned(spelled)):
            self._assign(*target, plain)
        elif len(now.words) == 2 and plain == "in" and _literal(now.words[0]) == "case":
            now.mentions.append(now.words[1])
            now.words.clear()
            self._cases += 1
            self._pattern()
        elif _ARRAY.fullmatch(plain) and reader.peek() == "(":
            reader.skip()
            now.words.append(spelled)
            now.assignments.append((plain.rstrip("+="), self._elements()))
        else:
            now.words.append(spelled)
        return False

    def _assign(self, name: str, value: Spelling, plain: str) -> None:
        reader = self._reader
        if _ARRAY.fullmatch(plain) and reader.peek() == "(":
            reader.skip()
            self._now.assignments.append((name, self._elements()))
        else:
            self._now.assignments.append((name, [value]))

    def _elements(self) -> list[Spelling]:
        reader, elements = self._reader, []
        while not reader.at_end and reader.peek() != ")":
            reader.skip_blanks()
            if reader.peek() != ")":
                element = reader.word()
                elements.append(element)
                if not element:
                    reader.skip()
        reader.skip()
        return [element for element in elements if element]

    def _pattern(self) -> None:
        """The patterns of a case item, which name no commands."""
        reader = self._reader
        reader.skip_blanks()
        if reader.starts_with("esac"):
            self._cases -= 1
            return
        while not reader.at_end and reader.peek() != ")":
            spelled = reader.word()
            if spelled:
                self._now.mentions.append(spelled)
            elif reader.peek() != ")":
                reader.skip()
        reader.skip()

    def _end(self, joint: str) -> None:
        now = self._now
        first = _literal(now.words[0]) if now.words else ""
        if first in {"for", "select"}:
            name = _literal(now.words[1]) if len(now.words) > 1 else ""
            if name and len(now.words) > 2:
                now.assignments.append((name, now.words[3:]))
            now.words.clear()
        elif now.words and self._reserved == "function":
            now.defines = True
        if now.empty:
            goes_on = joint == "\n" and now.joint in {"|", "|&", "&&", "||"}
            now.joint = now.joint if goes_on else joint
        else:
            self._found.append(now)
            self._now = Simple(joint=joint)
        self._reserved, self._in_test = "", False


def _assigned(spelled: Spelling) -> tuple[str, Spelling] | None:
    """The name and value of a word that is an assignment."""
    first = spelled[0]
    if not isinstance(first, Text) or first.quoted:
        return None
    match = _ASSIGNMENT.match(first.text)
    if match is None:
        return None
    rest = Text(first.text[match.end() :])
    value = (rest, *spelled[1:]) if rest.text else spelled[1:]
    if match[3]:
        value = (Parameter(match[1], quoted=True), *value)
    return match[1], value


def _literal(spelled: Spelling) -> str:
    return spelled[0].text if len(spelled) == 1 and isinstance(spelled[0], Text) and not spelled[0].quoted else ""


def _joined(pieces: list[Piece]) -> Spelling:
    """The pieces with neighbouring texts of one kind made one."""
    joined: list[Piece] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        if isinstance(piece, Text) and isinstance(last, Text) and piece.quoted == last.quoted:
            joined[-1] = Text(last.text + piece.text, piece.quoted)
        else:
            joined.append(piece)
    return tuple(joined)
