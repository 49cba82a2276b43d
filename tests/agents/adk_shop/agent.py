"""The shop as an ADK agent, its model scripted at ADK's own seam for models."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order, move


class ScriptedLlm(BaseLlm):  # type: ignore[misc]
    """A model that decides as the shop does; messages about money go to the cashier."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request with one response."""
        query, results = _latest(llm_request.contents)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=PROMPT_TOKENS, candidates_token_count=REPLY_TOKENS, thoughts_token_count=0
        )
        parts = _parts(query, results, set(llm_request.tools_dict), f"{llm_request.contents}{llm_request.config.tools}")
        yield LlmResponse(
            content=types.Content(role="model", parts=parts), usage_metadata=usage, model_version="scripted"
        )


def _latest(contents: list[types.Content]) -> tuple[str, int]:
    """The user's latest message, and how many results of tools came after it."""
    query, results = "", 0
    for content in contents:
        for part in content.parts or []:
            if part.function_response:
                results += 1
            elif part.text and content.role == "user" and not part.text.startswith(("For context", "[")):
                query, results = part.text, 0
    return query, results


def _call(name: str, args: dict[str, Any]) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def _parts(query: str, results: int, tools: set[str], read: str) -> list[types.Part]:
    if "price" in query and "transfer_to_agent" in tools and results == 0:
        return [_call("transfer_to_agent", {"agent_name": "cashier"})]
    if "price" in query:
        return [types.Part(text="Let me think.", thought=True), types.Part(text="Ten euros."), types.Part(text="Only.")]
    if "remember" in query and results == 0:
        return [_call("remember", {"what": query})]
    one = move(query, results, read)
    text = [types.Part(text=one.text)] if one.text else []
    return [*text, *([_call(one.call, one.args)] if one.call else [])]


def remember(what: str, tool_context: ToolContext) -> dict[str, bool]:
    """Remember something for the rest of the session."""
    tool_context.state["remembered"] = what
    return {"done": True}


cashier = Agent(
    name="cashier",
    model=ScriptedLlm(model="scripted"),
    description="Knows prices.",
    instruction="You know prices.",
    disallow_transfer_to_parent=True,
    disallow_transfer_to_peers=True,
)
root_agent = Agent(
    name="shop",
    model=ScriptedLlm(model="scripted"),
    instruction=f"{INSTRUCTIONS} Speak to {{name?}}.",
    tools=[get_order, cancel_order, remember],
    sub_agents=[cashier],
)
