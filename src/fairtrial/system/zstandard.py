"""Zstandard. Python has it from 3.14 on, and a package has the same module for older versions."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
