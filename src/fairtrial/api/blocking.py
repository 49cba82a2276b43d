"""How does a synchronous caller run a coroutine?"""

from __future__ import annotations

import asyncio
import gc
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fairtrial.process_end import process_kept

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
    """Run a coroutine as `asyncio.run` does, but do not wait at the end for tasks and threads that do not stop.

    SystemExit of an agent's task does not end the loop. If nobody waits for that task, it is raised at the end.
    """
    unhandled_exits: list[SystemExit] = []
    number_of_exits = 0

    def count_exit() -> None:
        nonlocal number_of_exits
        number_of_exits += 1

    def note_exit(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, SystemExit):
            unhandled_exits.append(error)
        loop.default_exception_handler(context)

    with process_kept():
        runner = asyncio.Runner()
        loop = runner.get_loop()
        # mypy: an instance may have a method of its own
        loop.run_forever = _resumed_after_exits(loop.run_forever, count_exit)  # type: ignore[method-assign]
        loop.set_exception_handler(note_exit)
        threads = ThreadPoolExecutor(thread_name_prefix="fairtrial")
        loop.set_default_executor(threads)
        try:
            result, exit_request = runner.run(_without_exit(work))
        finally:
            if number_of_exits:
                gc.collect()  # a task reports an exception that nobody retrieved when it is collected
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
    for error in (exit_request, *unhandled_exits):
        if error is not None:
            raise error
    return result


def _resumed_after_exits(run_forever: Callable[[], None], count_exit: Callable[[], None]) -> Callable[[], None]:
    """Return `run_forever` of a loop, which then goes on if a task or a callback raises SystemExit.

    asyncio ends the loop in that case, and the process would exit with the code of SystemExit, which may be 0. For
    example, a tool calls `sys.exit(0)` in a task of its framework. The agent that waits for the task gets the exception
    as well, so that it becomes an error of the case.
    """

    def run() -> None:
        while True:
            try:
                return run_forever()
            except SystemExit as error:
                if not _from_callback(error):
                    raise  # for example, from the handler of a signal
                count_exit()

    return run


def _from_callback(error: BaseException) -> bool:
    """Return whether an exception comes out of a step of a task, or another callback of the loop."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is asyncio.Handle._run.__code__ for frame, _ in frames)  # noqa: SLF001


async def _without_exit(work: Any) -> tuple[Any, SystemExit | None]:
    """Return the result of a coroutine, or the SystemExit that it raised, which would leave the loop without an end."""
    try:
        return await work, None
    except SystemExit as error:
        return None, error
