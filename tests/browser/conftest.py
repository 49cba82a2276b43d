"""The browser that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser. A module that needs flags of its own starts its own."""
    with launched() as own:
        yield own
