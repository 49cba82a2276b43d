"""Processes that a test did not start itself."""

from __future__ import annotations

import os
import select

_SECONDS = 30.0
"""The kernel ends a killed process when it next runs, which takes a moment on a busy machine."""


def ends(pid: int) -> bool:
    """Tell whether a process ends soon, or has ended. A process that nobody has waited for counts as ended."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        readable, _, _ = select.select([process], [], [], _SECONDS)
        return bool(readable)
    finally:
        os.close(process)
