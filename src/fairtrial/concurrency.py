"""How do many awaitable things run at once, but not too many, and in bounded memory?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def concurrently(items: AsyncIterable[T], work: Callable[[T], Awaitable[R]], *, limit: int) -> AsyncIterator[R]:
    """Yield `work(item)` for every item, in the order of completion, at most `limit` at once.

    Items are taken only when there is room for them. An exception of `work` or `items` ends it and cancels the rest.
    """
    finished: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()
    room = asyncio.Semaphore(limit)
    running: set[asyncio.Task[Any]] = set()

    def start(what: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(what)
        running.add(task)
        task.add_done_callback(finished.put_nowait)
        return task

    async def take() -> None:
        source = aiter(items)
        while True:
            await room.acquire()
            try:
                item = await anext(source)
            except StopAsyncIteration:
                return
            start(_call(work, item))

    taking = start(take())
    try:
        while running:
            task = await finished.get()
            running.discard(task)
            result = task.result()
            if task is not taking:
                room.release()
                yield result
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def ends_the_run(error: BaseException) -> bool:
    """Whether an exception is nobody's fault: an interruption by the user, or the cancellation of the current task."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


async def _call(work: Callable[[T], Awaitable[R]], item: T) -> R:
    return await work(item)
