"""OpenInference's spans, which Arize Phoenix shows: messages as numbered attributes."""

from __future__ import annotations

from typing import Any

from fairtrial.formats.chats.assembly import Entry, Instruction, UserMessage, object_at, text_at, thoughts
from fairtrial.formats.dialects.attributes import (
    arguments,
    data_of,
    declarations_of,
    number_of,
    output_steps,
    response,
    text_of,
    tool_answer,
    tree_of,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.messages import arguments_of
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span
from fairtrial.formats.tool_failures import has_failed
from fairtrial.records.record import Json
from fairtrial.records.trace import Message, Part, Step, ToolCall, ToolResult, Usage

_KINDS: dict[Json, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_HANDOFF = "handoff to "
_SWITCH = "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false"


def _is_span(span: Span) -> bool:
    return "openinference.span.kind" in span.attributes


def _read(span: Span, _reading: Diagnostics) -> Facts:
    kind = _KINDS.get(str(span.attributes["openinference.span.kind"]).upper(), "other")
    if kind == "other":
        return Facts()
    if kind == "tool":
        return _tool(span)
    entries = _messages(span, "llm.input_messages")
    answers = _messages(span, "llm.output_messages")
    steps = None if answers is None else output_steps(answers)
    name = text_of(span, "agent.name", "graph.node.id")
    if kind == "agent":
        return _agent(span, name, entries, steps)
    model = text_of(span, "llm.model_name")
    usage = Usage(
        number_of(span, "llm.token_count.prompt"),
        number_of(span, "llm.token_count.completion"),
        number_of(span, "llm.token_count.completion_details.reasoning"),
        number_of(span, "llm.token_count.prompt_details.cache_read"),
        model,
    )
    return Facts(
        "model",
        agent=name,
        input=entries,
        output=steps,
        declarations=_declarations(span),
        usage=usage,
        model=model,
        finish_reason=text_of(span, "llm.finish_reason"),
        switch=_SWITCH,
    )


def _agent(span: Span, name: str, entries: tuple[Entry, ...] | None, steps: tuple[Step, ...] | None) -> Facts:
    """Return the facts of an agent. Its input and its output are often a text each."""
    text, answer = data_of(span, "input.value"), data_of(span, "output.value")
    if entries is None and isinstance(text, str):
        entries = (UserMessage(Message(text)),)
    if steps is None and isinstance(answer, str):
        steps = (Message(answer),)
    return Facts("agent", name or span.name, name, entries, steps, declarations=_declarations(span), switch=_SWITCH)


def _tool(span: Span) -> Facts:
    if span.name.startswith(_HANDOFF) and "tool.name" not in span.attributes:
        # The span of a handoff names the agents only, and the call is the model's.
        target = span.name.removeprefix(_HANDOFF)
        return Facts("tool", f"transfer_to_{target}", args={}, hands_over=True, switch=_SWITCH)
    name = text_of(span, "tool.name") or span.name
    call_id = text_of(span, "tool_call.id", "tool.id", "tool_call_id") or None
    parameters = data_of(span, "tool.parameters")
    if parameters is None or _is_schema(parameters):
        parameters = data_of(span, "input.value")
    answer, answer_id, stated = tool_answer(data_of(span, "output.value"))
    result = None
    if answer is not None:
        result = ToolResult(name, answer, call_id or answer_id, is_error=has_failed(answer, stated))
    return Facts(
        "tool", name, args=arguments(parameters), result=result, call_id=call_id or answer_id or None, switch=_SWITCH
    )


def _is_schema(parameters: Json) -> bool:
    """Whether the parameters of a tool are their declaration, and not the arguments of a call."""
    return isinstance(parameters, dict) and isinstance(parameters.get("properties"), dict)


def _declarations(span: Span) -> tuple[dict[str, Any], ...]:
    tools = tree_of(span.attributes, "llm.tools")
    schemas = [object_at(tool, "tool").get("json_schema") for tool in tools or () if isinstance(tool, dict)]
    return declarations_of(schemas)


def _messages(span: Span, prefix: str) -> tuple[Entry, ...] | None:
    """Return the entries of numbered messages, or None if none of them is recorded."""
    raw = tree_of(span.attributes, prefix)
    if not raw:
        return None
    messages = [object_at(item, "message") for item in raw if isinstance(item, dict)]
    return tuple(entry for message in messages for entry in _entries(message))


def _entries(message: dict[str, Any]) -> list[Entry]:
    role = text_at(message, "role").lower()
    steps = _contents(message)
    texts = "".join(step.text for step in steps if isinstance(step, Message))
    if role in ("system", "developer"):
        return [Instruction(texts)]
    call_id = text_at(message, "tool_call_id")
    if role in ("tool", "function") or call_id:
        answer = response(texts)
        return [ToolResult(text_at(message, "name"), answer, call_id, is_error=has_failed(answer, None))]
    if role == "user":
        parts = tuple(part for step in steps if isinstance(step, Message) for part in step.parts)
        return [UserMessage(Message(texts, parts=parts))] if texts or parts else []
    return [*(step for step in steps if not _is_empty(step)), *_calls(message)]


def _is_empty(step: Step) -> bool:
    return isinstance(step, Message) and not step.text and not step.parts


def _calls(message: dict[str, Any]) -> list[Step]:
    calls: list[Step] = []
    for item in _list_at(message, "tool_calls"):
        call = object_at(item, "tool_call") if isinstance(item, dict) else {}
        function = object_at(call, "function")
        if name := text_at(function, "name"):
            calls.append(ToolCall(name, arguments_of(function.get("arguments")), text_at(call, "id")))
    if not calls and (name := text_at(message, "function_call_name")):
        calls.append(ToolCall(name, arguments_of(message.get("function_call_arguments_json"))))
    return calls


def _list_at(message: dict[str, Any], key: str) -> list[Any]:
    value = message.get(key)
    return value if isinstance(value, list) else []


def _contents(message: dict[str, Any]) -> list[Step]:
    """Return the texts, thoughts and media of a message. Some instrumentations write a text twice."""
    steps: list[Step] = []
    for item in _list_at(message, "contents"):
        content = object_at(item, "message_content") if isinstance(item, dict) else {}
        if text_at(content, "type") == "reasoning":
            steps += thoughts(content.get("text"))
        elif text_at(content, "text"):
            steps.append(Message(text_at(content, "text")))
        elif url := text_at(object_at(object_at(content, "image"), "image"), "url"):
            steps.append(Message("", parts=(Part(uri=url),)))
    if any(isinstance(step, Message) for step in steps):
        return steps
    text = message.get("content")
    if isinstance(text, list):
        text = "".join(part for part in text if isinstance(part, str))
    return [*steps, Message(text)] if isinstance(text, str) else steps


OPENINFERENCE = Dialect("OpenInference", _is_span, _read)
