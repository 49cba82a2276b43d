"""The items, tokens and declarations of the OpenAI Agents SDK as those of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.agents.plain import plain
from fairtrial.agents.token_usage import token_usage
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import HANDOVER, Message, Thought, ToolCall, ToolResult, Usage
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.protocols import Item

EXTRA = "agents-openai"
_COMMON_KEYS = ("id", "type", "status", "output", "name", "arguments", "call_id")


def read_steps(raw: dict[str, Any], author: str) -> list[Item]:
    """Return the steps in an output of a model. Tools that the provider runs are calls too."""
    kind = str(raw.get("type"))
    if kind == "message":
        texts = [part.get("text") or part.get("refusal") or "" for part in raw.get("content", [])]
        return [Message("".join(texts), author)]
    if kind == "reasoning":
        parts = [*(raw.get("summary") or []), *(raw.get("content") or [])]
        return [Thought("\n".join(str(part.get("text", "")) for part in parts), author)] if parts else []
    if not kind.endswith("_call"):
        return []
    call_id = str(raw.get("call_id") or raw.get("id") or "")
    name = raw.get("name") or kind.removesuffix("_call")
    arguments = {key: value for key, value in raw.items() if key not in _COMMON_KEYS}
    call = ToolCall(name, read_arguments(raw["arguments"]) if "arguments" in raw else arguments, call_id, author)
    if raw.get("output") is None:
        return [call]
    return [call, ToolResult(name, plain(raw["output"]), call_id, author)]


def read_usage(counts: Any, model: Any) -> Usage:
    """Return the tokens of a model call. The output tokens include the reasoning tokens."""
    return token_usage(
        counts.input_tokens,
        counts.output_tokens,
        getattr(counts.output_tokens_details, "reasoning_tokens", None),
        getattr(counts.input_tokens_details, "cached_tokens", None),
        model if isinstance(model, str) else str(getattr(model, "model", "")),
    )


def find_model(agent: Any) -> Any:
    """Return the model of an agent, or the default of the SDK."""
    return import_extra("agents.models", EXTRA).get_default_model() if agent.model is None else agent.model


def collect_nested_usages(total: Any, reported: list[Usage]) -> list[Usage]:
    """Return the tokens of agents that are tools, and add them to the reported tokens.

    The SDK adds the tokens of these agents to those of the run, but reports their requests to no hook.
    """
    remaining = [(usage.input_tokens, usage.output_tokens) for usage in reported]
    nested: list[Usage] = []
    for entry in getattr(total, "request_usage_entries", None) or ():
        usage = read_usage(entry, "")
        counts = (usage.input_tokens, usage.output_tokens)
        if counts in remaining:
            remaining.remove(counts)
        else:
            nested.append(usage)
    reported += nested
    return nested


def declaration(tool: Any) -> dict[str, Any]:
    """Return the declaration of a tool or of a handover. A handover also names the agent that it hands over to."""
    if hasattr(tool, "params_json_schema"):
        return _function(tool.name, tool.description, tool.params_json_schema)
    if hasattr(tool, "on_invoke_handoff"):
        function = _function(tool.tool_name, tool.tool_description, tool.input_json_schema)
        return {**function, HANDOVER: tool.agent_name}
    if hasattr(tool, "get_all_tools"):
        handoff = import_extra("agents", EXTRA).Handoff
        function = _function(handoff.default_tool_name(tool), handoff.default_tool_description(tool), {})
        return {**function, HANDOVER: tool.name}
    return {"name": str(getattr(tool, "name", type(tool).__name__))}


def _function(name: str, description: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "parameters_json_schema": plain(schema)}
