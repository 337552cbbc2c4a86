"""The documentation's commands and code are run as they stand."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent
SAYS = {"run": "PASS", "replay": "PASS", "convert": "written to", "compare": "report: "}


def blocks(page: Path, kind: str) -> list[str]:
    return [found["text"] for found in BLOCK.finditer(page.read_text("utf-8")) if found["kind"] == kind]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what a user has after cloning, in which documents may write."""
    for name in ("scenarios", "cassettes"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for text in blocks(page, "console"):
            found += [(page.name, line) for line in text.splitlines() if line]
    return found


@pytest.mark.parametrize(("page", "command"), commands())
def test_a_command_of_the_documentation_succeeds(page: str, command: str, checkout: Path) -> None:
    steps = command.split(" && ")
    installing = [step for step in steps if step.startswith(("python3 -m venv .venv", ".venv/bin/pip install -q -e"))]
    for text in blocks(ROOT / "docs" / page, "yaml") if page != "README.md" else []:
        if name := re.match(r"# file: (\S+)", text):
            (checkout / name[1]).write_text(text, "utf-8")
    for step in steps[len(installing) :]:
        words = shlex.split(step.removeprefix(".venv/bin/"))
        if words[0] == "pytest":
            assert installing, "the test command installs first"
            return  # it is what runs this test
        done = subprocess.run([BIN / words[0], *words[1:]], cwd=checkout, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert SAYS.get(words[1], "") in done.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_the_code_of_a_page_runs_and_prints_what_the_page_says(page: Path, checkout: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    for line in done.stdout.splitlines():
        assert line in text


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_key_of_the_scenario_format_is_documented() -> None:
    from harness.scenario import format as scenario_format

    text = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
    for key in scenario_format._known_keys():
        assert f"`{key}`" in text or f"{key}:" in text or re.search(rf"[{{ ,.]{key}[}},` ]", text), key


def test_the_shown_error_is_what_the_command_prints(checkout: Path) -> None:
    yaml = next(text for text in blocks(ROOT / "docs" / "scenarios.md", "yaml") if text.startswith("# file:"))
    (checkout / "greet.yaml").write_text(yaml.replace("workspace:", "workspce:", 1), "utf-8")
    done = subprocess.run(
        [BIN / "harness", "run", "greet.yaml"], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.strip() in (ROOT / "docs" / "scenarios.md").read_text("utf-8")
