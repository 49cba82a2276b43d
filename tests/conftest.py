"""What several tests need: the founders' shared files, where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Several test processes share the cores: a second thread in each would only wait for the others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with vectors and real files; tests that ask for it are marked `shared` and skip where it is absent."""
    folder = Path(os.environ.get("ASSAY_SHARED") or Path(__file__).parents[2] / "shared")
    if not (folder / "vectors").is_dir():
        pytest.skip(f"{folder} is not there; only the founders have it")
    return folder
