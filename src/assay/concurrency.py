"""How do many awaitable things run at once, but not too many, and in bounded memory?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def concurrently(items: AsyncIterable[T], work: Callable[[T], Awaitable[R]], *, limit: int) -> AsyncIterator[R]:
    """Yield `work(item)` for every item, in the order of completion, at most `limit` at once.

    Items are taken only when there is room for them. An exception of `work` or `items` ends it and cancels the rest.
    """
    source = aiter(items)
    running: set[asyncio.Task[R]] = set()
    coming: asyncio.Task[T] | None = None
    more = True
    try:
        while more or running:
            if more and coming is None and len(running) < limit:
                coming = asyncio.ensure_future(_next(source))
            waited: set[asyncio.Future[Any]] = {*running, *([coming] if coming else [])}
            done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            finished = [task for task in running if task in done]
            if coming is not None and coming in done:
                try:
                    running.add(asyncio.ensure_future(_call(work, coming.result())))
                except StopAsyncIteration:
                    more = False
                coming = None
            for task in finished:
                running.discard(task)
                yield task.result()
    finally:
        left: list[asyncio.Future[Any]] = [*running, *([coming] if coming else [])]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def ends_the_run(error: BaseException) -> bool:
    """Whether an exception is nobody's fault: an interruption by the user, or the cancellation of the current task."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


async def _next(source: AsyncIterator[T]) -> T:
    return await anext(source)


async def _call(work: Callable[[T], Awaitable[R]], item: T) -> R:
    return await work(item)
