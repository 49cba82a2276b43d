"""The shop as an agent of Microsoft's Agent Framework, its model scripted at the framework's own seam for clients."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
)
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order, move


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]
    """A client whose model decides as the shop does."""

    async def _inner_get_response(
        self,
        *,
        messages: Sequence[Message],
        stream: bool,  # noqa: ARG002
        options: Mapping[str, Any],
        **_: Any,
    ) -> ChatResponse:
        """Answer a request."""
        query, results = "", 0
        for message in messages:
            if message.role == "user" and message.text:
                query, results = message.text, 0
            results += sum(content.type == "function_result" for content in message.contents)
        usage = UsageDetails(input_token_count=PROMPT_TOKENS, output_token_count=REPLY_TOKENS)
        contents: list[Content] = []
        if "visit" in query and results == 0:
            contents = [Content.from_text_reasoning(text="Who is it?"), _call("visit", {}, len(messages))]
        else:
            declared = [getattr(tool, "description", "") for tool in options.get("tools") or ()]
            one = move(query, results, str([message.to_dict() for message in messages] + declared))
            contents += [Content.from_text(one.text)] if one.text else []
            contents += [_call(one.call, one.args, len(messages))] if one.call else []
        return ChatResponse(messages=[Message("assistant", contents)], usage_details=usage, model="scripted")


def _call(name: str, args: dict[str, Any], number: int) -> Content:
    return Content.from_function_call(f"call-{name}-{number}", name, arguments=json.dumps(args))


def visit(ctx: FunctionInvocationContext) -> str:
    """Count a visit."""
    state = ctx.session.state
    state["visits"] = state.get("visits", 0) + 1
    return f"{state['name']} is here."


agent = Agent(ScriptedClient(), INSTRUCTIONS, name="shop", tools=[get_order, cancel_order, visit])
