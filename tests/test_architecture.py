"""The parts of the architecture that import-linter does not check."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import fairtrial

PACKAGE = Path(fairtrial.__file__).parent


def test_no_two_modules_have_the_same_name() -> None:
    """A module is named by its file alone, for example in a traceback, so every name stands for one module."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        if path.stem != "__init__":
            places[path.stem].append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
