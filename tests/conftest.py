"""Fixtures that several folders of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# A machine that is busy with something else is no failure of the code under test.
settings.register_profile("unhurried", settings(), deadline=None)
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    """Markers that the project's configuration does not name."""
    config.addinivalue_line("markers", "slow: takes minutes; runs only with -m slow")
    config.addinivalue_line("markers", "agents: runs a real agent; skips, with the reason, where it is not installed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out where nobody asks for them."""
    if "slow" in config.getoption("-m"):
        return
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item.get_closest_marker("slow") is None]


@pytest.fixture(scope="session")
def corpus_dir() -> Path:
    """The folder of third-party recordings beside the checkout; skips where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip("the shared corpus of third-party recordings (../shared/corpus) is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of material shared between checkouts, beside this one; skips where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of shared material (../shared) is not beside this checkout")
    return folder
