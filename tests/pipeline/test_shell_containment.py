"""Commands that read outside the workspace have to be asked for; the file tools refuse the same paths (G13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.pipeline.decision import Decision
from harness.pipeline.permissions import RiskClassifier, RuntimeMode
from harness.pipeline.shell import classify_command
from harness.pipeline.workspace import Workspace
from tests.pipeline.tools import builtin_executor

OUTSIDE = [
    "cat /etc/passwd",
    "cat ../x",
    "cat src/../../x",
    "head -5 ~/.ssh/id_rsa",
    "ls /",
    "ls ..",
    "ls -la ~",
    "ls -la /root",
    "cat $HOME/.netrc",
    'cat "${HOME}"/.netrc',
    "cat etc/passwd",
    "grep root /etc/passwd",
    "grep -rn x ..",
    "grep -f /etc/passwd x",
    "grep -e root /etc/passwd",
    "grep --file=/etc/passwd x",
    "find / -name x",
    "find .. -type f",
    "find ~ -name x",
    "find . -exec cat /etc/passwd \\;",
    "ls | xargs cat /etc/passwd",
    "cat < /etc/passwd",
    "wc -l < ../x",
    "X=/etc; cat $X/passwd",
    'f=/etc/passwd; cat "$f"',
    "cat $(echo /etc/passwd)",
    "for f in /etc/passwd; do cat $f; done",
    "cat {/etc/passwd,x}",
    "cat /e*/passwd",
    "cat '/etc/passwd'",
    "cat /et\\c/passwd",
    'cat /etc/"passwd"',
    "cd / && ls",
    "cd .. && ls",
    "cd; ls",
    "cd ~ && ls",
    "cd src && cat ../../x",
    "cd src; cat ../x",
    "(cd /etc; cat passwd)",
    "pushd /etc",
    "sed -n 1p /etc/passwd",
    "awk '{print}' /etc/passwd",
    "sort /etc/passwd",
    "diff a /etc/passwd",
    "jq . /etc/x.json",
    "rg root /etc",
    "tar -tf /root/a.tar",
    "timeout 5 cat /etc/passwd",
    "env cat /etc/passwd",
    "git -C / status",
    "git diff --no-index /etc/passwd a",
    "git --git-dir=/x/.git log",
    "cat /proc/self/environ",
    "cat //etc/passwd",
    "cat /workspace/../etc/passwd",
    "cat /workspace-x/f",
    "md5sum /etc/shadow",
    "xxd /etc/shadow",
    'while read l; do echo "$l"; done < /etc/passwd',
    "mapfile -t a < /etc/passwd",
    "cat <(cat /etc/passwd)",
    'echo "$(cat /etc/passwd)"',
    'echo "$(< /etc/passwd)"',
    "cp /etc/passwd x",
    "tail -f /var/log/syslog",
    "date -r /etc/passwd",
    "date -f /etc/passwd",
    "file /etc/passwd",
    "stat /etc/passwd",
    "du -sh /",
    "test -f /x; cat /x",
]

INSIDE = [
    "cat src/a",
    "cat ./a",
    "cat src/../a",
    "cat /workspace/a",
    "ls /workspace",
    "cd /workspace && ls",
    "cd /workspace/src && ls ..",
    "cd src && cat ../README.md",
    "cd src && ls && cat ../x | head",
    "ls > /dev/null",
    "ls 2>/dev/null",
    "cat < /dev/null",
    'grep -rn "/api/v1" src',
    "grep -rn '/etc/passwd' .",
    "grep -rnE '^/usr' src",
    "rg '/x' src",
    "sed -n '/start/,/end/p' f",
    "sed 's/a/b/' f",
    "sed 's#/a#/b#' f",
    "awk '/foo/ {print}' f",
    "awk -F/ '{print $1}' f",
    "awk -F / '{print $1}' f",
    "sort -t/ -k2 f",
    "sort -t / -k2 f",
    "cut -d/ -f1 f",
    "cut -d / -f1 f",
    "tr / _ < f",
    "echo /etc/passwd",
    "echo ../x",
    "printf '%s\\n' /a",
    "basename /a/b",
    "dirname /a/b",
    "[ -f /etc/x ] && echo y",
    "test -d /usr",
    "git log main..dev",
    "git diff HEAD~1..HEAD",
    "git show HEAD:src/a",
    "git log --grep=/x",
    "git log -- src",
    "find . -path '/x' -prune",
    "find . -name '..x'",
    "find src -type f",
    "which python",
    "command -v /usr/bin/python",
    "/bin/ls src",
    "/usr/bin/env | sort",
    "env | grep /usr",
    "ls | grep /x",
    "cat a..b",
    "cat ...",
    "jq '.a/2' f",
    "jq -r '.paths[\"/x\"]' f",
    "date +%Y/%m/%d",
    "date '+/%Y'",
    "ls src | xargs -n1 basename",
    "find . -type f -exec grep -l x {} +",
    "find . -exec /usr/bin/wc -l {} \\;",
    'while read -r f; do wc -l "$f"; done < list',
    'for f in src/*; do cat "$f"; done',
    'cat "$1"',
    "expr 4 / 2",
    "echo $((4 / 2))",
    "paste -d / a b",
    "head -c 10 f",
    "wc -l *.py",
    "tail -n +5 f",
    "cat -- a",
    "cat -",
    "diff <(sort a) <(sort b)",
    "python --version",
    "xargs -d / -a f echo",
    "column -t -s / f",
    "git status",
    "git -C src log",
]


@pytest.fixture
def rules(tmp_path: Path) -> RiskClassifier:
    """The classifier of a workspace called /workspace, with a folder ``src`` and a link ``etc`` that leads out."""
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "etc").symlink_to("/etc")
    return RiskClassifier(builtin_executor(root).registry, Workspace(root, alias="/workspace"))


@pytest.mark.parametrize("command", OUTSIDE)
def test_g13_a_command_that_reads_outside_the_workspace_is_not_allowed(rules: RiskClassifier, command: str) -> None:
    assert rules.classify("Bash", {"command": command}).decision is not Decision.ALLOW


@pytest.mark.parametrize("command", INSIDE)
def test_a_command_that_reads_inside_is_allowed(rules: RiskClassifier, command: str) -> None:
    ruling = rules.classify("Bash", {"command": command})
    assert ruling.decision is Decision.ALLOW, ruling.reason


def test_the_reason_names_the_path(rules: RiskClassifier) -> None:
    assert rules.classify("Bash", {"command": "cat src/../../x"}).reason == "src/../../x is outside the workspace"


def test_a_sub_agent_that_only_reads_is_denied_paths_outside(rules: RiskClassifier) -> None:
    ruling = rules.classify("Bash", {"command": "cat /etc/passwd"}, RuntimeMode.READ_ONLY)
    assert ruling.decision is Decision.DENY


def test_without_a_workspace_paths_are_not_looked_at() -> None:
    assert classify_command("cat /etc/passwd").decision is Decision.ALLOW


def test_what_is_outside_is_decided_by_the_caller() -> None:
    asked: list[str] = []

    def outside(path: str) -> bool:
        asked.append(path)
        return path == "secret"

    assert classify_command("cat public", outside).decision is Decision.ALLOW
    assert classify_command("cd a && cat b", outside).decision is Decision.ALLOW
    assert classify_command("cat secret", outside).decision is Decision.ASK
    assert asked == ["public", "a", "a/b", "secret"]
