"""Frames as CSV files, and as Parquet with the extra."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import InputError
from harness.files import write_text_atomically

if TYPE_CHECKING:
    import pandas as pd


def demand_pyarrow() -> None:
    """Raise InputError where Parquet cannot be written."""
    if find_spec("pyarrow") is None:
        raise InputError("needs pyarrow", where="--parquet", hint="pip install 'harness[parquet]'")


def write_frames(frames: Mapping[str, pd.DataFrame], folder: Path, *, parquet: bool = False) -> None:
    """Write each frame as ``NAME.csv``, and as ``NAME.parquet`` too.

    In Parquet a column of values of several kinds is written as text. Raises OSError where the folder cannot be
    written, and InputError as `demand_pyarrow` does.
    """
    if parquet:
        demand_pyarrow()
    folder.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        write_text_atomically(folder / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
        if parquet:
            mixed = [column for column in frame.columns if frame[column].dtype == object]
            frame.astype(dict.fromkeys(mixed, "str")).to_parquet(folder / f"{name}.parquet", index=False)
