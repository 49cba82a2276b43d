"""Runs of agents: ATIF, OpenHands, Gemini CLI, OpenCode, pi, AutoGen and smolagents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    as_text,
    call_message,
    first_dict,
    function_call,
    objects,
    result_message,
    text_message,
)

_QUIET_ACTIONS = ("recall", "change_agent_state", "null")
_QUIET_PARTS = ("text", "step-start", "step-finish", "snapshot", "patch", "file", "agent", "compaction", "retry")
_THOUGHTS = ("thought", "final_thought")
_AUTOGEN_TYPES = ("TextMessage", "ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage")


def is_atif(values: list[Any]) -> bool:
    """Whether a document is a trajectory in the Agent Trajectory Interchange Format."""
    top = first_dict(values)
    return text_at(top, "schema_version").startswith("ATIF") and isinstance(top.get("steps"), list)


def read_atif(values: list[Any]) -> Iterator[Conversation]:
    """Yield the run of a trajectory."""
    for top in objects(values):
        messages: list[Any] = []
        for step in objects(top.get("steps")):
            role = {"agent": "assistant"}.get(text_at(step, "source"), text_at(step, "source"))
            if role != "assistant":
                messages.append(text_message(role, step.get("message")))
                continue
            calls = [
                function_call(item.get("tool_call_id"), item.get("function_name"), item.get("arguments"))
                for item in objects(step.get("tool_calls"))
            ]
            messages.append(call_message(calls, step.get("message"), step.get("reasoning_content")))
            results = objects(object_at(step, "observation").get("results"))
            messages += [result_message(item.get("source_call_id"), item.get("content")) for item in results]
        yield Conversation(text_at(top, "session_id"), messages, top)


def _is_openhands_event(value: Any) -> bool:
    return isinstance(value, dict) and "source" in value and ("action" in value or "observation" in value)


def is_openhands(values: list[Any]) -> bool:
    """Whether values are events of OpenHands, or the lines of its output with their history."""
    top = first_dict(values)
    history = top.get("history")
    return _is_openhands_event(top) or (isinstance(history, list) and any(map(_is_openhands_event, history[:5])))


def read_openhands(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for a list of events, or for each line of the output."""
    if _is_openhands_event(first_dict(values)):
        yield Conversation("", [*_openhands_messages(values)], values)
        return
    for top in objects(values):
        name = text_at(top, "instance_id")
        yield Conversation(
            name, [*_openhands_messages(top.get("history"))], top.get("history"), failure=text_at(top, "error")
        )


def _openhands_messages(events: Any) -> Iterator[dict[str, Any]]:
    for event in objects(events):
        args, action = object_at(event, "args"), text_at(event, "action")
        if "observation" in event:
            if event.get("cause") is not None and event.get("observation") not in _QUIET_ACTIONS:
                is_error = event.get("observation") == "error"
                yield result_message(event["cause"], event.get("content"), is_error=is_error)
        elif action == "message":
            yield text_message("user" if event.get("source") == "user" else "assistant", args.get("content"))
        elif action == "system":
            yield text_message("system", args.get("content"))
        elif action == "think":
            yield call_message([], None, args.get("thought"))
        elif action == "finish":
            outputs = object_at(args, "outputs")
            yield text_message(
                "assistant", text_at(args, "final_thought") or outputs.get("content") or event.get("message")
            )
        elif action not in _QUIET_ACTIONS:
            own = {key: value for key, value in args.items() if key not in _THOUGHTS}
            yield call_message([function_call(event.get("id"), action, own)], None, args.get("thought"))


def is_gemini_cli(values: list[Any]) -> bool:
    """Whether a document is a session of the Gemini CLI."""
    top = first_dict(values)
    return {"sessionId", "projectHash", "messages"} <= top.keys()


def read_gemini_cli(values: list[Any]) -> Iterator[Conversation]:
    """Yield the session. Notes of the program are no messages."""
    for top in objects(values):
        messages: list[Any] = []
        for message in objects(top.get("messages")):
            kind = text_at(message, "type")
            if kind == "user":
                messages.append(text_message("user", message.get("content")))
            elif kind == "gemini":
                messages += _gemini_answer(message)
            elif kind not in ("info", "error", "warning"):
                messages.append(text_message(kind, message.get("content")))
        yield Conversation(text_at(top, "sessionId"), messages, top)


def _gemini_answer(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    calls = list(objects(message.get("toolCalls")))
    thoughts = [": ".join(map(str, item.values())) for item in objects(message.get("thoughts"))]
    if calls or thoughts:
        functions = [function_call(item.get("id"), item.get("name"), item.get("args")) for item in calls]
        yield call_message(functions, None, "\n".join(thoughts))
    for item in calls:
        responses = [object_at(part, "functionResponse").get("response") for part in objects(item.get("result"))]
        content = responses[0] if len(responses) == 1 else responses or item.get("result")
        yield result_message(item.get("id"), content, is_error=item.get("status") == "error")
    if message.get("content"):
        yield text_message("assistant", message.get("content"))


def is_opencode(values: list[Any]) -> bool:
    """Whether a document is an exported session of OpenCode."""
    top = first_dict(values)
    inner = first_dict(top["messages"]) if isinstance(top.get("messages"), list) else {}
    return (
        isinstance(top.get("info"), dict)
        and isinstance(inner.get("parts"), list)
        and "role" in object_at(inner, "info")
    )


def read_opencode(values: list[Any]) -> Iterator[Conversation]:
    """Yield the session."""
    for top in objects(values):
        messages: list[Any] = []
        for message in objects(top.get("messages")):
            role = text_at(object_at(message, "info"), "role")
            for part in objects(message.get("parts")):
                messages += _opencode_part(part, role)
        yield Conversation(text_at(object_at(top, "info"), "id"), messages, top)


def _opencode_part(part: dict[str, Any], role: str) -> Iterator[dict[str, Any]]:
    kind, state = text_at(part, "type"), object_at(part, "state")
    if kind == "text" and not part.get("synthetic"):
        yield text_message(role, part.get("text"))
    elif kind == "reasoning":
        yield call_message([], None, part.get("text"))
    elif kind == "tool":
        yield call_message([function_call(part.get("callID"), part.get("tool"), state.get("input"))])
        if state.get("status") in ("completed", "error"):
            failed = state.get("status") == "error"
            yield result_message(
                part.get("callID"), state.get("error") if failed else state.get("output"), is_error=failed
            )
    elif kind not in _QUIET_PARTS and not part.get("synthetic"):
        yield text_message(f"part of the type {kind}", "")  # the reader of messages refuses it


def is_pi(values: list[Any]) -> bool:
    """Whether lines are a session of pi."""
    top = first_dict(values)
    lines = [line for line in objects(values[1:20]) if line.get("type") == "message"]
    return top.get("type") == "session" and bool(lines) and isinstance(lines[0].get("message"), dict)


def read_pi(values: list[Any]) -> Iterator[Conversation]:
    """Yield the branch of the session that its last line belongs to."""
    own_lines = [line for line in objects(values) if line.get("type") != "session" and text_at(line, "id")]
    lines = {text_at(line, "id"): line for line in own_lines}
    branch: list[dict[str, Any]] = []
    line_id = next((key for key in reversed(lines)), "")
    while line_id in lines:
        line = lines.pop(line_id)
        branch.insert(0, line)
        line_id = text_at(line, "parentId")
    if any("parentId" not in line for line in own_lines):
        branch = own_lines
    messages = [message for line in branch for message in _pi_message(object_at(line, "message"))]
    yield Conversation(text_at(first_dict(values), "id"), messages, branch)


def _pi_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    role, content = text_at(message, "role"), message.get("content")
    if role == "toolResult":
        yield result_message(message.get("toolCallId"), content, is_error=message.get("isError") is True)
    elif role == "assistant":
        parts = list(objects(content))
        calls = [
            function_call(part.get("id"), part.get("name"), part.get("arguments"))
            for part in parts
            if part.get("type") == "toolCall"
        ]
        texts = [text_at(part, "text") for part in parts if part.get("type") == "text"]
        thoughts = [text_at(part, "thinking") for part in parts if part.get("type") == "thinking"]
        text = content if isinstance(content, str) else "".join(texts)
        yield call_message(calls, text, "\n".join(thoughts)) if calls or thoughts else text_message(role, text)
    elif role:
        yield text_message(role, as_text(content))


def is_autogen(values: list[Any]) -> bool:
    """Whether values are messages of AutoGen 0.4, or a task result that holds them."""
    top = first_dict(values)
    inner = first_dict(top["messages"]) if isinstance(top.get("messages"), list) else top
    return "source" in inner and inner.get("type") in _AUTOGEN_TYPES


def read_autogen(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for a list of messages, or for each task result."""
    is_list = "messages" not in first_dict(values)
    for messages in [values] if is_list else [top.get("messages") for top in objects(values)]:
        yield Conversation(
            "", [entry for message in objects(messages) for entry in _autogen_message(message)], messages
        )


def _autogen_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind, content = text_at(message, "type"), message.get("content")
    if kind == "ToolCallRequestEvent":
        functions = [
            function_call(item.get("id"), item.get("name"), item.get("arguments")) for item in objects(content)
        ]
        yield call_message(functions)
    elif kind == "ToolCallExecutionEvent":
        for item in objects(content):
            yield result_message(item.get("call_id"), item.get("content"), is_error=item.get("is_error") is True)
    elif kind == "ThoughtEvent":
        yield call_message([], None, content)
    else:
        yield text_message("user" if message.get("source") == "user" else "assistant", content)


def is_smolagents(values: list[Any]) -> bool:
    """Whether values are the steps in the memory of a smolagents agent."""
    return any("step_number" in step and "observations" in step for step in objects(values[:4]))


def read_smolagents(values: list[Any]) -> Iterator[Conversation]:
    """Yield the runs of the agent. The call of `final_answer` is the reply."""
    messages: list[Any] = []
    for step in objects(values):
        if "task" in step:
            messages.append(text_message("user", step["task"]))
        elif "step_number" in step:
            messages += _smolagents_step(step)
        elif "plan" in step:
            messages.append(call_message([], None, step["plan"]))
        elif "system_prompt" in step:
            messages.append(text_message("system", step["system_prompt"]))
    yield Conversation("", messages, [_smolagents_source(step) for step in objects(values)])


def _smolagents_source(step: dict[str, Any]) -> dict[str, Any]:
    """Return a step without its repetitions: the messages of the model, and the call that gives the reply."""
    calls = [
        each for each in objects(step.get("tool_calls")) if object_at(each, "function").get("name") != "final_answer"
    ]
    return {key: value for key, value in step.items() if not key.startswith("model_")} | {"tool_calls": calls}


def _smolagents_step(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    items = [(item.get("id"), object_at(item, "function")) for item in objects(step.get("tool_calls"))]
    requests = [function_call(item_id, inner.get("name"), inner.get("arguments")) for item_id, inner in items]
    calls = [request for request in requests if request["function"].get("name") != "final_answer"]
    if calls:
        yield call_message(calls)
        error = step.get("error")
        yield result_message(calls[0]["id"], error or step.get("observations"), is_error=bool(error))
    if step.get("is_final_answer") or len(calls) < len(requests):
        yield text_message("assistant", step.get("action_output"))
