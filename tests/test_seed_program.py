from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cassette.dialects import load_cassette
from harness.play.cassette_player import CassettePlayer
from harness.play.server import LoopbackServer

TESTS = Path(__file__).resolve().parent
PROGRAM = TESTS / "programs" / "weather.py"
CASSETTE = TESTS.parent / "cassettes" / "weather.yaml"


def run(program: Path, base_url: str) -> subprocess.CompletedProcess[str]:
    # A proxy or key from the developer's shell must not decide where the program's requests go.
    environment = {name: value for name, value in os.environ.items() if not name.upper().endswith(("_PROXY", "_KEY"))}
    return subprocess.run(
        [sys.executable, program, base_url], capture_output=True, text=True, timeout=40, env=environment, check=False
    )


@pytest.mark.seed("W01", "W03", "W04", "W06", "W07", "W09")
def test_the_seeds_program_runs_against_a_cassette_with_only_its_base_url_changed() -> None:
    player = CassettePlayer(load_cassette(CASSETTE))
    with LoopbackServer(player) as server:
        done = run(PROGRAM, server.base_url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Dhaka has 31 degrees and humid air.\n"
    assert server.miss is None
    assert player.unused == ()
    assert len(server.exchanges) == 2


@pytest.mark.seed("W09")
def test_the_same_program_with_another_tool_result_is_a_miss_that_it_sees_itself(tmp_path: Path) -> None:
    source = PROGRAM.read_text("utf-8")
    assert source.count('"temp_c": 31') == 1
    changed = tmp_path / "weather.py"
    changed.write_text(source.replace('"temp_c": 31', '"temp_c": 13'), "utf-8")
    player = CassettePlayer(load_cassette(CASSETTE))
    with LoopbackServer(player) as server:
        done = run(changed, server.base_url)
    assert done.returncode == 1
    assert server.miss is not None
    assert "BadRequestError" in done.stderr
    assert str(server.miss).splitlines()[0] in done.stderr
    assert [exchange.index for exchange in player.unused] == [1]
