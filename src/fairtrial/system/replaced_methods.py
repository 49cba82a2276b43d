"""Replace methods of other packages as long as a conversation is open, and restore them after the last one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, TypeVar

ORIGINAL = "_fairtrial_original"
"""The attribute of a replaced method that holds the original."""
_lock = threading.Lock()
_users: list[object] = []
_replaced: list[tuple[type, str]] = []
C = TypeVar("C", bound=Callable[..., Any])


@contextmanager
def replacing() -> Iterator[None]:
    """Keep the methods that are replaced in the block. The end of the last open block restores them."""
    user = object()
    with _lock:
        _users.append(user)
    try:
        yield
    finally:
        with _lock:
            _users.remove(user)
            if not _users:
                _restore()


def replace_method(owner: type, name: str, make: Callable[[C], C]) -> None:
    """Replace a method of a class, once: `make` gets the original method.

    A wrapper of an instrumentation claims to be a function, and finds its instance only if the class looks it up.
    """
    with _lock:
        original = vars(owner).get(name)
        if original is None or hasattr(original, ORIGINAL):
            return
        is_wrapper = type(original) not in (FunctionType, classmethod, staticmethod)
        method = make(getattr(owner, name) if is_wrapper else original)
        setattr(method, ORIGINAL, original)
        setattr(owner, name, method)
        _replaced.append((owner, name))


def _restore() -> None:
    """Restore the methods. A method that somebody has wrapped or replaced in the meantime stays as it is."""
    for owner, name in _replaced:
        method = vars(owner).get(name)
        is_own = type(method) is FunctionType and ORIGINAL in method.__dict__
        if is_own and not hasattr(method.__dict__.get("__wrapped__"), ORIGINAL):
            setattr(owner, name, method.__dict__[ORIGINAL])
    _replaced.clear()
