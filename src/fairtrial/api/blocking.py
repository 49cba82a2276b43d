"""How does a synchronous caller run a coroutine?"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

_GRACE = 1.0
"""The time in seconds that unfinished tasks may take to stop at the end."""


def blocking(work: Any) -> Any:
    """Run a coroutine to its end. If a loop is already running, for example in a notebook, it runs in its own thread.

    Tasks and threads that an agent left running are not waited for.
    """
    if not _in_a_loop():
        return _run(work)
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((_run(work), None))
        except BaseException as error:  # noqa: BLE001  (raised again below, in the thread of the caller)
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
    """Run a coroutine as `asyncio.run` does, but do not wait at the end for tasks and threads that do not stop."""
    runner = asyncio.Runner()
    loop = runner.get_loop()
    threads = ThreadPoolExecutor(thread_name_prefix="fairtrial")
    loop.set_default_executor(threads)
    try:
        return runner.run(work)
    finally:
        unfinished = asyncio.all_tasks(loop)
        for task in unfinished:
            task.cancel()
        if unfinished:
            loop.run_until_complete(asyncio.wait(unfinished, timeout=_GRACE))
            loop.set_exception_handler(lambda *_: None)  # the recording already names the task that did not stop
        loop.run_until_complete(loop.shutdown_asyncgens())
        threads.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
        loop.close()
