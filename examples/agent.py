"""A small shop assistant without a language model, to see an evaluation at work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairtrial import ToolCall, ToolResult, Trace

ORDERS = {
    "A-17": {"item": "teapot", "state": "shipped", "arrives": "Friday"},
    "B-42": {"item": "lamp", "state": "in preparation", "arrives": "Tuesday"},
}


def reply(conversation: Trace) -> Iterator[str | ToolCall | ToolResult]:
    """Answer the user's latest message: yield the tool calls, their results, and the reply."""
    message = conversation.invocations[-1].query
    order_id = _order_id(conversation)
    if re.search(r"cancel|취소", message) and order_id:
        yield ToolCall("cancel_order", {"order_id": order_id})
        yield ToolResult("cancel_order", {"ok": True})
        yield f"Order {order_id} is cancelled."
    elif order_id in ORDERS:
        order = ORDERS[order_id]
        yield ToolCall("get_order", {"order_id": order_id})
        yield ToolResult("get_order", order)
        if re.search("[가-힣]", message):
            yield f"주문 {order_id}은 배송 중이며 {order['arrives']}에 도착합니다."
        else:
            yield f"Your {order['item']} is {order['state']} and arrives on {order['arrives']}."
    else:
        yield "Which order do you mean? Please tell me its number."


def _order_id(conversation: Trace) -> str:
    """Return the number of the order that the user named last; empty if there is none."""
    for invocation in reversed(conversation.invocations):
        number = re.search(r"\b[A-Z]-\d+", invocation.query)
        if number:
            return number.group()
    return ""
