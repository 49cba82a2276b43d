"""Keep the process alive if an agent ends it before the run is finished. It never exits with 0."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

end_process = os._exit
"""`os._exit` itself, for the code that decides the exit code."""

_MODULES = [os, *(sys.modules[name] for name in ("posix", "nt") if name in sys.modules)]
_NAMES = ("_exit", "execv", "execve")
_protected: ContextVar[bool] = ContextVar("protected", default=False)
_installations = 0
_counting = threading.Lock()


@contextmanager
def process_kept() -> Iterator[None]:
    """Protect the process from `os._exit` and `os.exec...` of other code, until the block ends.

    In the block, and in the tasks and threads that share its context, these functions raise SystemExit. An agent or a
    metric that calls them gets an error of its case. In any other thread an exception would be lost. There, a call that
    would let the process exit with 0 lets it exit with 1. Processes that agents fork are not affected.

    The exit code cannot be protected from a library that calls the functions `exit` or `_exit` of C.
    """
    global _installations  # noqa: PLW0603  (the functions are replaced for the whole process, however many blocks)
    token = _protected.set(True)
    with _counting:
        if not _installations:
            _replace()
        _installations += 1
    try:
        yield
    finally:
        with _counting:
            _installations -= 1
            if not _installations:
                _restore()
        _protected.reset(token)


_originals: dict[str, Callable[..., Any]] = {}


def _replace() -> None:
    for name in _NAMES:
        _originals[name] = getattr(os, name)
        for module in _MODULES:
            setattr(module, name, _guard_call(name, _originals[name], os.getpid()))


def _restore() -> None:
    for name, original in _originals.items():
        for module in _MODULES:
            setattr(module, name, original)


def _guard_call(name: str, original: Callable[..., Any], process: int) -> Callable[..., NoReturn]:
    """Return a function that ends the process only if that is the end of a forked process, or tells of a failure."""

    def guarded(*args: Any, **options: Any) -> NoReturn:
        call = f"os.{name}({', '.join(map(repr, args[:1]))})"
        if os.getpid() == process:
            if _protected.get():
                raise SystemExit(f"{call} would end the process")
            # A system keeps the last 8 bits of an exit code.
            is_failure = name == "_exit" and bool(args) and isinstance(args[0], int) and args[0] & 0xFF
            if not is_failure:
                message = f"fairtrial: {call} ended the process before the run was finished\n"
                os.write(2, message.encode("utf-8", "replace"))
                end_process(1)
        original(*args, **options)
        raise AssertionError  # the original does not return

    return guarded
