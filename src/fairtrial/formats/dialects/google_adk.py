"""The dialect of google-adk spans: request and response of a model as JSON in `gcp.vertex.agent.*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import object_at, response, result, text_at
from fairtrial.formats.chats.dialects import text_of_instructions
from fairtrial.formats.chats.gemini_contents import GEMINI
from fairtrial.formats.dialects.attributes import (
    arguments,
    entries_by,
    extract_text,
    note_unread,
    output_steps,
    read_data,
)
from fairtrial.formats.dialects.facts import Dialect, Facts
from fairtrial.formats.dialects.repeated_json import repeated_members
from fairtrial.formats.dialects.usages import usage_of_gemini, usage_of_span

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span

_REQUEST = "gcp.vertex.agent.llm_request"
_RESPONSE = "gcp.vertex.agent.llm_response"
_INVOCATION = "gcp.vertex.agent.invocation_id"
_ARGS = "gcp.vertex.agent.tool_call_args"
_RESULT = "gcp.vertex.agent.tool_response"
_MARKS = (_REQUEST, _INVOCATION, "gcp.vertex.agent.event_id", _ARGS, "gcp.vertex.agent.session_id")
_SWITCH = "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true"


def _read(span: Span, reading: Diagnostics) -> Facts:
    invocation = extract_text(span, _INVOCATION)
    if span.name == "execute_tool (merged)":
        return Facts("ignored")  # it only says that the tools of one answer ran in parallel
    if _ARGS in span.attributes or span.name.startswith("execute_tool"):
        return _tool(span, invocation)
    if span.name == "call_llm":
        request = repeated_members(span.attributes.get(_REQUEST), "contents")
        if isinstance(request, dict):
            return _model(span, request, invocation, reading)
    return Facts(invocation=invocation)


def _model(span: Span, request: dict[str, Any], invocation: str, reading: Diagnostics) -> Facts:
    answer = read_data(span, _RESPONSE)
    answer = answer if isinstance(answer, dict) else {}
    config = object_at(request, "config")
    model = text_at(answer, "model_version") or extract_text(span, "gen_ai.request.model") or text_at(request, "model")
    contents = request.get("contents")
    error = text_at(answer, "error_code")
    if not error and _loses_content(answer):
        note_unread(["/content/parts is missing in the answer of the model"], reading)
        answer = {}
    return Facts(
        "model",
        input=tuple(entries_by(GEMINI.entries, contents, reading)) if isinstance(contents, list) else None,
        output=output_steps(entries_by(GEMINI.entries, _content(answer), reading)) if answer else None,
        instructions=text_of_instructions(config.get("system_instruction")),
        declarations=tuple(tool for tool in config.get("tools") or () if isinstance(tool, dict)),
        usage=usage_of_gemini(object_at(answer, "usage_metadata"), model) or usage_of_span(span, model),
        model=model,
        invocation=invocation,
        finish_reason=text_at(answer, "finish_reason"),
        error_type=error,
        failure="" if object_at(answer, "content").get("parts") else text_at(answer, "error_message") or error,
        switch=_SWITCH,
    )


def _content(answer: dict[str, Any]) -> list[Any]:
    content = object_at(answer, "content")
    return [{**content, "role": "model"}] if isinstance(content.get("parts"), list) else []


def _loses_content(answer: dict[str, Any]) -> bool:
    """Whether the parts of an answer stand under an unknown key. An answer may have no content at all."""
    content = object_at(answer, "content")
    if "parts" in content:
        return False
    beside = (value for key, value in answer.items() if key != "content" and not key.lower().endswith("metadata"))
    lists = (value for fields in (content, *beside) if isinstance(fields, dict) for value in fields.values())
    return any(isinstance(value, list) and value and isinstance(value[0], dict) for value in lists)


def _tool(span: Span, invocation: str) -> Facts:
    name = extract_text(span, "gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    answer = read_data(span, _RESULT)
    is_told = answer is not None and answer != "<not specified>"
    args = read_data(span, _ARGS)
    return Facts(
        "tool",
        name,
        args=arguments(args) if args != "N/A" else None,
        result=result(name, response(answer), "") if is_told else None,
        call_id="",  # the ids of messages are others
        invocation=invocation,
        switch="" if args is None else _SWITCH,  # the newer spans follow the conventions
    )


GOOGLE_ADK = Dialect("google-adk", _MARKS, _read)
