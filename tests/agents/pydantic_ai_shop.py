"""The shop as a Pydantic AI agent, its model scripted at the library's own seam for models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage
from shop import INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, cancel_order, get_order, move


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Answer a request as the shop's model does."""
    query, results = "", 0
    for message in messages:
        for part in message.parts:
            if part.part_kind == "user-prompt":
                query, results = str(part.content), 0
            elif part.part_kind == "tool-return":
                results += 1
    return ModelResponse(
        _parts(query, results, info, f"{messages}{[tool.description for tool in info.function_tools]}"),
        usage=RequestUsage(input_tokens=PROMPT_TOKENS, output_tokens=REPLY_TOKENS),
    )


def _parts(query: str, results: int, info: AgentInfo, read: str) -> list[Any]:
    if info.output_tools:
        return [ToolCallPart(info.output_tools[0].name, {"price": 10, "currency": "EUR"})]
    if "visit" in query and results == 0:
        return [ThinkingPart("Who is it?"), ToolCallPart("visit", {})]
    if "wrong" in query and results == 0:
        return [ToolCallPart("get_order", "no json")]
    if "wrong" in query:
        return [TextPart("Sor"), TextPart("ry.")]
    one = move(query, results, read)
    text = [TextPart(one.text)] if one.text else []
    return [*text, *([ToolCallPart(one.call, one.args)] if one.call else [])]


@dataclass
class Customer:
    """Who talks to the shop."""

    name: str
    visits: int = 0


@dataclass
class Price:
    """What something costs."""

    price: int
    currency: str


def visit(context: RunContext[Customer]) -> str:
    """Count a visit."""
    context.deps.visits += 1
    return f"{context.deps.name} is here."


model = FunctionModel(scripted, model_name="scripted")
tools: list[Any] = [get_order, cancel_order, visit]
agent = Agent(model, name="shop", instructions=INSTRUCTIONS, tools=tools, deps_type=Customer)
pricing = Agent(model, name="pricing", output_type=Price)
