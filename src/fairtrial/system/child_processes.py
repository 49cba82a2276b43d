"""Waits for other programs, each with a bound.

asyncio's own `Process.wait` ends when the pipes of a process are closed, and a read of a pipe ends when every process
has closed it. A child that a program leaves behind keeps both open, so that neither wait ends with the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from typing import TypeVar

Read = TypeVar("Read")
_END_SECONDS = 1.0
_LONGEST_PAUSE = 0.05


async def exit_code(process: Process, seconds: float) -> int | None:
    """Return the exit code of a process, or None if it still runs after some seconds."""
    pause = 0.001
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
    return process.returncode


async def read_while_running(process: Process, read: Callable[[], Awaitable[Read]]) -> Read | None:
    """Return what `read` returns, or None if the process has ended and nothing came for a second.

    `read` reads a stream of the process. It may be cancelled and called again.
    """
    while True:
        has_ended = process.returncode is not None
        try:
            async with asyncio.timeout(_END_SECONDS) as limit:
                return await read()
        except TimeoutError:
            if not limit.expired():
                raise
        if has_ended:
            return None


def kill_members(process: Process) -> None:
    """Kill a process that began a group of its own, with everything in the group, and wait for nothing."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()


async def kill_group(process: Process) -> None:
    """Kill a process that began a group of its own, with everything in the group, and close its pipes.

    It waits a second for the end of the process, not for children that left the group.
    """
    kill_members(process)
    if await exit_code(process, _END_SECONDS) is not None:
        process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  (otherwise pipes that a child holds stay open)
