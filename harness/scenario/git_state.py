"""A git state as a scenario writes it down, made with pinned dates and names: the same state has the same hashes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from harness.errors import InputError
from harness.scenario.world import CommitSpec, GitSpec, file_spec

FIRST_COMMIT_S = 1_577_836_800
"""2020-01-01T00:00:00Z; each further commit is a minute later."""

DEFAULT_BRANCH = "main"
_NAME, _EMAIL = "Harness", "harness@example.invalid"
_CONFIG = f"[user]\n\tname = {_NAME}\n\temail = {_EMAIL}\n[core]\n\tautocrlf = false\n[commit]\n\tgpgsign = false\n"

Beside = Callable[[str], Path]
"""A file that the scenario names, relative to its own."""


def make_repository(spec: GitSpec, root: Path, beside: Beside) -> None:
    """Make the empty folder ``root`` a repository in that state, with the files of its branch.

    The user's git configuration, hooks and templates have no part in it. Raises InputError for what git refuses.
    """
    _git(root, "init", "--quiet", "--template=", f"--initial-branch={spec.branch or DEFAULT_BRANCH}")
    with (root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write(_CONFIG)
    branch = spec.branch
    known: list[str] = []
    if spec.bundle is not None:
        known = _fetch(root, beside(spec.bundle), spec.bundle)
        branch = branch or _branch_of(known, spec.bundle)
    branch = branch or DEFAULT_BRANCH
    if spec.commits:
        stream = b"".join(_stream(spec.commits, branch, known, beside))
        _git(root, "fast-import", "--quiet", "--date-format=raw", given=stream)
    if spec.commits or known:
        made = {*known, branch, *(commit.branch for commit in spec.commits if commit.branch)}
        if branch not in made or not _exists(root, branch):
            raise InputError(f"there is no branch {branch!r}", where="workspace.git.branch")
        _git(root, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
        _git(root, "reset", "--quiet", "--hard")


def settle(spec: GitSpec, root: Path) -> None:
    """Stage what the scenario stages, and let the index know the files as they are now."""
    if spec.stage:
        _git(root, "add", "--all", "--", *spec.stage)
    _git(root, "update-index", "-q", "--refresh", wrong_ok=True)  # it says 1 where files differ, as they shall


def _fetch(root: Path, bundle: Path, name: str) -> list[str]:
    """Take all branches and tags of a bundle; the names of the branches."""
    if not bundle.is_file():
        raise InputError(f"no such file: {name}", where="workspace.git.bundle")
    _git(
        root,
        "fetch",
        "--quiet",
        "--update-head-ok",
        str(bundle),
        "+refs/heads/*:refs/heads/*",
        "+refs/tags/*:refs/tags/*",
    )
    (root / ".git" / "FETCH_HEAD").unlink(missing_ok=True)  # names the bundle's place on this machine
    return _git(root, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split()


def _branch_of(known: list[str], bundle: str) -> str:
    if len(known) == 1:
        return known[0]
    if DEFAULT_BRANCH in known:
        return DEFAULT_BRANCH
    raise InputError(
        f"{bundle} has the branches {', '.join(known) or '(none)'}", where="workspace.git.branch", hint="name one"
    )


def _exists(root: Path, branch: str) -> bool:
    return bool(_git(root, "for-each-ref", "--format=x", f"refs/heads/{branch}").strip())


def _stream(commits: list[CommitSpec], first: str, known: list[str], beside: Beside) -> Iterator[bytes]:
    """The commits as git's fast-import format has them: one process, whatever their number."""
    branch, begun, last = first, set[str](), f"refs/heads/{first}^0" if first in known else ""
    for number, commit in enumerate(commits):
        branch = commit.branch or branch
        date = f"{FIRST_COMMIT_S + 60 * number} +0000"
        yield f"commit refs/heads/{branch}\nmark :{number + 1}\n".encode()
        yield f"author {_NAME} <{_EMAIL}> {date}\ncommitter {_NAME} <{_EMAIL}> {date}\n".encode()
        yield _data(commit.message.encode())
        if branch not in begun:
            start = f"refs/heads/{branch}^0" if branch in known else last
            yield f"from {start}\n".encode() if start else b""
        begun.add(branch)
        last = f":{number + 1}"
        for path, mode, content in _changed(commit, beside):
            yield b"M " + mode + b" inline " + _quoted(path) + b"\n" + _data(content)
        for path in commit.delete:
            yield b"D " + _quoted(path) + b"\n"
        yield b"\n"
        if commit.tag:
            yield f"reset refs/tags/{commit.tag}\nfrom {last}\n\n".encode()


def _changed(commit: CommitSpec, beside: Beside) -> Iterator[tuple[str, bytes, bytes]]:
    """Path, mode and bytes of what a commit writes."""
    if commit.folder is not None:
        folder = beside(commit.folder)
        if not folder.is_dir():
            raise InputError(f"{commit.folder} is no folder", where="workspace.git.commits")
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                yield path.relative_to(folder).as_posix(), b"120000", os.fsencode(path.readlink())
            elif path.is_file():
                mode = b"100755" if os.access(path, os.X_OK) else b"100644"
                yield path.relative_to(folder).as_posix(), mode, path.read_bytes()
    for name, content in commit.files.items():
        spec = file_spec(content)
        mode = b"120000" if spec.link is not None else b"100755" if spec.executable else b"100644"
        yield name, mode, spec.content()


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"' + os.fsencode(escaped) + b'"'


def _git(root: Path, *arguments: str, given: bytes = b"", wrong_ok: bool = False) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, input=given, capture_output=True, check=False, env=_environment(os.environ)
        )
    except FileNotFoundError as error:
        raise InputError("git is not installed", where="workspace.git") from error
    if done.returncode and not wrong_ok:
        said = next((line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()), "")
        raise InputError(f"git {arguments[0]} failed: {said}", where="workspace.git")
    return done.stdout.decode("utf-8", "replace")


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the user's git, nor of a repository around the tests; the dates are for the reflog."""
    date = f"{FIRST_COMMIT_S} +0000"
    return {
        "PATH": given.get("PATH", os.defpath), "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": _NAME, "GIT_AUTHOR_EMAIL": _EMAIL, "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": _NAME, "GIT_COMMITTER_EMAIL": _EMAIL, "GIT_COMMITTER_DATE": date,
    }  # fmt: skip
