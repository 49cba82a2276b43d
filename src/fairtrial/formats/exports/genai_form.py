"""Attributes of OpenTelemetry's GenAI conventions for exported spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.records.trace import Step, Thought, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.exports.span_export import Answer
    from fairtrial.records.record import Json


class GenAiForm:
    """The GenAI conventions of 2026. An answer without tokens is an agent, because no model call is recorded."""

    def conversation(self, session_id: str) -> dict[str, Json]:
        """Return the attributes of the root span."""
        return {"gen_ai.conversation.id": session_id} if session_id else {}

    def invocation(self, agent: str) -> dict[str, Json]:
        """Return the attributes of the span around an invocation."""
        name = {"gen_ai.agent.name": agent} if agent else {}
        return {"gen_ai.operation.name": "invoke_agent", **name}

    def answer(self, answer: Answer) -> dict[str, Json]:
        """Return the attributes of an answer."""
        agent, usage = answer.agent, answer.usage
        named = {
            "gen_ai.operation.name": "invoke_agent" if usage is None else "chat",
            "gen_ai.agent.name": agent.name,
            "gen_ai.response.model": answer.model,
            "gen_ai.usage.input_tokens": usage.input_tokens if usage else None,
            "gen_ai.usage.output_tokens": usage.output_tokens if usage else None,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens if usage else None,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens if usage else None,
        }
        instructions = [{"type": "text", "content": agent.instructions}] if agent.instructions else None
        contents: dict[str, Json] = {
            "gen_ai.system_instructions": instructions,
            "gen_ai.tool.definitions": list(agent.tool_declarations) or None,
            "gen_ai.input.messages": [*(_message(*item) for item in answer.past), _message("user", answer.user)],
            "gen_ai.output.messages": [_message("assistant", step) for step in answer.steps],
        }
        return {name: value for name, value in (named | contents).items() if value not in (None, "")}

    def tool(self, call: ToolCall, result: ToolResult) -> dict[str, Json]:
        """Return the attributes of the call of a tool."""
        contents: dict[str, Json] = {} if call.withheld else {"gen_ai.tool.call.arguments": call.args}
        if not result.withheld:
            # JSON even for a text: a reader decodes it once, and a text such as "5" stays a text.
            contents["gen_ai.tool.call.result"] = result.response
        names = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id or result.id,
            "gen_ai.agent.name": result.author,
        }
        return {name: value for name, value in names.items() if value} | contents


def _message(role: str, step: Step) -> Json:
    name = {"name": step.author} if step.author else {}
    return {"role": role, **name, "parts": _parts(step)}


def _parts(step: Step) -> list[Json]:
    if isinstance(step, ToolCall):
        contents = {} if step.withheld else {"arguments": step.args}
        return [{"type": "tool_call", "id": step.id, "name": step.name, **contents}]
    if isinstance(step, ToolResult):
        contents = {} if step.withheld else {"response": step.response}
        return [{"type": "tool_call_response", "id": step.id, "name": step.name, **contents}]
    if isinstance(step, Thought):
        return [{"type": "reasoning", "content": step.text}]
    text = [] if step.withheld and not step.text else [{"type": "text", "content": step.text}]
    parts = [
        {"type": "blob", "mime_type": part.mime_type, "content": part.data}
        if part.data
        else {"type": "uri", "mime_type": part.mime_type, "uri": part.uri}
        for part in step.parts
    ]
    return [*(text if step.text or not step.parts else []), *parts] or [{"type": "text"}]
