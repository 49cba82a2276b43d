"""The shop as an Agno agent, its model scripted at Agno's own seam for models."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

os.environ["AGNO_TELEMETRY"] = "false"

from agno.agent import Agent
from agno.metrics import MessageMetrics
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.run import RunContext
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order, move


@dataclass
class ScriptedModel(Model):  # type: ignore[misc]
    """A model that decides as the shop does."""

    id: str = "scripted"

    async def ainvoke(self, messages: Any, **options: Any) -> ModelResponse:
        """Answer a request."""
        query, results = "", 0
        for message in messages:
            if message.role == "user":
                query, results = message.get_content_string(), 0
            elif message.role == "tool":
                results += 1
        usage = MessageMetrics(input_tokens=PROMPT_TOKENS, output_tokens=REPLY_TOKENS)
        if "visit" in query and results == 0:
            calls = [_call("visit", {}, len(messages))]
            return ModelResponse(
                role="assistant", reasoning_content="Who is it?", tool_calls=calls, response_usage=usage
            )
        one = move(query, results, str([message.content for message in messages] + list(options.get("tools") or ())))
        calls = [_call(one.call, one.args, len(messages))] if one.call else []
        return ModelResponse(role="assistant", content=one.text or None, tool_calls=calls, response_usage=usage)

    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        """No run is sync."""
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        """No run is streamed."""
        raise NotImplementedError

    def ainvoke_stream(self, *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        """No run is streamed."""
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def _call(name: str, args: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "id": f"call-{name}-{number}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(args)},
    }


def visit(run_context: RunContext) -> str:
    """Count a visit."""
    run_context.session_state["visits"] = run_context.session_state.get("visits", 0) + 1
    return f"{run_context.session_state['name']} is here."


agent = Agent(
    name="shop",
    model=ScriptedModel(),
    instructions=INSTRUCTIONS,
    tools=[get_order, cancel_order, visit],
    telemetry=False,
)
