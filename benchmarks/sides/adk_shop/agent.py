"""The agent of `examples/agent.py` for google-adk: the same replies and calls, from an instant model."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

ORDERS = {"A-17": ("teapot", "shipped", "Friday"), "B-42": ("lamp", "in preparation", "Tuesday")}


def get_order(order_id: str) -> dict[str, str]:
    """Look an order up."""
    item, state, arrives = ORDERS[order_id]
    return {"item": item, "state": state, "arrives": arrives}


def cancel_order(order_id: str) -> dict[str, bool]:
    """Cancel an order."""
    return {"ok": order_id in ORDERS}


class InstantModel(BaseLlm):
    """Answers by the shop's rules."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call a tool if the user's message names an order, and reply after the tool's result."""
        asked = [one.parts[0].text for one in llm_request.contents if one.parts and one.parts[0].text]
        latest = llm_request.contents[-1].parts[0]
        order_id = next((one for one in ORDERS for text in reversed(asked) if one in text), "")
        cancels = any("cancel" in text for text in asked)
        if latest.function_response:
            part = types.Part(text=_reply(order_id, asked, cancels=cancels))
        elif order_id:
            name = "cancel_order" if cancels else "get_order"
            part = types.Part(function_call=types.FunctionCall(name=name, args={"order_id": order_id}))
        else:
            part = types.Part(text="Which order do you mean? Please tell me its number.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def _reply(order_id: str, asked: list[str], *, cancels: bool) -> str:
    if cancels:
        return f"Order {order_id} is cancelled."
    item, state, arrives = ORDERS[order_id]
    if "주문" in asked[-1]:
        return f"주문 {order_id}은 배송 중이며 {arrives}에 도착합니다."
    return f"Your {item} is {state} and arrives on {arrives}."


root_agent = Agent(model=InstantModel(model="instant"), name="shop", tools=[get_order, cancel_order])
