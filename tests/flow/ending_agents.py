"""Agents and metrics that try to end the process with exit code 0."""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
import threading

from fairtrial import Trace
from fairtrial.records.case import EvalCase


def hard(conversation: Trace) -> str:
    """End the process without any cleanup."""
    os._exit(int(conversation.invocations[-1].query == "seven") * 7)


async def hard_async(conversation: Trace) -> str:
    """End the process in the thread of the event loop."""
    return hard(conversation)


def soft(_conversation: Trace) -> str:
    """Exit as a script does."""
    raise SystemExit(0)


async def in_a_task(_conversation: Trace) -> str:
    """Exit in a task, as the tool of a framework may do."""
    await asyncio.gather(_exit())
    return "ok"


async def in_a_task_of_its_own(_conversation: Trace) -> str:
    """Exit in a task for which nobody waits."""
    task = asyncio.create_task(_exit())
    await asyncio.wait([task])
    return "ok"


async def _exit() -> None:
    sys.exit(0)


def in_a_thread(_conversation: Trace) -> str:
    """End the process in a thread of its own."""
    thread = threading.Thread(target=os._exit, args=(0,))
    thread.start()
    thread.join()
    return "ok"


def as_another_program(_conversation: Trace) -> str:
    """Replace the process with a program that succeeds."""
    os.execv("/bin/true", ["true"])  # noqa: S606


def at_exit(_conversation: Trace) -> str:
    """Fail, and end the process with 0 when Python ends."""
    atexit.register(os._exit, 0)
    return "no"


def by_signal(_conversation: Trace) -> str:
    """Kill the process."""
    os.kill(os.getpid(), 9)
    return "ok"


def by_abort(_conversation: Trace) -> str:
    """End as C code does that finds memory damaged."""
    os.abort()


def in_a_child(_conversation: Trace) -> str:
    """End a process that the agent forked, as it may."""
    child = os.fork()
    if not child:
        os._exit(0)
    return "ok" if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else "no"


def metric(_trace: Trace, _case: EvalCase) -> float:
    """A user's metric that ends the process."""
    os._exit(0)


async def metric_in_a_task(_trace: Trace, _case: EvalCase) -> float:
    """A user's metric that exits in a task."""
    await asyncio.gather(_exit())
    return 1.0
