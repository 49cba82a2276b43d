"""The telemetry of the Vercel AI SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import (
    response,
    result,
    text_at,
    thoughts,
)
from fairtrial.formats.dialects.attributes import (
    arguments,
    chat_entries,
    extract_text,
    read_data,
    read_number,
    unwrap_declarations,
)
from fairtrial.formats.dialects.facts import Dialect, Facts
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.trace import Message, Step, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_MODEL_CALLS = ("doGenerate", "doStream")
_AGENTS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_SWITCH = "experimental_telemetry: { recordInputs: true, recordOutputs: true }"


def _read(span: Span, reading: Diagnostics) -> Facts:
    operation = extract_text(span, "ai.operationId")
    if operation == "ai.toolCall":
        return _tool(span)
    name = extract_text(span, "ai.telemetry.functionId")
    if operation in _AGENTS:
        prompt = read_data(span, "ai.prompt")
        entries = _prompt(prompt, reading) if isinstance(prompt, dict) else None
        return Facts("agent", name, name, entries, _answer(span), switch=_SWITCH)
    if not operation.endswith(_MODEL_CALLS):
        return Facts()
    model = extract_text(span, "ai.response.model", "ai.model.id")
    messages = read_data(span, "ai.prompt.messages")
    usage = Usage(
        read_number(span, "ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens"),
        read_number(span, "ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
        read_number(span, "ai.usage.reasoningTokens"),
        read_number(span, "ai.usage.cachedInputTokens"),
        model,
    )
    return Facts(
        "model",
        agent=name,
        input=None if messages is None else tuple(chat_entries(messages, reading)),
        output=_answer(span),
        declarations=unwrap_declarations(span.attributes.get("ai.prompt.tools")),
        usage=usage,
        model=model,
        response_id=extract_text(span, "ai.response.id"),
        finish_reason=extract_text(span, "ai.response.finishReason"),
        switch=_SWITCH,
    )


def _prompt(prompt: dict[str, Any], reading: Diagnostics) -> tuple[Entry, ...]:
    """Return the entries of the prompt of an agent: a text, or messages."""
    messages = prompt.get("messages")
    if isinstance(messages, list):
        return tuple(chat_entries(messages, reading))
    return tuple(chat_entries({"role": "user", "content": text_at(prompt, "prompt")}, reading))


def _answer(span: Span) -> tuple[Step, ...] | None:
    """Return the steps of an answer, or None if none of them is recorded."""
    text = extract_text(span, "ai.response.text", "ai.response.object")
    calls = read_data(span, "ai.response.toolCalls")
    steps: list[Step] = [*thoughts(span.attributes.get("ai.response.reasoning"))]
    if text:
        steps.append(Message(text))
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            args = read_arguments(call.get("input", call.get("args")))
            steps.append(ToolCall(text_at(call, "toolName"), args, text_at(call, "toolCallId")))
    return tuple(steps) or None


def _tool(span: Span) -> Facts:
    name, call_id = extract_text(span, "ai.toolCall.name"), extract_text(span, "ai.toolCall.id")
    answer = read_data(span, "ai.toolCall.result")
    return Facts(
        "tool",
        name,
        args=arguments(read_data(span, "ai.toolCall.args")),
        result=None if answer is None else result(name, response(answer), call_id),
        call_id=call_id or None,
        switch=_SWITCH,
    )


VERCEL_AI_SPANS = Dialect("Vercel AI SDK", ("ai.operationId",), _read)
