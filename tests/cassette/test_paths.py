"""Known folders in texts: found as a whole, in every spelling, and exchanged for others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cassette.paths import LITERAL_MARK, KnownPaths, PathMap

WORKSPACE = "/home/dev/w/x-1/repo"
HOME = "/home/dev/w/x-1"
properties = settings(deadline=None)


@pytest.fixture
def known() -> KnownPaths:
    return KnownPaths({"workspace": WORKSPACE, "home": HOME, "scratch": "/tmp/x"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/tmp/x", "<scratch>"),
        ("/tmp/x/", "<scratch>/"),
        ("/tmp/x/a.py", "<scratch>/a.py"),
        ('"/tmp/x"', '"<scratch>"'),
        ("in /tmp/x.", "in <scratch>."),
        ("in /tmp/x. And", "in <scratch>. And"),
        ("/tmp/x...", "<scratch>..."),
        ("/tmp/x: 3 files", "<scratch>: 3 files"),
        ("PATH=/tmp/x:/usr/bin:/tmp/x/bin", "PATH=<scratch>:/usr/bin:<scratch>/bin"),
        ("**/tmp/x**, `/tmp/x` (/tmp/x)", "**<scratch>**, `<scratch>` (<scratch>)"),
        ("cp /tmp/x->/tmp/x,", "cp <scratch>-><scratch>,"),
        ("cc -I/tmp/x/include --out=/tmp/x", "cc -I<scratch>/include --out=<scratch>"),
        ("read @/tmp/x/a", "read @<scratch>/a"),
        ("-/tmp/x\n+/tmp/x/a", "-<scratch>\n+<scratch>/a"),
        ("在/tmp/x目录下", "在<scratch>目录下"),
        ("\x1b[32m/tmp/x\x1b[0m", "\x1b[32m<scratch>\x1b[0m"),
        (r'{"out": "a\n/tmp/x\n\u2014/tmp/x\u2014"}', r'{"out": "a\n<scratch>\n\u2014<scratch>\u2014"}'),
        ("?q=%22/tmp/x%22", "?q=%22<scratch>%22"),
        (f"{HOME}/.rc {WORKSPACE}/a {HOME}", "<home>/.rc <workspace>/a <home>"),
    ],
)
def test_a_folder_is_found_as_a_whole(known: KnownPaths, text: str, expected: str) -> None:
    assert known.to_placeholders(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- read: home/dev/w/x-1/repo/a.py", "- read: <workspace-rootless>/a.py"),
        ("`home/dev/w/x-1/repo`,", "`<workspace-rootless>`,"),
        ('"home/dev/w/x-1/b"', '"<home-rootless>/b"'),
        (r'"read: home/dev/w/x-1/repo\nhome/dev/w/x-1"', r'"read: <workspace-rootless>\n<home-rootless>"'),
        ("/home/dev/w/x-1/repo and home/dev/w/x-1/repo", "<workspace> and <workspace-rootless>"),
    ],
)
def test_a_folder_is_found_relative_to_the_root(known: KnownPaths, text: str, expected: str) -> None:
    """Kilo sums up what it did so, where the workspace is no repository and / is its project."""
    assert known.to_placeholders(text) == expected
    other = KnownPaths({"workspace": "/srv/a", "home": "/srv"})
    rewritten = PathMap(known, other).rewrite(text)
    assert "home/dev" not in rewritten
    assert "//" not in rewritten


@pytest.mark.parametrize(
    "text",
    ["my/home/dev/w/x-1/repo", "../home/dev/w/x-1/repo", "https://home/dev/w/x-1/repo", "home/dev/w/x-1/repository",
     "~home/dev/w/x-1/repo", "tmp/x/a.py"],
)  # fmt: skip
def test_a_relative_path_that_only_looks_like_one_is_left_alone(known: KnownPaths, text: str) -> None:
    found = known.to_placeholders(text)
    assert "<workspace" not in found
    assert "<scratch" not in found


@pytest.mark.parametrize(
    "text",
    [
        "/tmp/x2",
        "/tmp/x.old",
        "/tmp/x-1",
        "/tmp/x_1",
        "/tmp/xé",
        r"/tmp/x\u00e9",
        "/tmp/x~",
        "/tmp/x@2",
        "/tmp/x%20y",
        "/tmp/x-*",
        "/tmp/x{1,2}",
        "/tmp/x${suffix}",
        "/var/tmp/x",
        "./tmp/x",
        "~/tmp/x",
        "$ROOT/tmp/x",
        "${ROOT}/tmp/x",
        "/a//tmp/x",
        "é/tmp/x",
        r"\u00e9/tmp/x",
        "/TMP/X",
        "tmp/x",
        "home-dev-w-x-1-repo2",
        "home-dev-w-x-1-repo-2",
        "home-dev-w-x-1-repo.old",
        "my-home-dev-w-x-1-repo",
        "tmp-x",
    ],
)
def test_another_folder_is_not_found(known: KnownPaths, text: str) -> None:
    assert known.to_placeholders(text) is text
    assert known.find(text) == []


@pytest.mark.parametrize(
    ("text", "expected", "form"),
    [
        (r"\/tmp\/x\/a", r"<scratch-json>\/a", "json-slashes"),
        (r"\\/tmp\\/x", "<scratch-json-quoted>", "json-slashes-quoted"),
        (r"\\\/tmp\\\/x", "<scratch-json2>", "json-slashes-twice"),
        ("file:///tmp/x/a", "file://<scratch>/a", "url"),
        (r"file:\/\/\/tmp\/x", r"file:\/\/<scratch-json>", "json-slashes"),
        ("?folder=%2Ftmp%2Fx%2Fa", "?folder=<scratch-url>%2Fa", "url-component"),
        ("?folder=%2ftmp%2fx", "?folder=<scratch-url-lower>", "url-component-lower"),
        (
            f"{HOME}/.q/projects/-home-dev-w-x-1-repo/memory",
            "<home>/.q/projects/-<workspace-slug>/memory",
            "path slug",
        ),
        ("home-dev-w-x-1-repo", "<workspace-slug>", "slug"),
        ("--home-dev-w-x-1-repo--", "--<workspace-slug>--", "slug"),
        ("_home_dev_w_x_1_repo", "_<workspace-slug_>", "slug_"),
        ("home_dev_w_x-1_repo", "<workspace-slug_>", "slug_-separators"),
        ("projects/-tmp-x/", "projects/-<scratch-slug>/", "slug"),
    ],
)
def test_every_spelling_is_known(known: KnownPaths, text: str, expected: str, form: str) -> None:
    assert known.to_placeholders(text) == expected
    assert " ".join(found.form for found in known.find(text)) == form


@pytest.mark.parametrize("slug", ["home-dev-a-b-c-d", "home-dev-a_b-c.d", "home-dev-a_b-c-d", "home-dev-a-b-c.d"])
def test_slugs_of_different_makers_have_one_placeholder(slug: str) -> None:
    known = KnownPaths({"workspace": "/home/dev/a_b/c.d"})
    if slug == "home-dev-a-b-c.d":  # nobody turns underscores into dashes and keeps dots
        assert known.to_placeholders(slug) == slug
    else:
        assert known.to_placeholders(slug) == "<workspace-slug>"


def test_a_slug_of_one_part_is_found_only_where_it_is_a_folder() -> None:
    known = KnownPaths({"workspace": "/workspace"})
    assert known.to_placeholders("the workspace --workspace -workspace") == "the workspace --workspace -workspace"
    assert known.to_placeholders("/root/.q/-workspace/m") == "/root/.q/-<workspace-slug>/m"


def test_special_characters_in_a_folder() -> None:
    known = KnownPaths({"workspace": '/home/jos\u00e9/my "x"'})
    for text in (
        '/home/jos\u00e9/my "x"/a',
        r"/home/jos\u00e9/my \"x\"/a",
        '/home/jos\u00e9/my \\"x\\"/a',
        "/home/jos%C3%A9/my%20%22x%22/a",
        "/home/jos%c3%a9/my%20%22x%22/a",
    ):
        assert known.to_placeholders(text) == "<workspace>/a"
    assert known.to_placeholders("-home-jos--my--x-") == "-<workspace-slug>"


def test_folders_of_windows() -> None:
    known = KnownPaths({"workspace": "C:\\Users\\j d\\x"})
    assert known.to_placeholders(r"C:\Users\j d\x\a") == r"<workspace>\a"
    assert known.to_placeholders(r"c:\Users\j d\x\a") == r"<workspace>\a"
    assert known.to_placeholders(r'"C:\\Users\\j d\\x\\a"') == r'"<workspace-json>\\a"'
    assert known.to_placeholders("C:/Users/j d/x/a") == "<workspace-forward>/a"
    assert known.to_placeholders("file:///C:/Users/j%20d/x/a") == "file://<workspace-forward>/a"
    assert known.to_placeholders("C--Users-j-d-x") == "<workspace-slug>"
    assert known.to_placeholders(r"C:\Users\j d\x2") == r"C:\Users\j d\x2"


def test_a_slash_at_the_end_says_nothing_and_the_root_is_left_out() -> None:
    known = KnownPaths({"workspace": "/tmp/x/", "home": "/", "drive": "C:\\"})
    assert known.folders == {"workspace": "/tmp/x"}
    assert known.to_placeholders("/tmp/x/a /usr C:\\a") == "<workspace>/a /usr C:\\a"


@pytest.mark.parametrize(
    "folders", [{"workspace": "tmp/x"}, {"workspace": ""}, {"a b": "/tmp/x"}, {"": "/tmp/x"}, {"a-slug": "/tmp/x"}]
)
def test_what_cannot_be_known_is_refused(folders: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="folder"):
        KnownPaths(folders)


def test_no_folders_at_all() -> None:
    text = "/tmp/x <workspace>"
    assert KnownPaths({}).to_placeholders(text) is text
    assert PathMap(KnownPaths({}), KnownPaths({"workspace": "/tmp/x"})).rewrite(text) is text


def test_a_placeholder_in_a_text_is_not_a_folder(known: KnownPaths) -> None:
    assert known.to_placeholders("<workspace>/a") == f"<{LITERAL_MARK}workspace>/a"
    assert known.to_placeholders(f"<{LITERAL_MARK}workspace>/a") == f"<{LITERAL_MARK}{LITERAL_MARK}workspace>/a"
    assert known.to_placeholders("<home-slug> /tmp/x") == f"<{LITERAL_MARK}home-slug> <scratch>"
    other = "<workspaces> <workspace <other>"
    assert known.to_placeholders(other) is other


SPELLED = ["/tmp/x", "/srv/a/b/c", r"\/tmp\/x", r"\\/tmp\\/x", "%2Ftmp%2Fx", "srv-a-b-c", "srv_a_b_c", "-tmp-x"]
LITERALS = ["<scratch>", "<scratch-slug>", "scratch", LITERAL_MARK, "<deep", "-json>"]
SIGNS = ["<", ">", "/", " ", "-", "_", ".", "a", "\\", '"', "\n", ":"]
PIECES = st.sampled_from([*SPELLED, *LITERALS, *SIGNS])
PLAIN = KnownPaths({"scratch": "/tmp/x", "deep": "/srv/a/b/c"})
FORM_OF = {
    "": "path",
    "json": "json-slashes",
    "json-quoted": "json-slashes-quoted",
    "json2": "json-slashes-twice",
    "url": "url-component",
    "url-lower": "url-component-lower",
    "slug": "slug",
    "slug_": "slug_",
}


def restored(text: str) -> str:
    def folder(found: re.Match[str]) -> str:
        marks, name, style = found.groups("")
        return found.group().replace(LITERAL_MARK, "", 1) if marks else PLAIN.spelled(name, FORM_OF[style]) or ""

    return re.sub(rf"<({LITERAL_MARK}*)(scratch|deep)(?:-([a-z_2-]+))?>", folder, text)


@properties
@given(st.lists(PIECES | st.text(max_size=3)).map("".join))
def test_different_texts_stay_different(text: str) -> None:
    assert restored(PLAIN.to_placeholders(text)) == text


@properties
@given(st.lists(PIECES).map("".join))
def test_found_places_are_what_they_say(text: str) -> None:
    end = 0
    for found in PLAIN.find(text):
        assert found.start >= end
        assert text[found.start : found.end] == PLAIN.spelled(found.name, found.form)
        end = found.end


RECORDED = KnownPaths({"workspace": WORKSPACE, "home": HOME, "only_here": "/opt/only"})
PRESENT = KnownPaths({"workspace": "/srv/run 2/w", "home": "/srv/run 2/home", "only_there": "/opt/there"})


def test_each_folder_is_exchanged_in_the_form_it_had() -> None:
    paths = PathMap(RECORDED, PRESENT)
    assert paths.rewrite(f"cd {WORKSPACE}/a; ls {HOME}.") == "cd /srv/run 2/w/a; ls /srv/run 2/home."
    assert paths.rewrite(f"file://{WORKSPACE}/a") == "file:///srv/run%202/w/a"
    assert paths.rewrite(r"\/home\/dev\/w\/x-1\/repo\/a") == r"\/srv\/run 2\/w\/a"
    assert paths.rewrite("p/-home-dev-w-x-1-repo/m") == "p/-srv-run-2-w/m"
    assert paths.rewrite("/opt/only/a") == "/opt/only/a"
    windows = PathMap(RECORDED, KnownPaths({"workspace": "D:\\w"}))
    assert windows.rewrite(WORKSPACE) == "D:\\w"
    assert json.loads(windows.rewrite(json.dumps({"path": "x"}).replace("x", WORKSPACE.replace("/", "\\/")))) == {
        "path": "D:\\w"
    }


def test_present_folders_are_not_looked_into() -> None:
    paths = PathMap(
        KnownPaths({"a": "/tmp/one", "b": "/tmp/two"}), KnownPaths({"a": "/tmp/two", "b": "/tmp/two/tmp/one"})
    )
    assert paths.rewrite("/tmp/one /tmp/two") == "/tmp/two /tmp/two/tmp/one"


def test_nothing_to_exchange_gives_the_same_object() -> None:
    paths = PathMap(RECORDED, PRESENT)
    for text in ("", "nothing here", "/home/dev/w/x-1x", "/opt/only", "<workspace>"):
        assert paths.rewrite(text) is text
    assert not paths.is_identity
    same = PathMap(RECORDED, KnownPaths({**RECORDED.folders, "more": "/srv"}))
    assert same.is_identity
    assert PathMap(RECORDED, KnownPaths({})).is_identity
    text = f"{WORKSPACE} {HOME}"
    assert same.rewrite(text) is text


@properties
@given(st.lists(PIECES).map("".join))
def test_there_and_back_is_the_same_text(text: str) -> None:
    paths = PathMap(PLAIN, KnownPaths({"scratch": "/mnt/q", "deep": "/mnt/e/f/g"}))
    new = paths.rewrite(text)
    assert PLAIN.find(new) == []
    assert paths.reversed.rewrite(new) == text


@pytest.mark.corpus
def test_two_runs_of_an_agent_have_the_same_placeholders(shared_dir: Path) -> None:
    seen = 0
    for second in sorted((shared_dir / "agents").glob("*.2.jsonl")):
        name = second.name.removesuffix(".2.jsonl")
        texts = [
            json.dumps([json.loads(line)["body"].get("messages") for line in path.read_text().splitlines()])
            for path in (second.with_name(f"{name}.jsonl"), second)
        ]
        folders = [re.search(rf"/home/dev/w/{name}-[a-z0-9_]{{8}}", text) for text in texts]
        for text, folder in zip(texts, folders, strict=True):
            if folder is None:
                continue
            seen += 1
            known = KnownPaths({"workspace": f"{folder.group()}/repo", "home": f"{folder.group()}/home"})
            run = folder.group().rpartition("-")[2]
            assert run in text
            assert run not in known.to_placeholders(text)
    if not seen:
        pytest.skip("no recorded pairs of agents beside this checkout")
