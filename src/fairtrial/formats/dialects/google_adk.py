"""google-adk's own spans: the request and the response of a model as JSON in `gcp.vertex.agent.*`."""

from __future__ import annotations

from typing import Any

from fairtrial.formats.chats.assembly import Entry, UserMessage, number_at, object_at, text_at
from fairtrial.formats.dialects.attributes import (
    arguments,
    chat_entries,
    data_of,
    output_steps,
    response,
    text_of,
    tool_result,
)
from fairtrial.formats.dialects.facts import Dialect, Facts
from fairtrial.formats.dialects.genai import usage_of
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span
from fairtrial.records.record import Json
from fairtrial.records.trace import Usage

_OWN = "gcp.vertex.agent."
_MARKS = tuple(_OWN + name for name in ("llm_request", "invocation_id", "event_id", "tool_call_args", "session_id"))
_SWITCH = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"
_QUOTE = "For context:"
"""The first text of a message in which ADK quotes other agents. No user wrote it."""


def _is_span(span: Span) -> bool:
    return any(mark in span.attributes for mark in _MARKS)


def _read(span: Span, reading: Diagnostics) -> Facts:
    invocation = text_of(span, _OWN + "invocation_id")
    if span.name == "execute_tool (merged)":
        return Facts("ignored")  # it only says that the tools of one answer ran in parallel
    if _OWN + "tool_call_args" in span.attributes or span.name.startswith("execute_tool"):
        return _tool(span, invocation)
    request = data_of(span, _OWN + "llm_request")
    if span.name != "call_llm" or not isinstance(request, dict):
        return Facts(invocation=invocation)
    return _model(span, request, invocation, reading)


def _model(span: Span, request: dict[str, Any], invocation: str, reading: Diagnostics) -> Facts:
    answer = data_of(span, _OWN + "llm_response")
    answer = answer if isinstance(answer, dict) else {}
    config = object_at(request, "config")
    model = text_at(answer, "model_version") or text_of(span, "gen_ai.request.model") or text_at(request, "model")
    contents = request.get("contents")
    return Facts(
        "model",
        input=_input(contents, reading) if isinstance(contents, list) else None,
        output=output_steps(chat_entries(_content(answer), reading)) if answer else None,
        instructions=_instructions(config.get("system_instruction")),
        declarations=tuple(tool for tool in config.get("tools") or () if isinstance(tool, dict)),
        usage=_usage(object_at(answer, "usage_metadata"), model) or usage_of(span, model),
        model=model,
        invocation=invocation,
        finish_reason=text_at(answer, "finish_reason"),
        error_type=text_at(answer, "error_code"),
        switch=_SWITCH,
    )


def _input(contents: list[Any], reading: Diagnostics) -> tuple[Entry, ...]:
    """Return the entries of the contents. A message that only quotes other agents is not a turn of the user."""
    return tuple(
        entry
        for entry in chat_entries(contents, reading)
        if not (isinstance(entry, UserMessage) and entry.message.text.startswith(_QUOTE))
    )


def _content(answer: dict[str, Any]) -> Json:
    content = object_at(answer, "content")
    return {**content, "role": "model"} if isinstance(content.get("parts"), list) else []


def _instructions(raw: Json) -> str:
    parts = raw.get("parts") if isinstance(raw, dict) else None
    texts = [part.get("text", "") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else [raw]
    return "\n".join(text for text in texts if isinstance(text, str))


def _usage(counts: dict[str, Any], model: str) -> Usage | None:
    """Return the tokens as Gemini counts them: the candidates do not include the thoughts."""
    if not counts:
        return None
    candidates, thoughts = number_at(counts, "candidates_token_count"), number_at(counts, "thoughts_token_count")
    total = None if candidates is None and thoughts is None else (candidates or 0) + (thoughts or 0)
    cached = number_at(counts, "cached_content_token_count")
    return Usage(number_at(counts, "prompt_token_count"), total, thoughts, cached, model)


def _tool(span: Span, invocation: str) -> Facts:
    name = text_of(span, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    answer = data_of(span, _OWN + "tool_response")
    is_told = answer is not None and answer != "<not specified>"
    args = data_of(span, _OWN + "tool_call_args")
    return Facts(
        "tool",
        name,
        args=arguments(args) if args != "N/A" else None,
        result=tool_result(name, response(answer), "") if is_told else None,
        call_id="",  # the ids of messages are others
        invocation=invocation,
        switch="" if args is None else _SWITCH,  # the newer spans follow the conventions
    )


GOOGLE_ADK = Dialect("google-adk", _is_span, _read)
