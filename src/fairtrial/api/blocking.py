"""How is something asynchronous done from where nothing is?"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_GRACE = 1.0
"""Seconds that what is still under way at the end may take to stop."""


def blocking(work: Any) -> Any:
    """Run a coroutine to its end, in a thread of its own where a loop is already running (notebooks).

    Nothing that an agent left behind is waited for: neither a task that does not stop nor a thread.
    """
    if not _in_a_loop():
        return _run(work)
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((_run(work), None))
        except BaseException as error:  # noqa: BLE001  (raised again below, where the caller is)
            outcome.extend((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(work: Any) -> Any:
    """Do as `asyncio.run` does, but for its end, at which that waits for tasks and threads as long as they like."""
    runner = asyncio.Runner()
    loop = runner.get_loop()
    threads = ThreadPoolExecutor(thread_name_prefix="fairtrial")
    loop.set_default_executor(threads)
    try:
        return runner.run(work)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
            loop.set_exception_handler(lambda *_: None)  # what is left behind was told of already
        loop.run_until_complete(loop.shutdown_asyncgens())
        threads.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
        loop.close()
