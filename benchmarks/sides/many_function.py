"""fairtrial: the agent of `many_shop` as a function, with the same model of a tenth of a second."""

from __future__ import annotations

import asyncio
from typing import Any

from fairtrial import Trace

LATENCY = 0.1


def get_order(order_id: str) -> dict[str, str]:
    """Look an order up."""
    return {"state": f"shipped {order_id}"}


async def reply(conversation: Trace, call: Any) -> str:
    """Let the model call the tool, and reply with the answer."""
    await asyncio.sleep(LATENCY)
    answer = await call(get_order, order_id=conversation.invocations[-1].query.split()[-1])
    await asyncio.sleep(LATENCY)
    return f"The order is {answer['state']}."
