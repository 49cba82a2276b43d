"""OpenTelemetry's GenAI conventions: attributes, events of spans, and log records, in all their generations."""

from __future__ import annotations

from msgspec.structs import replace

from fairtrial.formats.chats.assembly import Entry
from fairtrial.formats.dialects.attributes import (
    arguments,
    data_of,
    declarations_of,
    first_text,
    number_of,
    response,
    text_of,
    tool_result,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.genai_events import arguments_in, content_of, result_in
from fairtrial.formats.dialects.genai_parts import SWITCH, answer_of, entries_of, instructions_of
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import structured
from fairtrial.records.record import Json
from fairtrial.records.trace import Step, Usage

_KINDS: dict[Json, Kind] = {
    "chat": "model",
    "generate_content": "model",
    "text_completion": "model",
    "execute_tool": "tool",
    "invoke_agent": "agent",
    "invoke_workflow": "agent",
}


def _is_span(span: Span) -> bool:
    return isinstance(span.attributes.get("gen_ai.operation.name"), str)


def _read(span: Span, reading: Diagnostics) -> Facts:
    kind = _KINDS.get(span.attributes["gen_ai.operation.name"], "other")
    if kind == "tool":
        return _tool(span)
    if kind == "other":
        return Facts()
    name = text_of(span, "gen_ai.agent.name")
    entries, steps, instructions = _messages(span, reading)
    facts = Facts(
        kind,
        agent=name,
        input=entries,
        output=steps,
        instructions=instructions,
        declarations=declarations_of(span.attributes.get("gen_ai.tool.definitions")),
        model=text_of(span, "gen_ai.response.model", "gen_ai.request.model"),
        error_type=text_of(span, "error.type"),
        switch=SWITCH,
    )
    if kind == "agent":
        return replace(facts, name=name or text_of(span, "gen_ai.workflow.name"))
    return replace(
        facts,
        usage=usage_of(span, facts.model),
        response_id=text_of(span, "gen_ai.response.id"),
        finish_reason=first_text(structured(span.attributes.get("gen_ai.response.finish_reasons"))),
    )


def usage_of(span: Span, model: str) -> Usage:
    """Return the tokens of a model call. Cached tokens are part of input, reasoning tokens are part of output."""
    return Usage(
        number_of(span, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        number_of(span, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        number_of(span, "gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        number_of(span, "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        model,
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
        result=None if answer is None else tool_result(name, response(answer), call_id or "", stated=failed),
        call_id=call_id,
        hands_over=passes_control or None,
        error_type=text_of(span, "error.type"),
        switch=SWITCH,
    )


def _messages(span: Span, reading: Diagnostics) -> tuple[tuple[Entry, ...] | None, tuple[Step, ...] | None, str]:
    """Return the messages that a span got, the steps of its answer, and its instructions.

    They stand in attributes. If an attribute is absent, they stand in events.
    """
    choices = number_of(span, "gen_ai.request.choice.count") or 1
    entries = entries_of(span.attributes.get("gen_ai.input.messages"), reading)
    steps = answer_of(span.attributes.get("gen_ai.output.messages"), choices, reading)
    instructions = instructions_of(span.attributes.get("gen_ai.system_instructions"))
    if span.events and (entries is None or steps is None):
        content = content_of(span, choices, reading)
        entries = content.input if entries is None else entries
        steps = content.output if steps is None else steps
        instructions = instructions or content.instructions
    if entries is None:
        # Pydantic AI writes a whole conversation beside the span of its agent.
        entries = entries_of(span.attributes.get("pydantic_ai.all_messages"), reading)
    return entries, steps, instructions


GENAI = Dialect("GenAI conventions", _is_span, _read)
