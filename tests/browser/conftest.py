"""Each module of these tests is done by one process, because its tests share a browser and a server."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the group of its module, which `--dist loadgroup` keeps together, if it has no other."""
    for item in items:
        if item.path.parent == HERE and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
