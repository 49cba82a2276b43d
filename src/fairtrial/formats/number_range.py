"""The range of numbers that are read from foreign files: 64 bits, as a float or as a whole number."""

from __future__ import annotations

import math
from typing import Any

LEAST, MOST = -(2**63), 2**64 - 1
"""The range of whole numbers of 64 bits, with a sign or without."""


def is_in_range(number: int) -> bool:
    """Return whether a whole number has 64 bits at most."""
    return LEAST <= number <= MOST


def finite(raw: Any) -> float | None:
    """Return a number as a float, or None for anything else, for NaN, and for a number beyond 64 bits."""
    if type(raw) is float:  # nearly every number
        return raw if math.isfinite(raw) else None
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    if isinstance(raw, int) and not is_in_range(raw):
        return None
    return float(raw) if math.isfinite(raw) else None
