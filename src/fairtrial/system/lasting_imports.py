"""Import modules whose objects live as long as the process."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from fairtrial.system.lazy_names import LazyNames


def import_lastingly(module: str) -> ModuleType:
    """Import a module. The garbage collector ignores its objects, because they live as long as the process.

    The collector would otherwise look at them again and again. A short command takes a fifth less time without that.
    """
    if module in sys.modules or not gc.isenabled():
        return importlib.import_module(module)
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def lasting_names() -> Iterator[None]:
    """Let names of packages be imported lastingly in a block."""
    before = LazyNames.find_module
    LazyNames.find_module = staticmethod(import_lastingly)  # type: ignore[arg-type]
    try:
        yield
    finally:
        LazyNames.find_module = staticmethod(before)
