"""The shop as an agent of Strands, its model scripted at the seam of Strands for models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order, move
from strands import Agent, ToolContext, tool
from strands.models.model import Model

SPECIAL = {"visit": "visit", "question": "ask_user"}


class ScriptedModel(Model):  # type: ignore[misc]
    """A model that decides as the shop does."""

    def update_config(self, **_: Any) -> None:
        """Nothing can be set."""

    def get_config(self) -> dict[str, str]:
        """Return the name of the model."""
        return {"model_id": "scripted"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        """No test wants it."""
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, *_: Any, **__: Any) -> AsyncIterator[dict[str, Any]]:
        """Answer a request."""
        query, results = "", 0
        for message in messages:
            for block in message["content"] if message["role"] == "user" else ():
                if "text" in block:
                    query, results = block["text"], 0
                results += "toolResult" in block
        yield {"messageStart": {"role": "assistant"}}
        call: tuple[str, dict[str, Any]] | None = (
            ("visit" if "visit" in query else "ask_user", {}) if results == 0 else None
        )
        one = move(query, results, f"{messages}{[spec['description'] for spec in tool_specs or ()]}")
        if "visit" not in query and "question" not in query:
            call = (one.call, one.args) if one.call else None
        if one.text and not (call and call[0] in ("visit", "ask_user")):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": one.text}}}
            yield {"contentBlockStop": {}}
        if call:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": call[0], "toolUseId": f"c-{len(messages)}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(call[1])}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if call else "end_turn"}}
        tokens = {"inputTokens": PROMPT_TOKENS, "outputTokens": REPLY_TOKENS}
        yield {"metadata": {"usage": {**tokens, "totalTokens": PROMPT_TOKENS + REPLY_TOKENS}, "metrics": {}}}


@tool(context=True)  # type: ignore[untyped-decorator]
def visit(tool_context: ToolContext) -> str:
    """Count a visit."""
    state = tool_context.agent.state
    state.set("visits", (state.get("visits") or 0) + 1)
    return f"{state.get('name')} is here."


@tool(context=True)  # type: ignore[untyped-decorator]
def ask_user(tool_context: ToolContext) -> str:
    """Ask the user something."""
    return f"The user wants {tool_context.interrupt('size', reason='Which size?')}."


def shop() -> Any:
    """An agent for each conversation."""
    tools = [tool(get_order), tool(cancel_order), visit, ask_user]
    return Agent(model=ScriptedModel(), name="shop", system_prompt=INSTRUCTIONS, tools=tools, callback_handler=None)
