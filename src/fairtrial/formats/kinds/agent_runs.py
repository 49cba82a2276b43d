"""Runs of agents: ATIF, AutoGen and smolagents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.chats.assembly import number_at, object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    as_text,
    call_message,
    first_dict,
    function_call,
    media_content,
    objects,
    result_message,
    text_message,
)

_AUTOGEN_TEXTS = ("TextMessage", "StopMessage", "HandoffMessage", "ToolCallSummaryMessage", "MultiModalMessage")
_AUTOGEN_ACTIONS = (
    *("ToolCallRequestEvent", "ToolCallExecutionEvent", "CodeGenerationEvent", "CodeExecutionEvent", "ThoughtEvent"),
    *("MemoryQueryEvent", "UserInputRequestedEvent", "ModelClientStreamingChunkEvent", "SelectSpeakerEvent"),
)
_AUTOGEN_QUIET = ("UserInputRequestedEvent", "ModelClientStreamingChunkEvent", "SelectSpeakerEvent", "SelectorEvent")
"""Events that repeat a message in pieces, or say who speaks next."""
_CODE = "code_executor"
"""The name of the call of code, as AutoGen names its agent for it."""


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
                messages.append(text_message(role, media_content(step.get("message"))))
                continue
            calls = [
                function_call(item.get("tool_call_id"), item.get("function_name"), item.get("arguments"))
                for item in objects(step.get("tool_calls"))
            ]
            messages.append(call_message(calls, media_content(step.get("message")), step.get("reasoning_content")))
            results = objects(object_at(step, "observation").get("results"))
            messages += [result_message(item.get("source_call_id"), item.get("content")) for item in results]
        # A trajectory of an agent that was called as a tool is inside its result.
        own = {key: value for key, value in top.items() if key != "subagent_trajectories"}
        name = text_at(top, "session_id") or text_at(top, "trajectory_id")
        yield Conversation(name, messages, own, incomplete=_find_missing_steps(top))


def _find_missing_steps(top: dict[str, Any]) -> str:
    """Return the reason if a trajectory goes on in another file, or counts more steps or tokens than its steps hold.

    Totals are sums over the steps, and `notes` explain a number of steps or a form that differs (RFC 0001 of Harbor,
    `FinalMetricsSchema` and `notes`). The RFC has no rule for agents that were called as tools, so that totals with
    them say nothing.
    """
    if top.get("continued_trajectory_ref"):
        return f"/continued_trajectory_ref is {as_text(top['continued_trajectory_ref'])}: the rest is in that file"
    steps, totals = list(objects(top.get("steps"))), object_at(top, "final_metrics")
    if "subagent_trajectories" in top or '"subagent_trajectory_ref"' in as_text(steps):
        return ""
    notes = as_text(top.get("notes")).lower()
    total = number_at(totals, "total_steps")
    if total is not None and total > len(steps) and not any(word in notes for word in ("step", "total")):
        return f"/final_metrics/total_steps is {total}, and /steps holds {len(steps)}"
    stated = number_at(totals, "total_completion_tokens")
    agents = [step for step in steps if step.get("source") == "agent"]
    own = [number_at(object_at(step, "metrics"), "completion_tokens") for step in agents]
    counted = sum(tokens for tokens in own if tokens is not None)
    if stated is None or None in own or stated <= counted or any(word in notes for word in ("token", "total")):
        return ""
    return f"/final_metrics/total_completion_tokens is {stated}, and the steps count {counted}"


def is_autogen(values: list[Any]) -> bool:
    """Whether values are messages of AutoGen 0.4, or a task result that holds them."""
    top = first_dict(values)
    inner = first_dict(top["messages"]) if isinstance(top.get("messages"), list) else top
    kind = text_at(inner, "type")
    return "source" in inner and (kind in _AUTOGEN_TEXTS + _AUTOGEN_ACTIONS or kind.startswith("StructuredMessage"))


def read_autogen(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for a list of messages, or for each task result."""
    is_list = "messages" not in first_dict(values)
    for messages in [values] if is_list else [top.get("messages") for top in objects(values)]:
        own = [message for message in objects(messages) if message.get("type") not in _AUTOGEN_QUIET]
        source = [message.get("content", message.get("result")) for message in own]
        yield Conversation("", [entry for message in own for entry in _autogen_message(message)], source)


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
    elif kind == "CodeGenerationEvent":
        yield call_message([function_call("", _CODE, {"code": content})])
    elif kind == "CodeExecutionEvent":
        result = message.get("result")
        failed = object_at(message, "result").get("exit_code") not in (None, 0)
        yield result_message("", object_at(message, "result").get("output", result), is_error=failed)
    elif kind == "ThoughtEvent":
        yield call_message([], None, content)
    elif kind == "MemoryQueryEvent":
        yield text_message("system", as_text([{"text": as_text(item.get("content"))} for item in objects(content)]))
    else:
        yield text_message("user" if message.get("source") == "user" else "assistant", _autogen_content(content))


def _autogen_content(content: Any) -> Any:
    """Return a text, or the parts of texts and images."""
    if not isinstance(content, list):
        return content
    parts = [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image", **part} for part in content]
    return media_content(parts)


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
    output = step.get("model_output")
    thought = as_text(output) if output and output != step.get("action_output") else None
    if calls or thought:
        yield call_message(calls, None, thought)
    if calls:
        error = step.get("error")
        yield result_message(calls[0]["id"], error or step.get("observations"), is_error=bool(error))
    if step.get("is_final_answer") or len(calls) < len(requests):
        yield text_message("assistant", step.get("action_output"))
