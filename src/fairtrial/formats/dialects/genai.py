"""OpenTelemetry's GenAI conventions: attributes, events of spans, and log records, in all their generations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.formats.chats.assembly import response, result, text_at
from fairtrial.formats.chats.dialects import detect_dialect
from fairtrial.formats.chats.openai_messages import openai_entries
from fairtrial.formats.chats.otel_messages import OTEL, SWITCH, whole_answers
from fairtrial.formats.dialects.attributes import (
    arguments,
    chat_entries,
    entries_by,
    extract_text,
    first_text,
    output_steps,
    read_data,
    read_number,
    unwrap_declarations,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.repeated_json import repeated_items
from fairtrial.formats.dialects.usages import usage_of_span
from fairtrial.formats.spans.span_values import structured
from fairtrial.records.trace import Message, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.formats.spans.span import Span, SpanEvent
    from fairtrial.records.record import Json


def read_entries(raw: Json, reading: Diagnostics) -> tuple[Entry, ...] | None:
    """Return the entries of messages, or None if the messages are absent."""
    messages = None if raw is None else repeated_items(raw)
    return tuple(entries_by(_entries, messages, reading)) if isinstance(messages, list) else None


def read_answer(raw: Json, choices: int, reading: Diagnostics) -> tuple[tuple[Step, ...] | None, str]:
    """Return the steps of an answer, or None if the messages are absent, and why the model stopped.

    If the agent asked for several choices, each message is an alternative, and the first counts.
    """
    messages = None if raw is None else structured(raw)
    if not isinstance(messages, list):
        return None, ""
    messages = list(whole_answers(messages)) if len(messages) > 1 else messages
    counting = messages[:1] if choices > 1 else messages
    reasons = (text_at(message, "finish_reason") for message in counting if isinstance(message, dict))
    return output_steps(entries_by(_entries, counting, reading)), next(filter(None, reasons), "")


def read_instructions(raw: Json) -> str:
    """Return instructions: a text, or parts with texts."""
    value = "" if raw is None else structured(raw)
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    texts = [part.get("content", part.get("text")) for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    """Return the entries of a message. Some instrumentations write the messages of a provider in its place."""
    if isinstance(structured(message.get("parts")), list):
        return list(OTEL.entries(message, at, reading))
    dialect = detect_dialect([message])
    return list((openai_entries if dialect is None else dialect.entries)(message, at, reading))


_DETAILS = "gen_ai.client.inference.operation.details"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CONTENT_EVENTS = frozenset((*_ROLES, "gen_ai.choice"))
_KNOWN_FIELDS = frozenset(("content", "message", "role", "id", "name", "index", "finish_reason", "tool_calls", "type"))
"""The fields of an event that are read, or carry nothing for scoring."""


class SpanMessages(NamedTuple):
    """The messages that a span got, the steps of its answer, its instructions, and why the model stopped.

    None means "not recorded".
    """

    input: tuple[Entry, ...] | None = None
    output: tuple[Step, ...] | None = None
    instructions: str = ""
    finish_reason: str = ""


def read_content(span: Span, choices: int, reading: Diagnostics) -> SpanMessages:
    """Return the messages in the events of a span. Some instrumentations write an event for each of them."""
    inputs: list[Entry] = []
    answer: list[Step] = []
    has_input = has_output = False
    instructions = finish_reason = ""
    for event in span.events:
        fields = _fields(event)
        if not reading.unread and (key := _find_unread(event, fields)):
            reading.unread = f"span {span.span_id}: {key} of the event {event.name} was not read"
        reason = text_at(fields, "finish_reason")
        if event.name == _DETAILS:
            instructions = read_instructions(fields.get("gen_ai.system_instructions")) or instructions
            entries = read_entries(fields.get("gen_ai.input.messages"), reading)
            steps, reason = read_answer(fields.get("gen_ai.output.messages"), choices, reading)
        elif event.name in _ROLES or event.name == "gen_ai.content.prompt":
            entries, steps = tuple(chat_entries(_message(event, fields), reading)), None
        elif event.name in ("gen_ai.choice", "gen_ai.content.completion"):
            entries, steps = None, output_steps(chat_entries(_choice(event, fields), reading))
        else:
            continue
        has_input, has_output = has_input or entries is not None, has_output or steps is not None
        inputs += entries or ()
        answer += steps or ()
        finish_reason = finish_reason or reason
    outputs = tuple(answer) if has_output else None
    return SpanMessages(tuple(inputs) if has_input else None, outputs, instructions, finish_reason)


def _find_unread(event: SpanEvent, fields: dict[str, Any]) -> str:
    """Return the key of a value in an event whose content or message has another name, or an empty text.

    Without such a value, the contents were not recorded.
    """
    expected = "message" if event.name == "gen_ai.choice" else "content"
    if event.name not in _CONTENT_EVENTS or expected in fields or fields.get("tool_calls"):
        return ""
    return next((key for key, value in fields.items() if value and not _is_known(key)), "")


def _is_known(key: str) -> bool:
    return key in _KNOWN_FIELDS or key.startswith(("gen_ai.", "event."))


def arguments_in(span: Span) -> Json:
    """Return the arguments of a call of a tool that stand in an event, or None."""
    return next((_fields(event).get("content") for event in span.events if event.name == "gen_ai.tool.message"), None)


def result_in(span: Span) -> Json:
    """Return the answer of a tool that stands in an event, or None."""
    answer = next((_fields(event).get("message") for event in span.events if event.name == "gen_ai.choice"), None)
    return structured(answer)


def _fields(event: SpanEvent) -> dict[str, Any]:
    """Return the content of an event, which stands in its attributes, in its body, or as JSON in an attribute."""
    body, inner = structured(event.body), structured(event.attributes.get("gen_ai.event.content"))
    if body is None and inner is None:  # most events
        return event.attributes
    return {
        **(body if isinstance(body, dict) else {}),
        **(inner if isinstance(inner, dict) else {}),
        **event.attributes,
    }


def _message(event: SpanEvent, fields: dict[str, Any]) -> Json:
    """Return the message in an event as its provider would write it."""
    if event.name == "gen_ai.content.prompt":
        return structured(fields.get("gen_ai.prompt"))
    role, content = _ROLES[event.name], structured(fields.get("content"))
    if isinstance(content, list) and any(isinstance(part, dict) and "toolResult" in part for part in content):
        role = "user"  # Bedrock has results in messages of the user
    if not isinstance(content, list):
        content = fields.get("content")  # a text that happens to be JSON is a text
    message = {"role": role, "content": content}
    if calls := structured(fields.get("tool_calls")):
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = fields.get("id")
    return message


def _choice(event: SpanEvent, fields: dict[str, Any]) -> Json:
    """Return the message of a choice. Only the first of several choices counts."""
    if event.name == "gen_ai.content.completion":
        return structured(fields.get("gen_ai.completion"))
    if fields.get("index") not in (None, 0, "0"):
        return []
    raw = fields.get("message")
    message = structured(raw)
    if isinstance(message, list):
        message = {"content": message}
    elif not isinstance(message, dict):
        message = {"content": raw}
    if "tool_calls" not in message and (calls := structured(fields.get("tool_calls"))):
        message = {**message, "tool_calls": calls}
    return {**message, "role": "assistant"}


_ATTRIBUTES = frozenset(
    ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "pydantic_ai.all_messages")
)

_OUTPUT = "gen_ai.output.messages"

_NO_MESSAGES = SpanMessages()


def collect_messages(span: Span, reading: Diagnostics) -> SpanMessages:
    """Return the messages in the attributes of a span. Events fill the gaps."""
    if not span.events and _ATTRIBUTES.isdisjoint(span.attributes):
        return _NO_MESSAGES
    choices = read_number(span, "gen_ai.request.choice.count") or 1
    entries = read_entries(span.attributes.get("gen_ai.input.messages"), reading)
    steps, finish_reason = read_answer(span.attributes.get(_OUTPUT), choices, reading)
    instructions = read_instructions(span.attributes.get("gen_ai.system_instructions"))
    if span.events:
        content = read_content(span, choices, reading)
        if steps and content.output and _differ(steps, content.output):
            reading.unread = reading.unread or f"span {span.span_id}: {_OUTPUT} and the events hold other answers"
        entries = content.input if entries is None else entries
        steps = content.output if steps is None else steps
        instructions = instructions or content.instructions
        finish_reason = finish_reason or content.finish_reason
    if entries is None:
        # Pydantic AI writes a whole conversation beside the span of its agent.
        entries = read_entries(span.attributes.get("pydantic_ai.all_messages"), reading)
    return SpanMessages(entries, steps, instructions, finish_reason)


def _differ(steps: Sequence[Step], others: Sequence[Step]) -> bool:
    """Whether two reports of one answer hold other calls, or other texts. One of them may be shortened."""
    names, other_names = ([step.name for step in each if isinstance(step, ToolCall)] for each in (steps, others))
    texts = ("".join(step.text for step in each if isinstance(step, Message)).split() for each in (steps, others))
    shorter, longer = sorted(map("".join, texts), key=len)
    return sorted(names) != sorted(other_names) or shorter not in longer


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
