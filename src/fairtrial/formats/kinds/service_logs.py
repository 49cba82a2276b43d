"""Logs of services: ADK's analytics in BigQuery, traces of Bedrock agents, and messages of MCP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    call_message,
    decode_object,
    decode_value,
    first_dict,
    function_call,
    objects,
    result_message,
    text_message,
)

_ANALYTICS = frozenset(("event_type", "session_id", "content", "agent"))
_RESPONSE = "text: '"
"""The beginning of a response in the analytics, whose parts stand in one text: `text: 'It left.' | call: refund`."""
_NEXT_PART = " | "
_TRUNCATED = "the row was cut off; set max_content_length of the plugin higher"
_BEDROCK_PARTS = ("orchestrationTrace", "preProcessingTrace", "postProcessingTrace", "failureTrace", "guardrailTrace")
_GROUP_KEYS = frozenset(
    ("actionGroupName", "function", "apiPath", "verb", "executionType", "invocationId", "parameters", "requestBody")
)
_OUTPUTS = (
    *("actionGroupInvocationOutput", "knowledgeBaseLookupOutput", "codeInterpreterInvocationOutput"),
    "agentCollaboratorInvocationOutput",
)
_TEXT_OF_PROMPT = "[{text="
_END_OF_PROMPT = ", type=text}]"


def is_analytics(values: list[Any]) -> bool:
    """Whether values are rows of the table of ADK's plugin for BigQuery."""
    return first_dict(values).keys() >= _ANALYTICS


def read_analytics(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each session, in the order of its times."""
    sessions: dict[str, list[dict[str, Any]]] = {}
    for row in objects(values):
        sessions.setdefault(text_at(row, "session_id"), []).append(row)
    for name, rows in sessions.items():
        ordered = sorted(rows, key=lambda row: str(row.get("timestamp") or ""))
        last_chunks = {text_at(row, "span_id"): row for row in ordered if row.get("event_type") == "LLM_RESPONSE"}
        messages: list[Any] = []
        source: list[Any] = []
        failure = ""
        for number, row in enumerate(ordered):
            is_chunk = row.get("event_type") == "LLM_RESPONSE" and last_chunks[text_at(row, "span_id")] is not row
            if not is_chunk:  # a stream ends with the whole response
                messages += _analytics_messages(row, number)
                source.append(_analytics_source(row))
            if row.get("event_type") in ("LLM_ERROR", "INVOCATION_ERROR", "AGENT_ERROR"):
                failure = text_at(row, "error_message")
            elif row.get("event_type") == "USER_MESSAGE_RECEIVED":
                failure = ""
        yield Conversation(name, messages, source, failure=failure)


def _analytics_source(row: dict[str, Any]) -> Any:
    """Return the content of a row that no other row repeats. For example, a request repeats all messages before it."""
    content = decode_value(row.get("content"))
    kind = row.get("event_type")
    if kind == "LLM_RESPONSE" and isinstance(content, dict):
        return {key: value for key, value in content.items() if key not in ("response", "usage")}
    return content if kind in ("USER_MESSAGE_RECEIVED", "TOOL_STARTING", "TOOL_COMPLETED") else None


def _analytics_messages(row: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    kind, content = text_at(row, "event_type"), decode_object(row.get("content"))
    is_truncated = row.get("is_truncated") is True
    call_id = text_at(row, "span_id") or f"row-{number}"
    if kind == "USER_MESSAGE_RECEIVED":
        yield _withhold_rest(text_message("user", content.get("text_summary")), is_truncated)
    elif kind == "LLM_RESPONSE":
        texts = _texts_of_response(content.get("response"))
        if texts or not content:
            yield _withhold_rest(text_message("assistant", "\n".join(texts) if content else None), is_truncated)
    elif kind == "TOOL_STARTING":
        request = function_call(call_id, content.get("tool"), None if is_truncated else content.get("args"))
        yield call_message([request])
    elif kind == "TOOL_COMPLETED":
        yield _withhold_rest(result_message(call_id, content.get("result")), is_truncated)
    elif kind == "TOOL_ERROR":
        yield result_message(call_id, {"error": text_at(row, "error_message")}, is_error=True)


def _withhold_rest(message: dict[str, Any], is_truncated: bool) -> dict[str, Any]:
    """Return a message. If a limit cut its row off, its content is only a beginning."""
    return (
        {**message, "withheld": _TRUNCATED, "beginning": message["content"], "content": ""} if is_truncated else message
    )


def _texts_of_response(response: Any) -> list[str]:
    """Return the texts among the parts of a response."""
    if not isinstance(response, str):
        return []
    texts: list[str] = []
    for index, piece in enumerate(response.split(_NEXT_PART)):
        if piece.startswith(_RESPONSE):
            texts.append(piece.removeprefix(_RESPONSE))
        elif texts and index and not piece.startswith(("call: ", "resp: ", "other")):
            texts[-1] += f"{_NEXT_PART}{piece}"  # the text itself holds the separator
        elif not index and not piece.startswith(("call: ", "resp: ", "other")):
            texts.append(piece)
    return [text.removesuffix("'") for text in texts]


def is_bedrock_agent(values: list[Any]) -> bool:
    """Whether values are parts of the trace of a Bedrock agent, as the stream of InvokeAgent gives them."""
    return any(_bedrock_part(value) for value in objects(values[:5]))


def read_bedrock_agent(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each session. The user's message stands in the first prompt, if anywhere."""
    sessions: dict[str, list[dict[str, Any]]] = {}
    for value in objects(values):
        holder = object_at(value, "trace") if "sessionId" in object_at(value, "trace") else value
        part = _bedrock_part(value)
        if part:
            sessions.setdefault(text_at(holder, "sessionId"), []).append(part)
    for name, parts in sessions.items():
        failure = next((text_at(object_at(part, "failureTrace"), "failureReason") for part in reversed(parts)), "")
        steps = [step for part in parts for step in _bedrock_steps(part)]
        source = [
            {key: value for key, value in step.items() if not key.startswith("modelInvocation")} for step in steps
        ]
        yield Conversation(name, list(_bedrock_messages(steps)), source, failure=failure)


def _bedrock_part(value: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a trace in an event of the stream, or an empty object."""
    outer = object_at(value, "trace")
    return next((part for part in (object_at(outer, "trace"), outer) if any(key in part for key in _BEDROCK_PARTS)), {})


def _bedrock_steps(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "orchestrationTrace" in part:
        yield object_at(part, "orchestrationTrace")


def _bedrock_messages(steps: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    is_turn, calls = False, 0
    for step in steps:
        if not is_turn:
            yield text_message("user", _bedrock_question(object_at(step, "modelInvocationInput").get("text")))
            is_turn = True
        rationale, invocation, observation = (
            object_at(step, key) for key in ("rationale", "invocationInput", "observation")
        )
        if rationale:
            yield call_message([], None, text_at(rationale, "text"))
        if invocation:
            calls += 1
            yield call_message([_bedrock_call(invocation, f"call-{calls}")])
        if "finalResponse" in observation or text_at(observation, "type") == "FINISH":
            yield text_message("assistant", object_at(observation, "finalResponse").get("text"))
            is_turn = False
        elif observation and "repromptResponse" not in observation:
            yield result_message(f"call-{calls}", _bedrock_result(observation))


def _bedrock_question(prompt: Any) -> str | None:
    """Return the user's message in a prompt, which holds the messages as JSON."""
    messages = decode_object(prompt).get("messages")
    users = [message.get("content") for message in objects(messages) if message.get("role") == "user"]
    if not users or not isinstance(users[-1], str):
        return None
    return users[-1].removeprefix(_TEXT_OF_PROMPT).removesuffix(_END_OF_PROMPT)


def _bedrock_call(invocation: dict[str, Any], call_id: str) -> dict[str, Any]:
    group = object_at(invocation, "actionGroupInvocationInput")
    if group:
        body = object_at(object_at(group, "requestBody"), "content")
        fields = [*objects(group.get("parameters")), *(item for value in body.values() for item in objects(value))]
        is_known = _GROUP_KEYS.issuperset(group) and all({"name", "value"} <= field.keys() for field in fields)
        arguments = {text_at(field, "name"): field.get("value") for field in fields} if is_known else None
        return function_call(call_id, text_at(group, "function") or text_at(group, "apiPath"), arguments)
    for key, name in (
        ("knowledgeBaseLookupInput", "knowledge_base"),
        ("codeInterpreterInvocationInput", "code_interpreter"),
        ("agentCollaboratorInvocationInput", ""),
    ):
        fields_of_tool = object_at(invocation, key)
        if fields_of_tool:
            return function_call(call_id, name or text_at(fields_of_tool, "agentCollaboratorName"), fields_of_tool)
    return function_call(call_id, None, invocation)


def _bedrock_result(observation: dict[str, Any]) -> Any:
    """Return the output of a tool: its text, or an object."""
    inner: dict[str, Any] = next((observation[key] for key in _OUTPUTS if isinstance(observation.get(key), dict)), {})
    return inner.get("text") if set(inner) <= {"text", "metadata"} else inner


def is_mcp(values: list[Any]) -> bool:
    """Whether lines are messages of the Model Context Protocol with a call of a tool, alone or inside of log lines."""
    messages = list(map(_mcp_message, objects(values[:50])))
    return any(message.get("method") == "tools/call" for message in messages)


def read_mcp(values: list[Any]) -> Iterator[Conversation]:
    """Yield the calls and their results. A server of tools gets no messages, so that these are withheld."""
    messages: list[Any] = [text_message("user", None)]
    names: dict[str, str] = {}
    source: list[Any] = []
    for message in map(_mcp_message, objects(values)):
        call_id = str(message.get("id"))
        if message.get("method") == "tools/call":
            params = object_at(message, "params")
            names[call_id] = text_at(params, "name")
            messages.append(call_message([function_call(call_id, params.get("name"), params.get("arguments", {}))]))
            source.append(params)
        elif call_id in names and "method" not in message:
            result = object_at(message, "result")
            failed = result.get("isError") is True or "error" in message
            content = result.get("structuredContent") or result.get("content") or message.get("error")
            messages.append(result_message(call_id, content, is_error=failed))
    yield Conversation("", [*messages, text_message("assistant", None)], source)


def _mcp_message(line: dict[str, Any]) -> dict[str, Any]:
    """Return the message of a line. Some logs keep it beside its time and its direction."""
    inner = next((line[key] for key in ("message", "data", "payload") if "jsonrpc" in object_at(line, key)), line)
    return inner if "jsonrpc" in inner else {}
