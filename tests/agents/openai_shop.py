"""The shop as an agent of the OpenAI Agents SDK, its model scripted at the SDK's own seam for models."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, ModelResponse, RunContextWrapper, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)
from openai.types.responses.response_reasoning_item import Summary
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, TOOLS, move

set_tracing_disabled(disabled=True)
_numbers = itertools.count(1)


class ScriptedModel(Model):  # type: ignore[misc]
    """A model that decides as the shop does; who asks for a price is handed over."""

    model = "scripted"

    async def get_response(
        self,
        system_instructions: str | None,  # noqa: ARG002
        input: str | list[Any],  # noqa: A002
        model_settings: Any,  # noqa: ARG002
        tools: list[Any],
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Answer a request."""
        items = input if isinstance(input, list) else [{"role": "user", "content": input}]
        last = max(i for i, item in enumerate(items) if item.get("role") == "user")
        results = sum(item.get("type") == "function_call_output" for item in items[last:])
        declared = str([getattr(tool, "description", "") for tool in tools])
        usage = Usage(1, PROMPT_TOKENS, output_tokens=REPLY_TOKENS, total_tokens=PROMPT_TOKENS + REPLY_TOKENS)
        return ModelResponse(_outputs(items[last]["content"], results, str(items) + declared), usage, None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Streaming is not asked for."""
        raise NotImplementedError


def _text(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
    return ResponseOutputMessage(
        id=f"m{next(_numbers)}", type="message", role="assistant", status="completed", content=[content]
    )


def _call(name: str, args: dict[str, Any]) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", name=name, arguments=json.dumps(args), call_id=f"c{next(_numbers)}"
    )


def _outputs(query: str, results: int, read: str) -> list[ResponseOutputItem]:
    if "price" in query and results == 0:
        thought = Summary(type="summary_text", text="Somebody else knows.")
        return [
            ResponseReasoningItem(id=f"r{next(_numbers)}", type="reasoning", summary=[thought]),
            _call("transfer_to_cashier", {}),
        ]
    if "visit" in query and results == 0:
        return [_call("visit", {})]
    one = move(query, results, read)
    text: list[ResponseOutputItem] = [_text(one.text)] if one.text else []
    return [*text, *([_call(one.call, one.args)] if one.call else [])]


@function_tool  # type: ignore[untyped-decorator]
def visit(context: RunContextWrapper[dict[str, Any]]) -> str:
    """Count a visit."""
    context.context["visits"] = context.context.get("visits", 0) + 1
    return f"{context.context['name']} is here."


tools = [*(function_tool(one) for one in TOOLS.values()), visit]
cashier = Agent(name="cashier", instructions="You know prices.", model=ScriptedModel(), tools=tools)
agent = Agent(name="shop", instructions=INSTRUCTIONS, model=ScriptedModel(), tools=tools, handoffs=[cashier])
quiet = Agent(name="quiet", model=ScriptedModel(), tools=tools, tool_use_behavior="stop_on_first_tool")
