"""OpenInference's spans, which Arize Phoenix shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.chats.assembly import object_at
from fairtrial.formats.chats.gemini_contents import GEMINI
from fairtrial.formats.chats.smolagents_turns import ANSWER, answer_text
from fairtrial.formats.dialects.attributes import (
    build_tree,
    entries_by,
    extract_text,
    note_unread,
    output_steps,
    read_data,
    read_number,
    unwrap_declarations,
)
from fairtrial.formats.dialects.facts import Dialect, Facts, Kind
from fairtrial.formats.dialects.observations import tool_facts
from fairtrial.formats.dialects.openinference_messages import collect_messages
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.records.trace import Message, Step, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.record import Json

_KINDS: dict[Json, Kind] = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_REPLYING_TOOL = ("FinalAnswerTool", ANSWER)
"""The names of the span and of the tool with which an agent of smolagents replies."""
_HANDOFF = "handoff to "
_EVENT_SPAN = re.compile(r"(?:agent|tool|backend)\.[\w.]+\.(?:start|success|finish|error|retry|\w*update|\w*token)-\d+")
"""The names of the spans of BeeAI's older instrumentation, which writes a span for each event."""
_EVENT_SPANS = (
    "BeeAI wrote a span for each event, which do not say which calls there were; record the agent with the current "
    "openinference-instrumentation-beeai, or score its messages"
)
_MESSAGE_REPR = "{'role': "
_PREPARATION_ARGUMENTS, _REQUEST_KEYS = {"tools", "user_msg", "chat_history"}, {"messages", "tools"}
"""The arguments and the result of the method with which LlamaIndex prepares a request, for example for OpenAI."""
_SWITCH = "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false"


def _read(span: Span, reading: Diagnostics) -> Facts:
    if _EVENT_SPAN.fullmatch(span.name):
        note_unread([_EVENT_SPANS], reading)
        return Facts("ignored")
    kind = _KINDS.get(str(span.attributes["openinference.span.kind"]).upper(), "other")
    if kind == "other":
        return Facts()
    if kind == "tool":
        return _tool(span)
    entries = collect_messages(span, "llm.input_messages", reading)
    answers = collect_messages(span, "llm.output_messages", reading)
    steps = None if answers is None else output_steps(answers)
    own_calls, untold_requests = _read_own_calls(span, entries or (), reading)
    if own_calls:
        steps = (*own_calls, *(steps or ()))
    name = extract_text(span, "agent.name", "graph.node.id")
    if kind == "agent":
        return _agent(span, name, entries, steps)
    if entries is None and steps is None and _is_preparation(span):
        return Facts("ignored")
    model = extract_text(span, "llm.model_name")
    usage = Usage(
        read_number(span, "llm.token_count.prompt"),
        read_number(span, "llm.token_count.completion"),
        read_number(span, "llm.token_count.completion_details.reasoning"),
        read_number(span, "llm.token_count.prompt_details.cache_read"),
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
        finish_reason=extract_text(span, "llm.finish_reason"),
        switch=_SWITCH,
        untold_requests=untold_requests,
    )


def _is_preparation(span: Span) -> bool:
    """Whether a span without messages made a request that another span sends: its output is a request to a model.

    LlamaIndex calls it a model, as every method of its models. A request that failed or was cut off has no output.
    """
    arguments, request = read_data(span, "input.value"), read_data(span, "output.value")
    has_arguments = isinstance(arguments, dict) and arguments.keys() >= _PREPARATION_ARGUMENTS
    return has_arguments and isinstance(request, dict) and request.keys() >= _REQUEST_KEYS


def _read_own_calls(span: Span, entries: tuple[Entry, ...], reading: Diagnostics) -> tuple[tuple[Step, ...], int]:
    """Return the calls that the Google Gen AI SDK made itself, with their results, and how often it asked before.

    The span of `generate_content` with functions is that of the last request. Its answer repeats the conversation.
    """
    answer, request = read_data(span, "output.value"), read_data(span, "input.value")
    history = answer.get("automatic_function_calling_history") if isinstance(answer, dict) else None
    if not isinstance(history, list):
        return (), 0
    contents = request.get("contents") if isinstance(request, dict) else None
    added = history[len(contents if isinstance(contents, list) else entries) :]
    steps = output_steps(entries_by(GEMINI.entries, added, reading))
    return steps, sum(isinstance(content, dict) and content.get("role") == "model" for content in added)


def _agent(span: Span, name: str, entries: tuple[Entry, ...] | None, steps: tuple[Step, ...] | None) -> Facts:
    """Return the facts of an agent. Its input and its output are often a text each."""
    text, answer = read_data(span, "input.value"), read_data(span, "output.value")
    if entries is None and isinstance(text, str):
        entries = (UserMessage(Message(text)),)
    is_repr = isinstance(answer, str) and answer.startswith(_MESSAGE_REPR)
    if steps is None and isinstance(answer, str) and not is_repr:
        steps = (Message(answer),)
    facts = Facts("agent", name or span.name, name, entries, steps, declarations=_declarations(span), switch=_SWITCH)
    return replace(facts, missing="the answer of the agent is the repr of a Python object") if is_repr else facts


def _tool(span: Span) -> Facts:
    if span.name.startswith(_HANDOFF) and "tool.name" not in span.attributes:
        # The span of a handoff names the agents only, and the call is the model's.
        target = span.name.removeprefix(_HANDOFF)
        return Facts("tool", f"transfer_to_{target}", args={}, hands_over=True, switch=_SWITCH)
    name = extract_text(span, "tool.name") or span.name
    call_id = extract_text(span, "tool_call.id", "tool.id", "tool_call_id")
    parameters = read_data(span, "tool.parameters")
    declared: tuple[str, ...] = ()
    if parameters is None or _is_declaration(parameters):
        declared = tuple(parameters.get("properties", parameters)) if isinstance(parameters, dict) else ()
        # A text may be the only argument, of which nobody knows the name, or a Python repr of all arguments.
        raw = read_data(span, "input.value")
        parameters = raw if isinstance(raw, dict) else None
    facts = tool_facts(name, parameters, read_data(span, "output.value"), call_id, declared)
    if (span.name, name) == _REPLYING_TOOL:
        # Without a result, the tool refused the answer, and the agent goes on.
        return replace(facts, reply=Message(answer_text(facts.result.response))) if facts.result else Facts("ignored")
    return replace(facts, switch=_SWITCH)


def _is_declaration(parameters: Json) -> bool:
    """Whether the parameters of a tool are their schema or their descriptions, and not the arguments of a call."""
    if not isinstance(parameters, dict):
        return False
    are_described = bool(parameters) and all(
        isinstance(value, dict) and {"type", "description"} <= value.keys() for value in parameters.values()
    )
    return are_described or isinstance(parameters.get("properties"), dict)


def _declarations(span: Span) -> tuple[dict[str, Any], ...]:
    tools = build_tree(span.attributes, "llm.tools")
    schemas = [object_at(tool, "tool").get("json_schema") for tool in tools or () if isinstance(tool, dict)]
    return unwrap_declarations(schemas)


OPENINFERENCE = Dialect("OpenInference", ("openinference.span.kind",), _read)
