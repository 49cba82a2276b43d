"""Memory for what was read from short texts, so that long texts of an agent cannot fill it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

_LONGEST = 4000
"""The length of the longest text whose reading is remembered."""
_MOST = 1024

Reading = TypeVar("Reading")


def remember_short(read: Callable[[str], Reading]) -> Callable[[str], Reading]:
    """Return a function that remembers what `read` returns for texts of at most 4,000 characters."""
    remembered = lru_cache(maxsize=_MOST)(read)

    @wraps(read)
    def read_text(text: str) -> Reading:
        return remembered(text) if len(text) <= _LONGEST else read(text)

    return read_text
