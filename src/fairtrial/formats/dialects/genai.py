"""OpenTelemetry's GenAI conventions: attributes, events of spans, and log records, in all their generations."""

from __future__ import annotations

from fairtrial.formats.chats.assembly import response, result
from fairtrial.formats.chats.otel_messages import SWITCH
from fairtrial.formats.dialects.attributes import (
    arguments,
    data_of,
    declarations_of,
    first_text,
    text_of,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.genai_events import arguments_in, result_in
from fairtrial.formats.dialects.genai_messages import messages_of
from fairtrial.formats.dialects.usages import usage_of_span
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import structured

_KINDS: dict[str, Kind] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
}


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = _KINDS.get(text_of(span, "gen_ai.operation.name"), "other")
    if kind == "tool":
        return _tool(span)
    if kind == "other":
        return Facts()
    is_model = kind == "model"
    agent = text_of(span, "gen_ai.agent.name")
    messages = messages_of(span, reading)
    model = text_of(span, "gen_ai.response.model", "gen_ai.request.model")
    reasons = span.attributes.get("gen_ai.response.finish_reasons")
    return Facts(
        kind,
        "" if is_model else agent or text_of(span, "gen_ai.workflow.name"),
        agent,
        input=messages.input,
        output=messages.output,
        instructions=messages.instructions,
        declarations=declarations_of(span.attributes.get("gen_ai.tool.definitions")),
        usage=usage_of_span(span, model) if is_model else None,
        model=model,
        response_id=text_of(span, "gen_ai.response.id") if is_model else "",
        finish_reason=(first_text(structured(reasons)) or messages.finish_reason) if is_model else "",
        error_type=text_of(span, "error.type"),
        switch=SWITCH,
    )


def _tool(span: Span) -> Facts:
    name = text_of(span, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    call_id = text_of(span, "gen_ai.tool.call.id") or None
    args = data_of(span, "gen_ai.tool.call.arguments")
    answer = data_of(span, "gen_ai.tool.call.result")
    args = arguments_in(span) if args is None else args
    answer = result_in(span) if answer is None else answer
    failed = span.attributes.get("gen_ai.tool.status") == "error" or None
    passes_control = span.attributes.get("gen_ai.transfer.mode") == "pass_control"
    return Facts(
        "tool",
        name,
        text_of(span, "gen_ai.agent.name"),
        args=arguments(args),
        result=None if answer is None else result(name, response(answer), call_id or "", stated=failed),
        call_id=call_id,
        hands_over=passes_control or None,
        error_type=text_of(span, "error.type"),
        switch=SWITCH,
    )


GENAI = Dialect("GenAI conventions", ("gen_ai.operation.name",), _read)
