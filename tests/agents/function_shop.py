"""The shop as plain functions: one yields all that it does, two call their tools with `call`, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from shop import INSTRUCTIONS, ORDERS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, move

from fairtrial.records.trace import About, AgentDetails, Message, ToolCall, ToolResult, Trace, Usage

_ORDER = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
_DECLARATIONS = tuple(
    {"name": name, "description": tool.__doc__, "parameters_json_schema": _ORDER} for name, tool in TOOLS.items()
)


def reply(conversation: Trace) -> Iterator[Any]:
    """Decide as the shop does, and tell of everything."""
    yield About((AgentDetails("shop", INSTRUCTIONS, _DECLARATIONS),))
    results = 0
    while True:
        one = move(conversation.invocations[-1].query, results)
        yield Usage(PROMPT_TOKENS, REPLY_TOKENS)
        if one.text:
            yield Message(one.text, "shop")
        if not one.call:
            return
        call = f"{one.call}-{results}"
        yield ToolCall(one.call, one.args, call, "shop")
        yield ToolResult(one.call, TOOLS[one.call](**one.args), call, "shop")
        results += 1


def agent(conversation: Trace, call: Callable[..., Any]) -> Iterator[str]:
    """Decide as the shop does, from a thread."""
    results, read = 0, ""
    while True:
        one = move(conversation.invocations[-1].query, results, read)
        if one.text:
            yield one.text
        if not one.call:
            return
        read += str(call(TOOLS[one.call], **one.args))
        results += 1


async def get_order(order_id: str) -> dict[str, str]:
    """Wait without end, and without keeping the loop from its other conversations."""
    await asyncio.Event().wait()
    return ORDERS[order_id]


async def async_agent(conversation: Trace, call: Callable[..., Awaitable[Any]]) -> AsyncIterator[str]:
    """Decide as the shop does, in the loop."""
    results, read = 0, ""
    while True:
        one = move(conversation.invocations[-1].query, results, read)
        if one.text:
            yield one.text
        if not one.call:
            return
        read += str(await call(get_order if one.order_id == "C-99" else TOOLS[one.call], **one.args))
        results += 1
