"""The event loop of the process, on which every synchronous function runs its coroutines.

Clients of users keep connections of the loop that opened them. The loop lives as long as the process, in a thread of
its own, so that a client of one run still works in the next one.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import os
import threading
import traceback
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context
from typing import Any

from fairtrial.system.process_end import process_kept

_GRACE = 1.0
"""The time in seconds that unfinished tasks may take to stop at the end."""
_TICK = 1.0
"""The time in seconds after which a waiting thread looks for Ctrl-C, on systems where it does not wake the thread."""
_work: ContextVar[_Work | None] = ContextVar("work", default=None)


def blocking(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, and return its result. A running loop of the caller, as in a notebook, waits.

    Tasks and threads that an agent left running are not waited for. SystemExit of an agent's task does not end the
    loop. If nobody waits for that task, it is raised at the end.
    """
    with process_kept():
        loop_thread = _take_thread()
        try:
            work = _Work(loop_thread)
            loop_thread.loop.call_soon_threadsafe(work.begin, coroutine, context=copy_context())
            interrupt = work.wait()
        finally:
            _return(loop_thread)
    return work.result(interrupt)


def own_tasks() -> set[asyncio.Task[Any]]:
    """Return the unfinished tasks of the running loop that belong to the same work as the running task."""
    work = _work.get()
    return {task for task in asyncio.all_tasks() if getattr(task, "work", None) is work}


class _Task(asyncio.Task[Any]):
    """A task that knows the work that it belongs to."""

    work: _Work | None = None


def _make_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> _Task:
    task = _Task(coroutine, loop=loop, **options)
    task.work = _work.get()
    return task


class _LoopThread:
    """An event loop in a daemon thread. `users` is the number of threads that wait for their work on it."""

    def __init__(self, *, is_shared: bool) -> None:
        self.users = 0
        self.is_usable = is_shared
        """Whether it takes more work. A task that does not stop would disturb the work after it."""
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(_make_task)
        self.loop.set_exception_handler(_note_unhandled)
        self.renew_executor()
        self.thread = threading.Thread(target=self._serve, daemon=True, name="fairtrial-loop")
        self.thread.start()

    def renew_executor(self) -> None:
        """Let the threads of the loop end, also those that hang, and take new ones."""
        threads = ThreadPoolExecutor(thread_name_prefix="fairtrial")
        old, self._threads = getattr(self, "_threads", None), threads
        self.loop.set_default_executor(threads)
        if old is not None:
            old.shutdown(wait=False, cancel_futures=True)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
                break
            except (SystemExit, KeyboardInterrupt) as error:
                # asyncio ends the loop if a task raises one of these, for example `sys.exit(0)` in a tool. The agent
                # that waits for the task gets the exception as well, so that it becomes an error of the case.
                _note_exit(error)
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self._threads.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
        self.loop.close()

    def stop(self) -> None:
        """Close the loop. If it does not stop, the thread ends with the process."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(_GRACE)


class _Work:
    """A coroutine that a thread waits for, and the tasks that it starts."""

    def __init__(self, loop_thread: _LoopThread) -> None:
        self._loop_thread = loop_thread
        self._is_done = threading.Event()
        self._task: asyncio.Task[Any] | None = None
        self._end: asyncio.Task[None] | None = None
        self.unhandled_exits: list[BaseException] = []
        self.number_of_exits = 0
        self._was_interrupted = False
        self.is_over = False

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Start the coroutine, in the thread of the loop and in the context of the caller."""
        _work.set(self)
        self._task = self._loop_thread.loop.create_task(_without_exit(coroutine))
        self._end = asyncio.Task(self._wait_for_end(self._task), loop=self._loop_thread.loop)
        self._end.add_done_callback(lambda _: self._is_done.set())

    async def _wait_for_end(self, task: asyncio.Task[Any]) -> None:
        """Wait for the coroutine, and then a moment for tasks that it left running."""
        await asyncio.wait([task])
        if self.number_of_exits:
            gc.collect()  # a task reports an exception that nobody retrieved when it is collected
        unfinished = own_tasks()
        for each in unfinished:
            each.cancel()
        if unfinished:
            _, running = await asyncio.wait(unfinished, timeout=_GRACE)
            self.is_over = True
            self._loop_thread.is_usable &= not running

    def wait(self) -> BaseException | None:
        """Wait for the end. Ctrl-C cancels the coroutine and is returned. A second one ends the waiting."""
        interrupt: BaseException | None = None
        while True:
            try:
                while not self._is_done.wait(_TICK):
                    pass
            except BaseException as error:
                if interrupt is not None:
                    self._loop_thread.is_usable = False
                    raise
                interrupt = error
                self._loop_thread.loop.call_soon_threadsafe(self.cancel)
            else:
                return interrupt

    def cancel(self) -> None:
        """Cancel the coroutine."""
        if self._task is not None:
            self._task.cancel()

    def result(self, interrupt: BaseException | None) -> Any:
        """Return the result, or raise the error. A coroutine that ends in spite of Ctrl-C has a result."""
        task, self._task, self._end = self._task, None, None  # a task keeps its context, and thereby this work
        assert task is not None  # noqa: S101  (the work is done)
        if interrupt is not None and (task.cancelled() or not isinstance(interrupt, KeyboardInterrupt)):
            raise interrupt
        value, exit_request = (None, None) if self._was_interrupted else task.result()
        for error in (exit_request, *self.unhandled_exits):
            if error is not None:
                raise error
        return value

    def note_exit(self, error: BaseException) -> None:
        """Note that a task raised SystemExit. KeyboardInterrupt of a task ends the coroutine, too."""
        self.number_of_exits += 1
        if isinstance(error, KeyboardInterrupt) and self._task is not None and not self._task.done():
            self._was_interrupted = True
            self.unhandled_exits.insert(0, error)
            self._task.cancel()


def _note_exit(error: BaseException) -> None:
    """Tell the work whose task or callback ended the loop."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is asyncio.Handle._run.__code__:  # noqa: SLF001
            context: Context = frame.f_locals["self"]._context  # noqa: SLF001
            if (work := context.get(_work)) is not None:
                work.note_exit(error)
            return


def _note_unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an error that nobody waits for, unless it is of a task that was told to stop and did not."""
    work: _Work | None = getattr(context.get("task") or context.get("future"), "work", None)
    error = context.get("exception")
    if work is not None and work.is_over:
        return
    if work is not None and isinstance(error, SystemExit):
        work.unhandled_exits.append(error)
    loop.default_exception_handler(context)


async def _without_exit(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, SystemExit | None]:
    """Return the result of a coroutine, or the SystemExit that it raised, which would leave the loop without an end."""
    try:
        return await coroutine, None
    except SystemExit as error:
        return None, error


class _Threads:
    """The loop that the threads of the process share."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.shared: _LoopThread | None = None


_threads = _Threads()
_of_parent: list[_Threads] = []
"""The loop of the process that forked this one. It shares its sockets, and must not be closed here."""


def _take_thread() -> _LoopThread:
    """Return the shared thread. A coroutine of the shared thread itself that blocks gets a thread of its own."""
    with _threads.lock:
        shared = _threads.shared
        if shared is not None and shared.thread is threading.current_thread():
            loop_thread = _LoopThread(is_shared=False)
        elif shared is not None and shared.is_usable:
            loop_thread = shared
        else:
            loop_thread = _threads.shared = _LoopThread(is_shared=True)
        loop_thread.users += 1
    return loop_thread


def _return(loop_thread: _LoopThread) -> None:
    with _threads.lock:
        loop_thread.users -= 1
        if loop_thread.users:
            return
        if loop_thread.is_usable:
            loop_thread.renew_executor()
            return
    loop_thread.stop()


def _stop_shared() -> None:
    if _threads.shared is not None and _threads.shared.thread.is_alive():
        _threads.shared.stop()


def _forget_parent() -> None:
    global _threads  # noqa: PLW0603  (there is one for the process)
    _of_parent.append(_threads)
    _threads = _Threads()


atexit.register(_stop_shared)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)
