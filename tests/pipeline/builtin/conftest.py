from __future__ import annotations

from pathlib import Path

import pytest

from harness.pipeline.file_versions import FileVersions
from harness.pipeline.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    folder.mkdir()
    return folder


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return Workspace(root)


@pytest.fixture
def versions() -> FileVersions:
    return FileVersions()
