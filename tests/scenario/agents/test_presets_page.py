from __future__ import annotations

from pathlib import Path

from harness.scenario.agents.presets.preset import load_preset, preset_names

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "presets.md").read_text("utf-8")


def test_the_page_says_of_every_preset_what_it_was_tried_with_and_how_to_install_it() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")
    ]
    said = {row[0].strip("`"): row[1:4] for row in rows if len(row) == 6}
    wanted = {}
    for name in preset_names():
        preset = load_preset(name)
        wanted[name] = [preset.title, preset.tested, f"`{preset.install}`"]
    assert said == wanted
