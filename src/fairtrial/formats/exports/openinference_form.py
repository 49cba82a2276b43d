"""Attributes of OpenInference for exported spans, as Phoenix shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from fairtrial.records.trace import Message, Part, Step, Thought, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.exports.span_export import Answer
    from fairtrial.records.record import Json


class OpenInferenceForm:
    """OpenInference. An answer without tokens is an agent, because no model call is recorded."""

    def conversation(self, session_id: str) -> dict[str, Json]:
        """Return the attributes of the root span."""
        return {"openinference.span.kind": "CHAIN", **({"session.id": session_id} if session_id else {})}

    def invocation(self, agent: str) -> dict[str, Json]:
        """Return the attributes of the span around an invocation."""
        return {"openinference.span.kind": "AGENT", **({"agent.name": agent} if agent else {})}

    def answer(self, answer: Answer) -> dict[str, Json]:
        """Return the attributes of an answer."""
        usage, agent = answer.usage, answer.agent
        attributes: dict[str, Json] = {
            "openinference.span.kind": "AGENT" if usage is None else "LLM",
            "agent.name": agent.name,
            "llm.model_name": answer.model,
            "llm.token_count.prompt": usage.input_tokens if usage else None,
            "llm.token_count.completion": usage.output_tokens if usage else None,
            "llm.token_count.completion_details.reasoning": usage.reasoning_tokens if usage else None,
            "llm.token_count.prompt_details.cache_read": usage.cached_input_tokens if usage else None,
        }
        for number, declaration in enumerate(agent.tool_declarations):
            attributes[f"llm.tools.{number}.tool.json_schema"] = msgspec.json.encode(declaration).decode()
        system: list[tuple[str, Step]] = [("system", Message(agent.instructions))] if agent.instructions else []
        attributes |= _number_items("llm.input_messages", [*system, *answer.past, ("user", answer.user)])
        attributes |= _number_items("llm.output_messages", [("assistant", step) for step in answer.steps])
        return {name: value for name, value in attributes.items() if value not in (None, "")}

    def tool(self, call: ToolCall, result: ToolResult) -> dict[str, Json]:
        """Return the attributes of the call of a tool."""
        attributes: dict[str, Json] = {
            "openinference.span.kind": "TOOL",
            "tool.name": call.name,
            "tool_call.id": call.id or result.id,
        }
        if not call.withheld:
            attributes["input.value"] = msgspec.json.encode(call.args).decode()
        if not result.withheld:
            attributes["output.value"] = msgspec.json.encode(result.response).decode()
        return {name: value for name, value in attributes.items() if value not in (None, "")}


def _number_items(prefix: str, messages: list[tuple[str, Step]]) -> dict[str, Json]:
    return {
        f"{prefix}.{number}.message.{name}": value
        for number, (role, step) in enumerate(messages)
        for name, value in (("role", role), *_fields(step))
    }


def _fields(step: Step) -> Iterator[tuple[str, Json]]:
    """Yield the fields of a message with one step."""
    if isinstance(step, ToolCall):
        yield "tool_calls.0.tool_call.id", step.id
        yield "tool_calls.0.tool_call.function.name", step.name
        yield "tool_calls.0.tool_call.function.arguments", msgspec.json.encode(step.args).decode()
    elif isinstance(step, ToolResult):
        yield "tool_call_id", step.id
        yield "name", step.name
        yield "content", msgspec.json.encode(step.response).decode()
    elif isinstance(step, Thought):
        yield "contents.0.message_content.type", "reasoning"
        yield "contents.0.message_content.text", step.text
    elif step.parts:
        yield from _contents(step)
    else:
        yield "content", step.text


def _contents(message: Message) -> Iterator[tuple[str, Json]]:
    number = 0
    if message.text:
        yield "contents.0.message_content.type", "text"
        yield "contents.0.message_content.text", message.text
        number = 1
    for i, part in enumerate(message.parts, number):
        yield f"contents.{i}.message_content.type", "image"
        yield f"contents.{i}.message_content.image.image.url", _url(part)


def _url(part: Part) -> str:
    return part.uri or f"data:{part.mime_type};base64,{part.data}"
