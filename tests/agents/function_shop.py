"""The shop as plain functions that call their tools with `call`, sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from shop import TOOLS, move

from assay.data.trace import Trace


def agent(conversation: Trace, call: Callable[..., Any]) -> Iterator[str]:
    """Decide as the shop does, from a thread."""
    results = 0
    while True:
        one = move(conversation.invocations[-1].query, results)
        if one.text:
            yield one.text
        if not one.call:
            return
        call(TOOLS[one.call], **one.args)
        results += 1


async def async_agent(conversation: Trace, call: Callable[..., Awaitable[Any]]) -> AsyncIterator[str]:
    """Decide as the shop does, in the loop."""
    results = 0
    while True:
        one = move(conversation.invocations[-1].query, results)
        if one.text:
            yield one.text
        if not one.call:
            return
        await call(TOOLS[one.call], **one.args)
        results += 1
