"""Parse Python source in one thread at a time.

Before Python 3.11.8, two threads that parse at the same time break each other's count of depth, and the parser raises
SystemError (https://github.com/python/cpython/issues/106905).
"""

from __future__ import annotations

import ast
import inspect
import os
import threading
from collections.abc import Callable
from typing import Any

_PARSER = threading.RLock()

if hasattr(os, "register_at_fork"):  # a forked process has no thread that would release the lock
    os.register_at_fork(before=_PARSER.acquire, after_in_parent=_PARSER.release, after_in_child=_PARSER.release)


def parse_source(source: bytes) -> ast.Module:
    """Return the syntax tree of a module, as `ast.parse` does."""
    with _PARSER:
        return ast.parse(source)


def read_source(code: Callable[..., Any]) -> str:
    """Return the source of a function or a class, as `inspect.getsource` does. That of a class is parsed."""
    with _PARSER:
        return inspect.getsource(code)
