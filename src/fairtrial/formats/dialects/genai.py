"""OpenTelemetry's GenAI conventions: attributes, events of spans, and log records, in all their generations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairtrial.formats.chats.assembly import response, result
from fairtrial.formats.chats.otel_messages import SWITCH
from fairtrial.formats.dialects.attributes import (
    arguments,
    extract_text,
    first_text,
    read_data,
    unwrap_declarations,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.genai_events import arguments_in, result_in
from fairtrial.formats.dialects.genai_messages import collect_messages
from fairtrial.formats.dialects.usages import usage_of_span
from fairtrial.formats.spans.span_values import structured

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KINDS: dict[str, Kind] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
}


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = _KINDS.get(extract_text(span, "gen_ai.operation.name"), "other")
    if kind == "tool":
        return _tool(span)
    if kind == "other":
        return Facts()
    is_model = kind == "model"
    agent = _agent_name(span)
    messages = collect_messages(span, reading)
    model = extract_text(span, "gen_ai.response.model", "gen_ai.request.model")
    reasons = span.attributes.get("gen_ai.response.finish_reasons")
    return Facts(
        kind,
        "" if is_model else agent or extract_text(span, "gen_ai.workflow.name"),
        agent,
        input=messages.input,
        output=messages.output,
        instructions=messages.instructions,
        declarations=unwrap_declarations(span.attributes.get("gen_ai.tool.definitions")),
        usage=usage_of_span(span, model) if is_model else None,
        model=model,
        response_id=extract_text(span, "gen_ai.response.id") if is_model else "",
        finish_reason=(first_text(structured(reasons)) or messages.finish_reason) if is_model else "",
        error_type=extract_text(span, "error.type"),
        switch=SWITCH,
    )


def _agent_name(span: Span) -> str:
    """Return the name of the agent. Agent Framework writes the random id of an agent without a name as its name."""
    name = extract_text(span, "gen_ai.agent.name")
    is_id = name == extract_text(span, "gen_ai.agent.id") and _UUID.fullmatch(name) is not None
    return "" if is_id else name


def _tool(span: Span) -> Facts:
    name = extract_text(span, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    call_id = extract_text(span, "gen_ai.tool.call.id") or None
    args = read_data(span, "gen_ai.tool.call.arguments")
    answer = read_data(span, "gen_ai.tool.call.result")
    args = arguments_in(span) if args is None else args
    answer = result_in(span) if answer is None else answer
    failed = span.attributes.get("gen_ai.tool.status") == "error" or None
    passes_control = span.attributes.get("gen_ai.transfer.mode") == "pass_control"
    return Facts(
        "tool",
        name,
        _agent_name(span),
        args=arguments(args),
        result=None if answer is None else result(name, response(answer), call_id or "", stated=failed),
        call_id=call_id,
        hands_over=passes_control or None,
        error_type=extract_text(span, "error.type"),
        switch=SWITCH,
    )


GENAI = Dialect("GenAI conventions", ("gen_ai.operation.name",), _read)
