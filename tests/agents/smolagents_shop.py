"""The shop as an agent of smolagents, its model scripted at the library's own seam for models."""

from __future__ import annotations

import inspect
from typing import Any

from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, move
from smolagents import Tool, ToolCallingAgent
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole, Model
from smolagents.monitoring import TokenUsage


class ShopTool(Tool):  # type: ignore[misc]
    """A tool of the shop."""

    inputs = {"order_id": {"type": "string", "description": "The order"}}
    output_type = "any"

    def __init__(self, function: Any) -> None:
        self.name = function.__name__
        self.description = inspect.getdoc(function)
        self._function = function
        super().__init__()

    def forward(self, order_id: str) -> Any:
        """Answer a call."""
        return self._function(order_id)


class Visit(Tool):  # type: ignore[misc]
    """Counts visits."""

    name = "visit"
    description = "Count a visit."
    inputs: dict[str, Any] = {}
    output_type = "string"

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        super().__init__()

    def forward(self) -> str:
        """Count a visit."""
        self._state["visits"] = self._state.get("visits", 0) + 1
        return f"{self._state['name']} is here."


class ScriptedModel(Model):  # type: ignore[misc]
    """A model that decides as the shop does."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")

    def generate(self, messages: Any, *_: Any, **options: Any) -> ChatMessage:
        """Answer a request."""
        query, results = "", 0
        for message in messages:
            text = "".join(part.get("text", "") for part in message.content)
            if text.startswith("New task:\n"):
                query, results = text.removeprefix("New task:\n"), 0
            results += message.role == MessageRole.TOOL_RESPONSE
        usage = TokenUsage(PROMPT_TOKENS, REPLY_TOKENS)
        if "visit" in query and results == 0:
            calls = [_call("visit", {}, len(messages))]
            return ChatMessage(MessageRole.ASSISTANT, "Who is it?", tool_calls=calls, token_usage=usage)
        declared = [tool.description for tool in options.get("tools_to_call_from") or ()]
        one = move(query, results, str([message.content for message in messages] + declared))
        name, args = (one.call, one.args) if one.call else ("final_answer", {"answer": one.text})
        text = one.text if one.call else ""
        calls = [_call(name, args, len(messages))]
        return ChatMessage(MessageRole.ASSISTANT, text or None, tool_calls=calls, token_usage=usage)


def _call(name: str, args: dict[str, Any], number: int) -> ChatMessageToolCall:
    return ChatMessageToolCall(ChatMessageToolCallFunction(args, name), f"call-{name}-{number}", "function")


def shop() -> ToolCallingAgent:
    """Make the agent of a conversation."""
    tools = [ShopTool(function) for function in TOOLS.values()]
    agent = ToolCallingAgent(tools, ScriptedModel(), name="shop", description="Sells.")
    agent.prompt_templates["system_prompt"] = INSTRUCTIONS
    agent.tools["visit"] = Visit(agent.state)
    return agent
