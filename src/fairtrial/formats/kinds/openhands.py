"""Events of OpenHands: of its first version, of its Software Agent SDK, and of the output of its benchmarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    as_text,
    call_message,
    decode_value,
    first_dict,
    function_call,
    media_content,
    objects,
    result_message,
    text_message,
    unknown_message,
)

_QUIET_ACTIONS = ("recall", "change_agent_state", "null", "condensation", "condensation_request", "start_hook")
_QUIET_OBSERVATIONS = ("recall", "agent_state_changed", "null", "think", "condense")
_OWN_ARGUMENTS = frozenset(
    ("thought", "final_thought", "confirmation_state", "is_confirmed", "hidden", "keep_prompt", "security_risk", "cwd")
)
"""Arguments that the program adds to those of the model."""
_REPEATED = frozenset(("message", "extras", "tool_call_metadata", "llm_metrics"))
"""Keys of an event of the first version that repeat its action or its content in other words."""
_SDK_REPEATED = frozenset(
    (
        *(
            "action",
            "tool_call",
            "observation",
            "summary",
            "thinking_blocks",
            "system_prompt",
            "dynamic_context",
            "tools",
        ),
        *("extended_content", "critic_result", "responses_reasoning_item", "activated_skills", "detail"),
    )
)
"""Keys of an event of the SDK that repeat its call or its message, or stand in the instructions."""
_SDK_ARGUMENTS = ("summary", "security_risk")
"""Arguments that the SDK asks of the model for itself."""
_SPOKEN_TOOLS = ("think", "finish")
_QUIET_EVENTS = frozenset(
    (
        *("PauseEvent", "Condensation", "CondensationRequest", "CondensationSummaryEvent", "TokenEvent"),
        *("ConversationStateUpdateEvent", "LLMCompletionLogEvent", "HookExecutionEvent"),
    )
)


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and "source" in value and ("action" in value or "observation" in value)


def _is_sdk_event(value: Any) -> bool:
    kind = value.get("kind") if isinstance(value, dict) else None
    return isinstance(kind, str) and (kind in _QUIET_EVENTS or kind.endswith("Event")) and "source" in value


def _is_any_event(value: Any) -> bool:
    pair = value[0] if isinstance(value, list) and value else value  # an old history is a list of pairs
    return _is_event(pair) or _is_sdk_event(pair)


def is_openhands(values: list[Any]) -> bool:
    """Whether values are events of OpenHands, or the lines of its output with their history."""
    history = first_dict(values).get("history")
    return _is_any_event(first_dict(values)) or (isinstance(history, list) and any(map(_is_any_event, history[:5])))


def read_openhands(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for a list of events, or for each line of the output."""
    if _is_any_event(first_dict(values)):
        yield _conversation("", values)
        return
    for top in objects(values):
        yield _conversation(text_at(top, "instance_id"), top.get("history"), text_at(top, "error"))


def _conversation(name: str, history: Any, failure: str = "") -> Conversation:
    events = list(_flat(history))
    if any(map(_is_sdk_event, events[:5])):
        failure = failure or next((text_at(event, "detail") for event in reversed(events) if _is_error(event)), "")
        source = [{} if text_at(event, "kind") in _QUIET_EVENTS else _sdk_contents(event) for event in events]
        return Conversation(name, list(_sdk_messages(events)), source, failure=failure)
    source = [{} if _is_quiet(event) else _drop_keys(event, _REPEATED) for event in events]
    return Conversation(name, list(_messages(events)), source, failure=failure)


def _drop_keys(event: dict[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key not in keys}


def _flat(history: Any) -> Iterator[dict[str, Any]]:
    for item in history if isinstance(history, list) else ():
        yield from objects(item if isinstance(item, list) else [item])


def _is_quiet(event: dict[str, Any]) -> bool:
    return event.get("action") in _QUIET_ACTIONS or event.get("observation") in _QUIET_OBSERVATIONS


def _messages(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    last_call: Any = None
    for number, event in enumerate(events):
        args, action = object_at(event, "args"), text_at(event, "action")
        if _is_quiet(event):
            continue
        if "observation" in event:
            cause = event.get("cause") if event.get("cause") is not None else last_call
            yield result_message(cause, event.get("content"), is_error=event.get("observation") == "error")
        elif action == "message":
            yield text_message("user" if event.get("source") == "user" else "assistant", args.get("content"))
        elif action == "system":
            yield text_message("system", args.get("content"))
        elif action == "think":
            yield call_message([], None, args.get("thought"))
        elif action == "finish":
            outputs = object_at(args, "outputs")
            reply = text_at(args, "final_thought") or outputs.get("content") or text_at(args, "thought")
            yield text_message("assistant", reply or event.get("message"))
        else:
            last_call = event.get("id", f"event-{number}")
            own = {key: value for key, value in args.items() if key not in _OWN_ARGUMENTS}
            yield call_message([function_call(last_call, action, own)], None, args.get("thought"))


def _is_error(event: dict[str, Any]) -> bool:
    return event.get("kind") == "ConversationErrorEvent"


def _sdk_contents(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event without its repetitions. The call of a thought or of the reply is a text."""
    own = _drop_keys(event, _SDK_REPEATED)
    is_call = event.get("kind") == "ActionEvent" and event.get("tool_name") not in _SPOKEN_TOOLS
    return {**own, "arguments": _sdk_arguments(event)} if is_call else own


def _sdk_arguments(event: dict[str, Any]) -> Any:
    """Return the arguments that the model wrote, without those that the SDK asks for itself."""
    request = object_at(event, "tool_call")
    inner = object_at(request, "function") or request
    arguments = decode_value(inner.get("arguments", event.get("action")))
    ignored = _SDK_ARGUMENTS if "arguments" in inner else (*_SDK_ARGUMENTS, "kind")
    if not isinstance(arguments, dict):
        return arguments
    return {key: value for key, value in arguments.items() if key not in ignored}


def _read_result(event: dict[str, Any]) -> Any:
    """Return the result of a tool: its text, or the object without the kind of its class."""
    observation = event.get("observation")
    if not isinstance(observation, dict):
        return observation
    for key in ("content", "output", "text"):
        if observation.get(key):
            return observation[key]
    return {key: value for key, value in observation.items() if key != "kind"}


def _sdk_messages(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        kind, tool, call_id = text_at(event, "kind"), text_at(event, "tool_name"), event.get("tool_call_id")
        if kind in _QUIET_EVENTS or _is_error(event):
            continue
        if kind == "SystemPromptEvent":
            yield text_message("system", object_at(event, "system_prompt").get("text"))
        elif kind == "MessageEvent":
            role = {"user": "user", "environment": "system"}.get(text_at(event, "source"), "assistant")
            yield text_message(role, media_content(object_at(event, "llm_message").get("content")))
        elif kind == "ActionEvent":
            yield from _sdk_action(event, tool)
        elif kind == "ObservationEvent":
            if tool not in _SPOKEN_TOOLS:
                failed = object_at(event, "observation").get("is_error") is True
                yield result_message(call_id, _read_result(event), is_error=failed)
        elif kind in ("AgentErrorEvent", "UserRejectObservation"):
            yield result_message(call_id, event.get("error") or event.get("rejection_reason"), is_error=True)
        else:
            yield unknown_message(f"an event of the kind {kind!r}")


def _sdk_action(event: dict[str, Any], tool: str) -> Iterator[dict[str, Any]]:
    action = object_at(event, "action")
    thoughts = [as_text(event.get("thought") or None), as_text(event.get("reasoning_content"))]
    if tool == "think":
        thoughts.append(text_at(action, "thought"))
    thought = "\n".join(filter(None, thoughts))
    if tool not in _SPOKEN_TOOLS:
        yield call_message([function_call(event.get("tool_call_id"), tool, _sdk_arguments(event))], None, thought)
    elif thought:
        yield call_message([], None, thought)
    if tool == "finish":
        yield text_message("assistant", action.get("message"))
