"""An agent of google-adk: a model of a tenth of a second calls a tool, and replies with its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

LATENCY = 0.1


def get_order(order_id: str) -> dict[str, str]:
    """Look an order up."""
    return {"state": f"shipped {order_id}"}


class SlowModel(BaseLlm):
    """Calls the tool, and then replies."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        """Reply with the answer of the tool if it is there, and otherwise call the tool."""
        await asyncio.sleep(LATENCY)
        latest = llm_request.contents[-1].parts[0]
        if latest.function_response:
            part = types.Part(text=f"The order is {latest.function_response.response['state']}.")
        else:
            order_id = (latest.text or "").split()[-1]
            part = types.Part(function_call=types.FunctionCall(name="get_order", args={"order_id": order_id}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


root_agent = Agent(model=SlowModel(model="slow"), name="shop", tools=[get_order])
