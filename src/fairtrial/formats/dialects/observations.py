"""Read messages from the inputs and outputs that platforms keep of any function, in its arguments' shape.

A platform such as Langfuse does not translate the input of a model. It keeps the request of the provider, a list of
messages, a text, or the arguments of any function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.formats.chats.assembly import number_at, object_at, text_at
from fairtrial.formats.dialects.attributes import (
    arguments,
    chat_entries,
    output_steps,
    tool_answer,
    unwrap_declarations,
)
from fairtrial.formats.dialects.facts import Facts, Kind
from fairtrial.formats.message_entries import Entry, UserMessage
from fairtrial.formats.spans.span_values import structured
from fairtrial.formats.tool_failures import has_failed
from fairtrial.records.trace import Message, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.record import Json

_INPUTS = ("messages", "contents", "input", "prompt", "prompts", "new_message")
_ANSWERS = ("choices", "candidates", "generations", "message", "output", "outputs", "content", "text")
_FINISH_REASONS = ("finish_reason", "finishReason", "stop_reason", "stopReason")
_METADATA = ("generation_info", "response_metadata", "kwargs")
"""The objects beside an answer in which LangChain keeps what a provider says of it."""
_INSTRUCTIONS = ("system", "instructions", "system_instruction", "systemInstruction")
_WRAPPER = frozenset(("args", "kwargs", "sanitize_inputs_outputs"))
"""The keys around the arguments of a tool. The last is of smolagents."""
_TOKENS = (
    ("input_tokens", "prompt_tokens", "input", "promptTokens", "prompt"),
    ("output_tokens", "completion_tokens", "output", "completionTokens", "completion"),
    ("reasoning_tokens", "output_reasoning", "output_reasoning_tokens", "completion_details.reasoning"),
    ("cache_read_input_tokens", "input_cache_read", "input_cached_tokens", "prompt_details.cache_read"),
)
"""The names of input, output, reasoning and cached tokens."""
_DETAILS = (
    ("output_token_details", "completion_tokens_details", "output_tokens_details"),
    ("input_token_details", "prompt_tokens_details", "input_tokens_details"),
)
"""The objects that hold reasoning and cached tokens in usages of providers."""


def model_facts(
    inputs: Json, outputs: Json, reading: Diagnostics, *, model: str = "", usage: Json = None, tools: Json = None
) -> Facts:
    """Return the facts of a call of a model, from the request that it got and its answer."""
    request, reply = structured(inputs), structured(outputs)
    answer_entries = None if reply is None else _answer(reply, reading)
    steps = None if answer_entries is None else output_steps(answer_entries)
    counted = next((entry for entry in answer_entries or () if isinstance(entry, Usage)), None)
    fields = reply if isinstance(reply, dict) else {}
    name = model or text_at(fields, "model") or (text_at(request, "model") if isinstance(request, dict) else "")
    if counted is not None and not counted.model:
        counted = replace(counted, model=name)
    declared = tools if tools is not None else request.get("tools") if isinstance(request, dict) else None
    return Facts(
        "model",
        input=None if request is None else tuple(_messages(request, reading)) or None,
        output=steps or None,
        instructions=_instructions(request) or text_at(fields, "instructions"),
        declarations=unwrap_declarations(declared),
        usage=read_usage(structured(usage) or fields.get("usage") or fields.get("usage_metadata"), name) or counted,
        model=name,
        response_id=text_at(fields, "id"),
        finish_reason=_finish_reason(reply),
    )


def agent_facts(name: str, inputs: Json, outputs: Json, reading: Diagnostics) -> Facts:
    """Return the facts of an agent. Its answer counts only if it is a text or a message."""
    request, reply = structured(inputs), structured(outputs)
    entries = tuple(_messages(request, reading)) if request is not None else ()
    steps = output_steps(_answer(reply, reading)) if _is_reply(reply) else ()
    return Facts("agent", name, name, entries or None, steps or None)


def tool_facts(name: str, inputs: Json, outputs: Json, call_id: str = "", parameters: Iterable[str] = ()) -> Facts:
    """Return the facts of a call of a tool. `parameters` are the names of its parameters in their order, if known."""
    response, answer_id, stated = tool_answer(structured(outputs))
    call_id = call_id or answer_id
    failed = has_failed(response, stated)
    result = None if response is None else ToolResult(name, response, call_id, is_error=failed)
    return Facts(
        "tool",
        name,
        args=arguments(_call_arguments(structured(inputs), parameters)),
        result=result,
        call_id=call_id or None,
    )


def detect_kind(kinds: dict[str, Kind], raw: Json) -> Kind:
    """Return the kind of an observation by the name that its platform gives it."""
    return kinds.get(raw.lower(), "other") if isinstance(raw, str) else "other"


def read_usage(raw: Json, model: str) -> Usage | None:
    """Return the tokens in a usage of any provider or platform, or None if it has none."""
    if not isinstance(raw, dict):
        return None
    counts = [next((count for name in names if (count := number_at(raw, name)) is not None), None) for names in _TOKENS]
    for place, (names, key) in enumerate(zip(_DETAILS, ("reasoning", "cache"), strict=True), start=2):
        details = next((object_at(raw, name) for name in names if object_at(raw, name)), {})
        if counts[place] is None:
            counts[place] = next((number_at(details, name) for name in details if name.startswith(key)), None)
    if all(count is None for count in counts):
        return None
    tokens, answer_tokens, reasoning, cached = counts
    return Usage(tokens, answer_tokens, reasoning, cached, model)


def _call_arguments(inputs: Json, parameters: Iterable[str]) -> Json:
    """Return the arguments of a tool. Some SDKs wrap them, as in `{"args": [], "kwargs": {"id": 1}}`.

    Returns None if an argument has a place, and nobody knows the name of its parameter.
    """
    is_wrapped = isinstance(inputs, dict) and inputs.keys() <= _WRAPPER and isinstance(inputs.get("kwargs"), dict)
    if not isinstance(inputs, dict) or not is_wrapped:
        return inputs
    placed = inputs.get("args") or ()
    names = tuple(parameters)
    if not isinstance(placed, list | tuple) or len(placed) > len(names):
        return None
    return {**dict(zip(names, placed, strict=False)), **object_at(inputs, "kwargs")}


def _instructions(request: Json) -> str:
    fields = request if isinstance(request, dict) else {}
    config = object_at(fields, "config")
    texts = [text_at(holder, name) for holder in (fields, config) for name in _INSTRUCTIONS]
    return next(filter(None, texts), "")


def _messages(request: Json, reading: Diagnostics) -> Iterable[Entry]:
    """Return the entries of a request: of its messages, of its only message, or of a text."""
    request = structured(request)
    if isinstance(request, str):
        return [UserMessage(Message(request))] if request else []
    if isinstance(request, dict):
        if _is_message(request):
            return chat_entries([request], reading)
        inner = next((request[key] for key in _INPUTS if request.get(key)), None)
        return () if inner is None else _messages(inner, reading)
    if not isinstance(request, list):
        return ()
    if request and isinstance(request[0], list):  # LangChain asks for a batch, and almost always a batch of one
        return _messages(request[0], reading)
    return chat_entries([_plain(message) for message in request if not _is_declaration(message)], reading)


def _answer(reply: Json, reading: Diagnostics) -> list[Entry]:
    """Return the entries of an answer: a message, a text, or the response of a provider."""
    reply = structured(reply)
    if isinstance(reply, str):
        return [Message(reply)] if reply else []
    if _is_message(reply):
        return chat_entries([_plain(reply)], reading)
    if isinstance(reply, list) and reply and all(map(_is_message, reply)):
        return chat_entries([_plain(message) for message in reply], reading)
    # The first of several alternatives counts, and the first answer of a batch.
    inner = _inside(reply)
    return [] if inner is None else _answer(inner, reading)


def _inside(reply: Json) -> Json:
    """Return the part of a response that holds its answer, or None."""
    if isinstance(reply, list):
        return reply[0] if reply else None
    return next((reply[key] for key in _ANSWERS if reply.get(key)), None) if isinstance(reply, dict) else None


def _finish_reason(reply: Json) -> str:
    """Return why a model stopped, or an empty text. The reason stands in an answer, or in an object around it."""
    while reply is not None:
        if isinstance(reply, dict):
            holders = [reply, *(object_at(reply, name) for name in _METADATA)]
            reasons = (text_at(holder, name) for holder in holders for name in _FINISH_REASONS)
            if reason := next(filter(None, reasons), ""):
                return reason
        reply = _inside(reply)
    return ""


def _is_reply(reply: Json) -> bool:
    """Whether the output of an agent is its reply, and not data or all messages of a conversation."""
    return isinstance(reply, str) or (isinstance(reply, dict) and _is_message(reply))


def _is_message(value: Json) -> bool:
    """Whether a value is a message of a provider, or an envelope or an item that stands for a message."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    is_item = isinstance(kind, str) and (kind in ("message", "reasoning") or kind.endswith(("_call", "_call_output")))
    is_langchain = "lc" in value or (kind in ("human", "ai", "system", "tool") and "content" in value)
    return is_item or is_langchain or isinstance(value.get("role"), str)


def _is_declaration(message: Any) -> bool:
    """Whether a message is the declaration of a tool, which Langfuse appends to the messages."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, dict) or content.get("type") != "function" or "tool_call_id" in message:
        return False
    return "arguments" not in object_at(content, "function")


def _plain(message: Any) -> Any:
    """Return a message as its provider writes it: results of tools as text, calls beside the content."""
    if not isinstance(message, dict) or "lc" in message:
        return message
    content = message.get("content")
    calls = object_at(message, "additional_kwargs").get("tool_calls")
    if isinstance(calls, list) and not message.get("tool_calls") and isinstance(message.get("role"), str):
        message = {**message, "tool_calls": calls}
    if message.get("role") == "tool" and not (content is None or isinstance(content, str) or _has_parts(content)):
        message = {**message, "content": msgspec.json.encode(content).decode()}
    return message


def _has_parts(content: Json) -> bool:
    """Whether the content of a message consists of parts of a provider, and not of data."""
    return isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content)
