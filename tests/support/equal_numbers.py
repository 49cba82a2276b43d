"""Comparison of the numbers in two summaries."""

from __future__ import annotations

from typing import Any

import pytest


def assert_equal_numbers(left: Any, right: Any) -> None:
    """Two summaries are equal, numbers to 1e-12."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for name in left:
            assert_equal_numbers(left[name], right[name])
    elif isinstance(left, list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_equal_numbers(one, other)
    elif isinstance(left, float):
        assert left == pytest.approx(right, rel=1e-12, abs=1e-12)
    else:
        assert left == right
