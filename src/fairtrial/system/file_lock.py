"""Lock files against other processes."""

from __future__ import annotations

import sys
from typing import IO, Any


def try_to_lock(file: IO[Any]) -> bool | None:
    """Lock a file until it is closed, and return whether this process has the lock now.

    The result is False if another process has the lock, and None if the system does not have such locks (Windows).
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
