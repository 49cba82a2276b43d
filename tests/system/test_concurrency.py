"""Many coroutines run at once, but not too many, and an error ends them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from fairtrial.system.concurrency import concurrently


async def numbers(count: int, taken: list[int] | None = None) -> AsyncIterator[int]:
    """Numbers from 0 on; `taken` notes which were asked for."""
    for i in range(count):
        if taken is not None:
            taken.append(i)
        yield i


def test_every_item_is_worked_on_once() -> None:
    """Items that wait for a later one do not hold it up."""

    async def run() -> list[int]:
        last_is_done = asyncio.Event()

        async def work(i: int) -> int:
            if i == 4:
                last_is_done.set()
            else:
                await last_is_done.wait()
            return i

        return [one async for one in concurrently(numbers(5), work, limit=5)]

    assert sorted(asyncio.run(run())) == [0, 1, 2, 3, 4]


def test_items_are_taken_only_when_there_is_room() -> None:
    """Memory does not grow with the number of items: while the first two are stuck, at most one more is fetched."""
    taken: list[int] = []

    async def run() -> None:
        gate = asyncio.Event()

        async def work(i: int) -> int:
            if i == 1:
                assert len(taken) <= 3
                gate.set()
            await gate.wait()
            return i

        assert len([one async for one in concurrently(numbers(100, taken), work, limit=2)]) == 100

    asyncio.run(run())


def test_the_items_are_made_in_one_task() -> None:
    """What makes them may hold a time limit, or a group of tasks, open between two of them."""
    tasks: list[asyncio.Task[object] | None] = []

    async def items() -> AsyncIterator[int]:
        for i in range(4):
            tasks.append(asyncio.current_task())
            yield i

    async def work(i: int) -> int:
        tasks.append(asyncio.current_task())
        return i

    async def run() -> list[int]:
        return [one async for one in concurrently(items(), work, limit=2)]

    assert asyncio.run(run()) == [0, 1, 2, 3]
    assert len(set(tasks)) == 1 + 4, "and each is worked on in a task of its own"


def test_an_error_ends_it_and_cancels_the_rest() -> None:
    """Nothing is left running."""
    cancelled: list[int] = []

    async def work(i: int) -> int:
        if i == 2:
            raise ValueError("no")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(i)
            raise
        return i

    async def run() -> None:
        async for _ in concurrently(numbers(3), work, limit=3):
            pass

    with pytest.raises(ValueError, match="no"):
        asyncio.run(run())
    assert sorted(cancelled) == [0, 1]


def test_an_error_of_the_source_ends_it() -> None:
    """As an error of the work does."""

    async def broken() -> AsyncIterator[int]:
        yield 1
        raise ValueError("no more")

    async def work(i: int) -> int:
        return i

    async def run() -> None:
        async for _ in concurrently(broken(), work, limit=2):
            pass

    with pytest.raises(ValueError, match="no more"):
        asyncio.run(run())


def test_who_stops_listening_cancels_the_rest() -> None:
    """Leaving early leaves nothing behind."""
    cancelled: list[int] = []

    async def work(i: int) -> int:
        if i:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(i)
                raise
        return i

    async def run() -> None:
        results = concurrently(numbers(3), work, limit=3)
        assert await anext(results) == 0
        await asyncio.sleep(0)
        await results.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())
    assert cancelled


def test_work_that_never_waits_needs_no_task_of_its_own() -> None:
    """Immediate items are worked on by one task, other items by a task each."""
    tasks: dict[int, asyncio.Task[object] | None] = {}

    async def work(i: int) -> int:
        tasks[i] = asyncio.current_task()
        return i

    async def run() -> list[int]:
        return [i async for i in concurrently(numbers(6), work, limit=2, is_immediate=lambda i: i < 4)]

    assert sorted(asyncio.run(run())) == [0, 1, 2, 3, 4, 5]
    assert len({tasks[i] for i in range(4)}) == 1
    assert len({*tasks.values()}) == 3


def test_immediate_items_wait_for_whoever_takes_their_results() -> None:
    """While the first result is being looked at, no more items are taken than the limit allows."""
    taken: list[int] = []

    async def work(i: int) -> int:
        return i

    async def run() -> int:
        async for _ in concurrently(numbers(100, taken), work, limit=3, is_immediate=lambda _: True):
            return len(taken)
        return 0

    assert asyncio.run(run()) == 3


def test_immediate_work_that_fails_ends_the_rest() -> None:
    """Its error reaches the caller after the results before it."""
    results: set[int] = set()

    async def work(i: int) -> int:
        if i == 2:
            raise ValueError("broken")
        return i

    async def run() -> None:
        async for i in concurrently(numbers(5), work, limit=8, is_immediate=lambda _: True):
            results.add(i)

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(run())
    assert results == {0, 1}
