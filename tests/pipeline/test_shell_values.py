"""What words become: held against bash, which is asked for the same words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.pipeline.shell.output import output_of
from harness.pipeline.shell.reading import MAX_DEPTH, TooDeepError, read_script
from harness.pipeline.shell.values import MAX_WORK, TooMuchWorkError, Values, all_commands

SCRIPTS = [
    "x=ab; show $x ${x}c \"$x d\" '$x'",
    "x='a b'; show $x \"$x\"",
    'x=a; y=${x}b; show $y"$x"',
    "x=r; x+=m; show $x",
    "x=abcdef; show ${x:1} ${x:1:2} ${x: -2} ${x#ab} ${x%ef} ${x/cd/-} ${x//c/}",
    "x=aXbXc; show ${x#*X} ${x##*X} ${x%X*} ${x%%X*} ${x//X/} ${x/#a/z} ${x/%c/z}",
    "x=Rm; show ${x,,} ${x^^} ${x,} ${#x}",
    "show ${unset:-a} ${unset-b} ${unset:+c}d",
    "x=a; via=x; show ${!via}",
    'a=(one "two three" four); show "${a[@]}" ${a[1]} "${a[*]:1:1}"',
    "declare -A m=([k]=v); show ${m[k]}",
    'set -- one "two three"; show "$@" $1 "$2"',
    'set -- one two three; show "${@:2}"',
    'f() { show "$@" $2; }; f a b',
    "show a{b,c}d {x,y} {m..o}",
    "show $'\\x72\\155\\u0061' $'a\\tb' \"a\\$b\" a\\ b",
    'show $(echo a b) "$(echo a b)" `echo c`',
    "show $(echo mr | rev) $(echo cm0K | base64 -d) $(echo sn | tr b-za a-z)",
    "show $(printf '%s-%s' a b) $(printf '\\x72') $(printf %03o 114) $(printf %b 'a\\x62')",
    "show $(echo a:b:c | cut -d: -f2) $(echo abc | cut -c2-3) $(echo rXm | sed s/X//)",
    "show $(basename /bin/rm) $(echo a b c | awk '{print $2}') $(xxd -r -p <<< 726d)",
    "show $(cat <<E\nhere\nE\n) $(cat <<< string)",
    "read -r x y <<< 'one two three'; show $x $y",
    "IFS=: read -r x y <<< one:two; show $x $y",
    "printf -v x '%s%s' a b; show $x",
    "mapfile -t x <<< one; show ${x[0]}",
    "for x in last; do show $x; done",
    "case a in a) show in ;; esac",
    "if true; then show then; else :; fi",
    "{ show group; }",
    "(show sub)",
    "coproc { :; }; show after",
    "function f { show body; }; f",
    "[[ a == b ]] || show or",
    "true # show no\nshow yes",
    "sh\\\now joined",
    "show a\\\nb 'c\\\nd'",
    "show ''\"\" a''b",
    'show ${x:-a}${y:-b} ${x:-$(echo c)} "${x:-d e}"',
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_words_are_among_those_that_bash_makes(script: str, tmp_path: Path) -> None:
    shown = "show() { printf '<%s>' \"$@\"; }\n"
    done = subprocess.run(["bash", "-c", shown + script], cwd=tmp_path, capture_output=True, text=True, check=True)
    commands = read_script(script)
    values = Values(commands)
    lines = [words for command, _ in all_commands(commands) for words in values.lines(command) if words[:1] == ["show"]]
    assert done.stdout in ["".join(f"<{word}>" for word in words[1:]) for words in lines]


@pytest.mark.parametrize(
    "text", ["echo", "echo -e 'a\\nb'", "printf", "tr a", "cut", "base64 -d", "xxd -r", "sed s", "awk"]
)
@pytest.mark.parametrize("given", ["", "a", "\0\ud800", "=" * 500])
def test_no_input_makes_the_output_fail(text: str, given: str) -> None:
    assert isinstance(output_of(text.split(), given), str)


def test_text_nested_beyond_the_limit_is_refused_and_not_read_in_part() -> None:
    with pytest.raises(TooDeepError):
        read_script("$(" * (MAX_DEPTH + 2))


def test_work_beyond_the_limit_is_refused() -> None:
    with pytest.raises(TooMuchWorkError):
        Values(read_script("echo " + "${x:-a}" * MAX_WORK))
