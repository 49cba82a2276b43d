"""OpenLLMetry's spans, and those of AgentOps, which has numbered prompts too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.dialects.attributes import (
    build_tree,
    chat_entries,
    extract_text,
    output_steps,
    read_data,
    unwrap_declarations,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import tool_facts
from fairtrial.formats.dialects.usages import usage_of_span
from fairtrial.formats.message_entries import read_arguments
from fairtrial.formats.messages import calls_in
from fairtrial.formats.spans.span_values import structured

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.record import Json

_KINDS: dict[str, Kind] = {"workflow": "agent", "agent": "agent", "tool": "tool"}
_MODEL_REQUESTS = ("chat", "completion")
_SWITCH = "TRACELOOP_TRACE_CONTENT=true"
_MARKS = (
    "traceloop.span.kind",
    "llm.request.type",
    "gen_ai.request.type",
    "gen_ai.prompt.0.role",
    "agentops.span.kind",
    "traceloop.workflow.name",
)


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = _KINDS.get(extract_text(span, "traceloop.span.kind", "agentops.span.kind").lower(), "other")
    if kind == "tool":
        return _tool(span)
    if kind == "agent":
        name = extract_text(span, "gen_ai.agent.name", "traceloop.entity.name", "operation.name")
        return Facts("agent", name, name, switch=_SWITCH)
    request = extract_text(span, "llm.request.type", "gen_ai.request.type")
    if request in _MODEL_REQUESTS or "gen_ai.prompt.0.role" in span.attributes:
        return _model(span, reading)
    return Facts(switch=_SWITCH)


def _model(span: Span, reading: Diagnostics) -> Facts:
    model = extract_text(span, "gen_ai.response.model", "gen_ai.request.model")
    answers = _messages(span, "gen_ai.completion", reading)
    return Facts(
        "model",
        agent=extract_text(span, "gen_ai.agent.name"),
        input=_messages(span, "gen_ai.prompt", reading),
        output=None if answers is None else output_steps(answers),
        declarations=unwrap_declarations(build_tree(span.attributes, "llm.request.functions")),
        usage=usage_of_span(span, model),
        model=model,
        response_id=extract_text(span, "gen_ai.response.id"),
        finish_reason=extract_text(span, "gen_ai.completion.0.finish_reason"),
        switch=_SWITCH,
    )


def _messages(span: Span, prefix: str, reading: Diagnostics) -> tuple[Entry, ...] | None:
    """Return the entries of numbered messages, or None if none of them has content."""
    messages = [_as_chat(message) for message in build_tree(span.attributes, prefix) or () if isinstance(message, dict)]
    if not any(message.get("content") or message.get("tool_calls") for message in messages):
        return None
    return tuple(chat_entries(messages, reading))


def _as_chat(message: dict[str, Any]) -> dict[str, Any]:
    """Return a numbered message as a chat message, whose calls have a function."""
    calls = [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict)
    ]
    chat = {key: value for key, value in message.items() if key not in ("tool_calls", "finish_reason")}
    if calls_as_content := calls_in(structured(chat.get("content"))):
        chat["content"] = calls_as_content
    return {"role": "assistant", **chat, **({"tool_calls": calls} if calls else {})}


def _tool(span: Span) -> Facts:
    name = extract_text(span, "gen_ai.tool.name", "traceloop.entity.name", "tool.name", "operation.name")
    answer = read_data(span, "traceloop.entity.output", "agentops.tool.output")
    return replace(
        tool_facts(name, _arguments(span), answer, extract_text(span, "gen_ai.tool.call.id")), switch=_SWITCH
    )


def _arguments(span: Span) -> dict[str, Any] | None:
    """Return the arguments of a tool: the keyword arguments of its function."""
    raw: Json = read_data(span, "traceloop.entity.input", "agentops.tool.input", "tool.parameters")
    if not isinstance(raw, dict):
        return None
    if isinstance(raw.get("kwargs"), dict):
        return None if raw.get("args") and not raw["kwargs"] else raw["kwargs"]
    return None if "input_str" in raw else read_arguments(raw)


OPENLLMETRY = Dialect("OpenLLMetry", _MARKS, _read)
