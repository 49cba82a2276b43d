"""Share equal texts of files as one object, which saves memory and time."""

from __future__ import annotations

from functools import lru_cache

_LONGEST = 100
"""Longer texts hardly ever repeat."""


def shared(text: str) -> str:
    """Return the same object for the same text, for example the name of a tool or of an attribute.

    Unlike `sys.intern`, whose texts Python 3.12 never frees, it takes a bounded memory.
    """
    return _remember_text(text) if len(text) <= _LONGEST else text


@lru_cache(maxsize=1024)
def _remember_text(text: str) -> str:
    return text
