"""Shell commands: what is denied, asked for and allowed, also for somebody who wants to get around it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.pipeline.decision import Decision
from harness.pipeline.shell import MAX_LENGTH, classify_command

DENIED = [
    "echo 'a'#; rm x",
    "echo $(ls)#; rm x",
    "echo ${x}#; rm x",
    "echo ${ rm x; }",
    'echo "${ rm x; }"',
    "echo \\ #; rm x",
    "ls \\ ;rm x",
    "ls\n\\rm x",
    "ls\n\n\\r\\m x",
    "cat a | grep x | head -3\nrm f && ls",
    "cat a | grep x | head -3\nrm f || ls",
    "ls 2>/dev/null\n\\rm x",
    "cat a | sort | head > /dev/null\nrm f && ls",
    r"r\m x",
    '"rm" x',
    "'r'm x",
    r"$'\x72m' x",
    '$"rm" x',
    "A=1 rm x",
    "echo $(rm x)",
    'echo "a `rm x`"',
    "r\\\nm x",
    "/usr/bin/rm x",
    "./rm x",
    "cat <<EOF\n$(rm x)\nEOF",
    "cat <<EOF\n`rm x`\nEOF",
    "bash <<EOF\nls\nEOF",
    "cat f | sh",
    "eval ls",
    ". ./x",
    "source x",
    "git -C d reset --hard",
    "git --git-dir=x reset",
    "git -c a=b reset",
    "git --no-pager reset",
    'git -C "$d" reset',
    "xargs -I{} rm {}",
    r"find . -exec sh -c ls \;",
    "find . 2>/dev/null -delete",
    "ls | find . 2>/dev/null -exec rm {} +",
    "echo ${x#$(rm y)}",
    "echo \"${x:-'$(rm y)'}\"",
    r"echo `echo \`rm x\``",
    "[ a && rm x ]",
    "{rm,x}",
    "coproc rm x",
    "coproc N { rm x; }",
    "time { rm x; }",
    "time (rm x)",
    "f() { rm x; }; f",
    'trap "rm x" EXIT',
    'env -S "rm x"',
    "env -S'rm x'",
    "watch 'rm x'",
    "ssh h rm x",
    "cat <(rm x)",
    "ls > >(rm x)",
    "[[ -n $(rm x) ]]",
    "x=$(rm y) ls",
    "a=(1 $(rm y))",
    "export A=$(rm x)",
    "a[$(rm x)]=1",
    "ls; ; rm x",
    "ls && (rm x",
    "case x in x) rm y;; esac",
    "while rm x; do ls; done",
    "for i in `rm x`; do ls; done",
    "RM x",
    "env FOO=1 -u BAR timeout -s KILL 5 nice -n 3 rm x",
    "command -- rm x",
    "exec -a ls rm x",
    "xargs -n 1 -P 4 -a f rm",
    "find . -exec env -u + rm {} +",
    "echo a\\\n#; rm x",
    "cat <<'E'OF\nhi\nEOF\nrm x",
    "ls\nrm x",
    "ls&rm x",
    "if ls; then rm x; fi",
    "rm",
    r"\rm x",
    "''rm x",
    'r""m x',
    '"$(rm x)"',
    "until rm x; do :; done",
    "select x in a; do rm x; done",
    "ls |& xargs -0 rm",
    "busybox sh",
    "doas ls",
    "su -c ls",
    "bash -c ls",
    "zsh",
    "BASH -c ls",
    "nohup sudo ls &",
    'ls <<< "$(rm x)"',
    "git reset",
    "/usr/bin/git reset",
    "uv run rm x",
    "flock l rm x",
    "ls # c \\\nrm x",
    'echo "$[ $(rm x) ]"',
    "echo $((1+$(rm x)))",
    "2>/dev/null rm x",
    "</dev/null rm x",
    ">f rm x",
    "rm>f x",
    "{ rm x; } 2>&1",
    "! ! rm x",
    "function f { rm x; }",
    r"find . -name x -ok rm {} \;",
    "exec 3>f; rm x",
    "true && ! rm x",
    "git reset --soft HEAD~1",
    "GIT_DIR=x git reset",
    "git -p reset",
    "cat f |& bash -s",
    "echo ok && sudo ls",
    "chronic rm x",
    "ionice -c 3 rm x",
    "time -p rm x",
    "unlink x",
    "shred x",
    '[ "$(rm x)" ]',
    "nice bash",
    "env -i sh",
    "git -C a -c b=c --no-pager reset --hard",
]

ASKED = [
    "é=1",
    "lś",
    "ls > größe",
    "timeout $x ls",
    "timeout -k $x 5 ls",
    "timeout 5* ls",
    "git -C $x status",
    "awk -F x* 1 f",
    "uniq -f x* f",
    "nice -n $x ls",
    '[ "-v" "a[$(touch f)]" ]',
    "find . -exec {} \\;",
    "",
    " \n",
    "ls\r",
    "ls\x00",
    "ls \ud800",
    "ls\xa0-la",
    "cat <<EOF > f\nx\nEOF",
    "mv a b",
    "pip install x",
    "python -m pip install x",
    "uv pip install x",
    "npm install",
    "$x y",
    "r? x",
    "/bin/r? x",
    "LD_PRELOAD=x ls",
    "PATH=. ls",
    "GIT_PAGER=x git log",
    "PAGER=x git log",
    "PATH=.; ls",
    "ls > f",
    "ls >> f",
    "ls &> f",
    "ls >| f",
    "ls <> f",
    "ls 2> f",
    "ls >& f",
    "x='$(touch f)'; echo ${x@P}",
    "echo ${!x}",
    "((x))",
    "[[ 'a[$(touch f)]' -eq 0 ]]",
    "[[ -v 'a[$(touch f)]' ]]",
    "test -v 'a[$(touch f)]'",
    "printf -v 'a[$(touch f)]' x",
    "unset 'a[$(touch f)]'",
    "sort *.txt",
    "sort {-o,out} in",
    "find . {-delete,}",
    "find . $x",
    "find . $(echo -delete)",
    "uniq a b",
    "uniq a *",
    "sort --outp=x y",
    "sort -ro x y",
    "git diff --outp x",
    "git grep -Oless x",
    "git log $x",
    'git "$x"',
    "git branch x",
    "git tag v1",
    "git push",
    "git commit -m x",
    "git checkout x",
    "git stash",
    "git st",
    "sed 's/a/b/e' f",
    "sed 's/a/b/w out' f",
    "sed -n '1e touch x' f",
    "sed -f x f",
    "sed --in-place s/a/b/ f",
    "sed -ni p f",
    "sed 's/a/b/;w x' f",
    "awk '{print > \"f\"}' f",
    "awk -f x f",
    "awk '{print | \"sh\"}' f",
    "awk '\"ls\" | getline' f",
    'awk "$x" f',
    "tar xf a",
    "tar -tf h:a",
    "tar tf a -I x",
    "date 010100002030",
    "cat < /dev/tcp/h/80",
    ":(){ :|:& };:",
    "[ a > b ]",
    "[ $x ]",
    "find . -fls x",
    "echo *.x | xargs sort",
    "xargs env",
    "xargs -I{} {} x",
    "python -c 1",
    "perl -e 1",
    "node -e 1",
    "./ls",
    "/tmp/ls",
    "~/ls",
    "/usr/bin/../../tmp/ls",
    "cp a b",
    "chmod 1 f",
    "mkdir x",
    "touch x",
    "curl x",
    "wget x",
    "rmdir x",
    "tree -o x",
    "xxd a b",
    "rg --pre=x y",
    "fd -x ls",
    "IFS=x; ls",
    "export PATH=.",
    "declare -n x=PATH",
    "read PATH",
    "for PATH in x; do ls; done",
    "cat <<A <<B\nA\nB",
    "ls 'x",
    "env -C / ls",
    "a() { ls; }",
    "hostname x",
    "alias ls=mv",
    "shopt -s x",
    "enable -f x y",
    "cd /tmp; make",
    "date --se=x",
    "file -C x",
    "less f",
    "vim f",
    "ls; {",
    "echo ${LD_PRELOAD:=x}",
    "env PATH=. ls",
    "env BASH_ENV=x ls",
    "env X=1 A",
    "command x",
    "xargs x",
    "tee x",
    ": > f",
    "git -c x=y log",
    "git --exec-path=x log",
    "git --work-tree=/ status",
    "git config x y",
    "git remote add a b",
    "git worktree add x",
    "git diff --ext-diff",
    "mapfile -C x y",
    "base64 x > y",
    "touch $(ls)",
    "cat <<EOF\n${x@P}\nEOF",
    "cat <<EOF\n$((x))\nEOF",
    "git log --oneline && touch x",
    "git diff | tee f",
    "less +G f",
]

ALLOWED = [
    "grep -rn café src",
    "echo '日本語'",
    "cat größe.txt | head",
    "ls -la src",
    "git status",
    "git log --oneline -5",
    "grep -rn x .",
    "cat a b | head",
    "find . -name '*.py' -type f",
    "find . -name '*.py' -exec grep -l x {} +",
    r"find . -name '*.py' -exec wc -l {} \;",
    "find . -name '*.py' | xargs grep -n foo",
    "find . -type f -print0 | xargs -0 wc -l",
    "find . -name x | xargs -I{} cat {}",
    'ls -la | grep "^d" > /dev/null 2>&1 || true',
    "cd src && ls",
    "cd src && git status",
    "git diff HEAD~1 -- src/a.py",
    'git log --format="%h %s" --since="2 days ago"',
    "git show HEAD:src/a.py",
    "git branch -a",
    "git branch --show-current",
    "git remote -v",
    "git rev-parse HEAD",
    "git -C sub status",
    "git --no-pager log -3",
    "git stash list",
    "git blame -L 1,10 f.py",
    "git diff --stat main...HEAD",
    "sed -n '1,20p' f",
    'sed -n "5p;10,12p" f',
    "sed 's/a/b/g' f",
    "awk '{print $1}' f",
    "awk -F: '{print $1, $3}' f",
    "awk 'NR==3' f",
    "sort -k2,2 -t, f | uniq -c | sort -rn | head -5",
    "date +%F",
    "date -u",
    "python --version",
    "python3 -V",
    "wc -l src/*.py",
    "cat *.py",
    "head -n 5 README.md; tail -3 README.md",
    "test -f x && echo yes || echo no",
    "[ -f x ] && echo yes",
    "[[ -d src ]] && ls src",
    "if [ -e a ]; then cat a; else echo none; fi",
    'for f in a b c; do echo "$f"; done',
    'for f in *.py; do wc -l "$f"; done',
    'while read -r line; do echo "$line"; done < list.txt',
    'echo "hello $(date +%Y)"',
    "echo $((1 + 2))",
    "diff <(sort a) <(sort b)",
    "tar -tzf a.tgz",
    "tar tf a.tar",
    "timeout 10 grep -r x .",
    "time ls",
    "LANG=C ls",
    "LC_ALL=C sort f",
    "env",
    "env | sort",
    "printenv HOME",
    "command -v git",
    "which python rm",
    'rg -n "def foo" src',
    "rg --files | head",
    "cat <<'EOF'\nrm x\nEOF",
    "# list files\nls",
    "ls \\\n  -la",
    'grep -E "a|b" file',
    "echo 'rm -rf /'",
    "du -sh . ; df -h",
    "export FOO=bar",
    'x=1; echo "$x"',
    "set -e",
    "ls 2>/dev/null",
    "jq '.a' f.json",
    "/bin/ls /tmp",
    "{ ls; pwd; } | cat",
    "(cd a; ls)",
    "! grep -q x f",
    "cat < f",
    "printf '%s\\n' \"$x\"",
    "git tag -l",
    "git tag",
    "git config --get user.name",
    "ls stash@{0}",
]


@pytest.mark.seed("X04")
@pytest.mark.parametrize("command", DENIED)
def test_denied(command: str) -> None:
    assert classify_command(command).decision is Decision.DENY


@pytest.mark.seed("X05")
@pytest.mark.parametrize("command", ASKED)
def test_asked(command: str) -> None:
    assert classify_command(command).decision is Decision.ASK


@pytest.mark.seed("X05")
@pytest.mark.parametrize("command", ALLOWED)
def test_allowed(command: str) -> None:
    ruling = classify_command(command)
    assert ruling.decision is Decision.ALLOW, ruling.reason


@pytest.mark.seed("X04", "X05")
@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("ls; rm -r build", ("rm", "removes files")),
        ("git -C a reset", ("git reset",)),
        ("mv a b", ("mv a b", "moves or renames")),
        ("sort -o out in", ("sort", "-o")),
        ("frobnicate x", ("frobnicate", "not known")),
        ("echo hi > out", ("writes to out",)),
        ("GIT_PAGER=x git log", ("GIT_PAGER",)),
    ],
)
def test_reason_names_command_and_cause(command: str, parts: tuple[str, ...]) -> None:
    reason = classify_command(command).reason
    assert all(part in reason for part in parts), reason


HARMFUL = ["rm -rf x", "sudo id", "git reset --hard", "bash -c ls", "sh", "eval ls", "git -C a reset", "/bin/rm x"]
WRAPS: list[Callable[[str], str]] = [
    *[
        (lambda inner, prefix=prefix: prefix + inner)
        for prefix in (
            "timeout 5 ",
            "nohup ",
            "nice -n 5 ",
            "stdbuf -oL ",
            "env A=1 ",
            "setsid -w ",
            "command ",
            "xargs -0 -n 1 ",
            "busybox ",
            "exec ",
            "ionice -c2 ",
            "/usr/bin/env -i ",
            "watch ",
            "time ",
        )
    ]
]
CONTEXTS: list[Callable[[str], str]] = [
    *[
        (lambda inner, form=form: form.replace("@", inner))
        for form in (
            "@",
            "ls; @",
            "ls && @",
            "ls | @",
            "ls & @",
            "ls\n@",
            "(ls; @)",
            "{ @; }",
            "if true; then @; fi",
            "if @; then ls; fi",
            "while @; do ls; done",
            "for i in a b; do @; done",
            "case a in a) @;; esac",
            "f() { @; }",
            "echo $(@)",
            'echo "a $(@) b"',
            "cat <(@)",
            "cat <<EOF\n$(@)\nEOF",
            "x=$(@)",
            "@ > f",
            "@ &",
            "echo ${x:-$(@)}",
            "[[ -n $(@) ]]",
        )
    ]
]


def _spelled(name: str, how: int) -> str:
    return [
        name,
        f'"{name}"',
        f"'{name}'",
        "".join(f"\\{letter}" if letter.isalpha() else letter for letter in name),
        f"{name[0]}''{name[1:]}",
        f"{name[0]}\\\n{name[1:]}",
        "$'" + "".join(f"\\x{ord(letter):02x}" for letter in name) + "'",
    ][how]


@pytest.mark.seed("X04")
@settings(max_examples=200, deadline=None)
@given(
    harmful=st.sampled_from(HARMFUL),
    spelling=st.integers(0, 6),
    wraps=st.lists(st.sampled_from(WRAPS), max_size=3),
    prefix=st.sampled_from(["", "A=1 ", "2>/dev/null ", "! ", "! A=1 B= ", "</dev/null "]),
    contexts=st.lists(st.sampled_from(CONTEXTS), min_size=1, max_size=2),
)
def test_denied_stays_denied_however_it_is_wrapped(
    harmful: str,
    spelling: int,
    wraps: list[Callable[[str], str]],
    prefix: str,
    contexts: list[Callable[[str], str]],
) -> None:
    name, _, rest = harmful.partition(" ")
    command = f"{_spelled(name, spelling)} {rest}"
    for wrap in wraps:
        command = wrap(command)
    command = prefix + command
    for context in contexts:
        command = context(command)
    assert classify_command(command).decision is Decision.DENY, command


@pytest.mark.seed("X04", "X05")
@settings(max_examples=200, deadline=None)
@given(
    destructive=st.sampled_from(
        [
            "mv a b",
            "find . -delete",
            "sed -i s/a/b/ f",
            "git push -f",
            "tee f",
            "sort -o f g",
            "git branch -D a",
            "rm x",
        ]
    ),
    forms=st.lists(st.sampled_from([*WRAPS, *CONTEXTS]), max_size=5),
)
def test_a_rewritten_destructive_command_is_never_allowed(destructive: str, forms: list[Callable[[str], str]]) -> None:
    command = destructive
    for form in forms:
        command = form(command)
    assert classify_command(command).decision is not Decision.ALLOW, command


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=200), st.text(alphabet=st.characters(), max_size=50)))
def test_no_text_raises(command: str) -> None:
    assert classify_command(command).reason


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "ls",
                "rm",
                "$(",
                ")",
                "`",
                "'",
                '"',
                "{",
                "}",
                ";",
                "|",
                "&",
                "&&",
                "<<EOF",
                "EOF",
                "\n",
                "\\",
                "#",
                "[[",
                "]]",
                "((",
                "))",
                "if",
                "then",
                "fi",
                "case",
                "in",
                "esac",
                ">",
                "<",
                "x",
            ]
        ),
        max_size=25,
    )
)
def test_no_broken_syntax_raises(pieces: list[str]) -> None:
    assert classify_command(" ".join(pieces)).reason


@pytest.mark.parametrize("filler", ["a ", "ls;", "$(", "{ ", "'", "\0", "\ud800", "watch "])
def test_megabytes_are_not_allowed_and_hide_nothing(filler: str) -> None:
    assert classify_command(filler * (1_000_000 // len(filler))).decision is not Decision.ALLOW
    assert classify_command(f"rm x; {filler * MAX_LENGTH}").decision is Decision.DENY


def test_deep_nesting_does_not_raise() -> None:
    assert classify_command("$(" * 2000 + "rm x" + ")" * 2000).decision is Decision.DENY
    assert classify_command("nice " * 3000 + "rm x").decision is Decision.DENY


@pytest.mark.parametrize(
    "command", ["R\U0003ad58O\r{\U000de79f5", "\U0010ffff=1", "ls ${\U000e0001}", "<<\U0001f600\nx"]
)
def test_characters_beyond_the_grammars_tables_do_not_crash_it(command: str) -> None:
    for _ in range(20):
        assert classify_command(command).decision is Decision.ASK


def test_reason_shows_characters_as_they_were_written() -> None:
    assert "größe" in classify_command("mv größe x").reason


def test_threads_share_the_parser() -> None:
    commands = ["ls -la", "rm x", "mv a b"] * 50
    with ThreadPoolExecutor(8) as pool:
        decisions = [ruling.decision for ruling in pool.map(classify_command, commands)]
    assert decisions == [Decision.ALLOW, Decision.DENY, Decision.ASK] * 50
