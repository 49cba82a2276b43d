"""Lock files against other processes."""

from __future__ import annotations

import os
import sys
from typing import IO, Any

_FAR = 2**31 - 2
"""The byte that is locked on Windows, where a locked byte can be neither read nor written. No file reaches it."""


def try_to_lock(file: IO[Any]) -> bool:
    """Lock a file until it is closed, and return whether this process has the lock now."""
    try:
        if sys.platform == "win32":
            import msvcrt

            place = os.lseek(file.fileno(), 0, os.SEEK_CUR)
            os.lseek(file.fileno(), _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file.fileno(), place, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
