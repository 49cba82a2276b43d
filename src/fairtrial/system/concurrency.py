"""Run many coroutines at once, up to a limit and in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from fairtrial.errors import StoreError

T = TypeVar("T")
R = TypeVar("R")


def _never(_: object) -> bool:
    return False


async def concurrently(
    items: AsyncIterable[T],
    work: Callable[[T], Awaitable[R]],
    *,
    limit: int,
    is_immediate: Callable[[T], bool] = _never,
) -> AsyncIterator[R]:
    """Yield `work(item)` for every item, in the order of completion, at most `limit` at once.

    An item is taken only when a place is free. If `work` or `items` raises, the other tasks are cancelled.
    `is_immediate` says of which items the work never waits. A task for each of them would take longer than most work.
    """
    completions: asyncio.Queue[asyncio.Task[Any] | tuple[R]] = asyncio.Queue()
    room = asyncio.Semaphore(limit)
    running: set[asyncio.Task[Any]] = set()

    def start(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(coroutine)
        running.add(task)
        task.add_done_callback(completions.put_nowait)
        return task

    async def take() -> None:
        source = aiter(items)
        while True:
            await room.acquire()
            try:
                item = await anext(source)
            except StopAsyncIteration:
                return
            if is_immediate(item):
                completions.put_nowait((await work(item),))
            else:
                start(_call(work, item))

    taking = start(take())
    try:
        while running:
            completion = await completions.get()
            if isinstance(completion, tuple):
                (result,) = completion
            else:
                running.discard(completion)
                result = completion.result()
            if completion is not taking:
                room.release()
                yield result
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def ends_the_run(error: BaseException) -> bool:
    """Return whether an exception must end the run.

    Either the user interrupts it, or the current task is cancelled, or the store cannot keep its results.
    """
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit | StoreError)


async def _call(work: Callable[[T], Awaitable[R]], item: T) -> R:
    return await work(item)
