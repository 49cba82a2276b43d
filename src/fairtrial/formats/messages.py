"""Read OpenAI chat messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fairtrial.formats.accounting import account, is_plain
from fairtrial.formats.message_entries import Entry, UserMessage, beginning, read_medium, read_object, read_response
from fairtrial.formats.tool_failures import declares_failure, has_failed
from fairtrial.records.trace import (
    About,
    AgentDetails,
    Invocation,
    Message,
    Part,
    Step,
    Thought,
    ToolCall,
    ToolResult,
    Trace,
    one_message,
    split_reply,
)

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_PARTS = ("text", "refusal", "image_url", "input_audio", "file", "thinking")
"""The types of parts. `thinking` is Mistral's, which otherwise writes messages as OpenAI does."""
_Step = TypeVar("_Step", Message, ToolCall, ToolResult)
_ONLY_TEXT = 2
_NO_PLACE_FOR_CALLS = "no message has a key for calls, such as `tool_calls`"


def is_message(value: Any) -> bool:
    """Whether a value looks like a chat message."""
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "user_content" not in value


def with_unknown_steps(session: Trace, raw: list[Any]) -> Trace:
    """Return a trace of messages that hold texts alone, and so say nothing of calls. Other traces stay as they are.

    Steps of texts stay, so that the trace is incomplete.
    """
    if any(map(_tells_of_tools, raw)):
        return session
    invocations = [
        invocation if invocation.steps else msgspec.structs.replace(invocation, steps=None)
        for invocation in session.invocations
    ]
    gap = _NO_PLACE_FOR_CALLS if any(invocation.steps for invocation in invocations) else ""
    return msgspec.structs.replace(session, invocations=tuple(invocations), incomplete=session.incomplete or gap)


def _tells_of_tools(message: Any) -> bool:
    """Whether a message shows that the recording keeps calls of tools."""
    if not isinstance(message, dict):
        return False
    return message.get("role") in ("tool", "function") or "tool_calls" in message or "function_call" in message


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message as OpenAI writes it. koog writes calls as the content, later with the role of the tool."""
    calls = calls_in(message.get("content"))
    return {**message, "role": "assistant", "content": None, "tool_calls": calls} if calls else message


def calls_in(content: Any) -> list[Any]:
    """Return the calls of functions that are the content of a message, or nothing if any of it is something else."""
    parts = content if type(content) is list else [content]
    return parts if all(map(_is_call, parts)) else []


def _is_call(part: Any) -> bool:
    function = part.get("function") if isinstance(part, dict) and part.get("type") == "function" else None
    return isinstance(function, dict) and "name" in function and "arguments" in function


def trace(
    raw: list[Any],
    at: Place,
    reading: Diagnostics,
    *,
    instructions: str = "",
    declarations: tuple[dict[str, Any], ...] = (),
) -> Trace:
    """Return the messages as invocations. A user's message starts an invocation, the assistant's last text ends it.

    Messages of the user that follow one another are one message. Texts of the assistant before the first message of the
    user are the opening of the trace, for example a greeting. `instructions` and `declarations` are the agent's
    instructions and tools that stand beside the messages.
    """
    texts = [instructions] if instructions else []
    invocations: list[Invocation] = []
    opening: tuple[Message, ...] = ()
    user: list[Message] = []
    steps: list[Step] = []
    names: dict[str, str] = {}
    for i, item in enumerate(raw):
        place, message = (at, i), item
        if type(message) is not dict or message.get("role") not in ROLES:
            reading.wrong_type(place, f"a message with a role of {', '.join(ROLES)}", message)
            continue
        content = message.get("content")
        if content is not None and type(content) is not str:
            message = plain(message)
            content = message.get("content")
        role, text = message["role"], extract_text(content, (place, "content"), reading)
        if role in ("system", "developer"):
            texts.append(text)
        elif role == "user":
            if steps and (user or not all(isinstance(step, Message) for step in steps)):
                invocations.append(_invocation(user or [beginning(texts)], steps))
                user, steps = [], []
            elif not user:
                opening, steps = tuple(step for step in steps if isinstance(step, Message)), []
            user.append(_user_message(message, text, place, reading))
        elif _is_only_text(message) and role == "assistant":
            steps.append(Message(text))
        else:
            own_steps = steps_in(message, role, text, place, reading, names)
            steps += own_steps if is_plain(message) else _account_steps(message, own_steps, place, reading)
    invocations += [_invocation(user or [beginning(texts)], steps)] if user or steps else []
    agent = AgentDetails("assistant", "\n".join(texts), declarations)
    if invocations and (texts or declarations):
        invocations[0] = msgspec.structs.replace(invocations[0], about=About((agent,)))
    return Trace(tuple(invocations), opening=opening)


def _user_message(message: dict[str, Any], text: str, at: Place, reading: Diagnostics) -> Message:
    if _is_only_text(message):
        return Message(text)
    own = _with_gap(Message(text, parts=read_media(message.get("content"))), message)
    if is_plain(message):
        return own
    entries = account(message, [UserMessage(own)], at, reading)
    return next((entry.message for entry in entries if isinstance(entry, UserMessage)), own)


def _is_only_text(message: dict[str, Any]) -> bool:
    """Whether a message holds nothing but its role and a text, as most do."""
    return len(message) == _ONLY_TEXT and type(message.get("content")) is str


def _account_steps(message: dict[str, Any], steps: list[Step], at: Place, reading: Diagnostics) -> list[Step]:
    entries: list[Entry] = [*steps]
    return [entry for entry in account(message, entries, at, reading) if isinstance(entry, Step)]


def read_steps(raw: list[Any], at: Place, reading: Diagnostics) -> list[Step]:
    """Return the steps of the assistant and its tools in a list of messages. Other messages are skipped."""
    steps: list[Step] = []
    names: dict[str, str] = {}
    for i, message in enumerate(raw):
        place = (at, i)
        if type(message) is not dict or message.get("role") not in ROLES:
            reading.wrong_type(place, f"a message with a role of {', '.join(ROLES)}", message)
        elif message["role"] in ("assistant", "tool", "function"):
            text = extract_text(message.get("content"), (place, "content"), reading)
            own_steps = steps_in(message, message["role"], text, place, reading, names)
            steps += own_steps if is_plain(message) else _account_steps(message, own_steps, place, reading)
    return steps


def _invocation(user: list[Message], steps: list[Step]) -> Invocation:
    steps_before, reply = split_reply(steps)
    return Invocation(one_message(user), steps_before, reply)


def extract_text(content: Any, at: Place, reading: Diagnostics) -> str:
    """Return the text of a message: a string, or parts."""
    if content is None or type(content) is str:
        return content or ""
    if type(content) is list:
        for i, part in enumerate(content):
            _check_part(part, (at, i), reading)
        return "\n".join(
            str(part.get("text", part.get("refusal", ""))) for part in content if _kind(part) in ("text", "refusal")
        )
    reading.wrong_type(at, "a string, an array of parts or null", content)
    return ""


def _kind(part: Any) -> Any:
    """Return the type of a part. A part with a text needs no type."""
    if not isinstance(part, dict):
        return None
    return part.get("type", "text" if "text" in part else None)


def _check_part(part: Any, at: Place, reading: Diagnostics) -> None:
    """Note a part that OpenAI does not have. It may be a call of another provider, which must not vanish."""
    if _kind(part) not in _PARTS:
        problem = f"is a part of the type {_kind(part)!r}" if isinstance(part, dict) and "type" in part else "is a part"
        reading.error(at, f"{problem}, which OpenAI chat messages do not have; known are {', '.join(_PARTS)}")


def read_media(content: Any) -> tuple[Part, ...]:
    """Return the images, sounds and files among the parts of a message."""
    if type(content) is not list:
        return ()
    return tuple(medium for part in content if isinstance(part, dict) and (medium := read_medium(part)) is not None)


def _read_speech(audio: Any) -> tuple[str, tuple[Part, ...]]:
    """Return the transcript and the sound of a spoken reply. Its type is that of its first bytes."""
    if not isinstance(audio, dict):
        return "", ()
    data, transcript = audio.get("data"), audio.get("transcript")
    sound: tuple[Part, ...] = ()
    if isinstance(data, str) and data:
        kind = "wav" if data.startswith("UklGR") else "mpeg" if data.startswith(("SUQz", "//")) else "unknown"
        sound = (Part(f"audio/{kind}", data=data),)
    return transcript if isinstance(transcript, str) else "", sound


def steps_in(
    message: dict[str, Any], role: str, text: str, at: Place, reading: Diagnostics, names: dict[str, str]
) -> list[Step]:
    """Return the steps in a message of the assistant or of a tool. `names` keeps the names of calls by their ids."""
    if role in ("tool", "function"):
        call_id = str(message.get("tool_call_id") or "")
        name, response = str(message.get("name") or names.get(call_id, "")), read_response(text)
        failed = has_failed(response, declares_failure(message))
        return [_with_gap(ToolResult(name, response, call_id, is_error=failed), message)]
    steps: list[Step] = []
    if isinstance(message.get("reasoning_content"), str):
        steps.append(Thought(message["reasoning_content"]))
    content = message.get("content")
    if type(content) is list:
        steps += _thoughts(content)
    calls = reading.array(message, "tool_calls", at) if "tool_calls" in message else []
    if message.get("function_call"):
        calls = [*calls, {"function": message["function_call"]}]
    transcript, sound = _read_speech(message["audio"]) if "audio" in message else ("", ())
    text, media = text or transcript, (*read_media(content), *sound)
    is_thought = bool(steps) and content is None
    if text or media or not (calls or is_thought):
        steps.append(_with_gap(Message(text, parts=media), message))
    for i, call in enumerate(calls):
        place = ((at, "tool_calls"), i)
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            reading.wrong_type(place, "a call {'id': ..., 'function': {'name': ..., 'arguments': '...'}}", call)
            continue
        call_id = str(call.get("id") or "")
        names[call_id] = function["name"]
        args = _arguments(function.get("arguments"), place, reading)
        steps.append(_with_gap(ToolCall(function["name"], args, call_id), call))
    author = message.get("name")
    if not isinstance(author, str) or not author:
        return steps
    return [msgspec.structs.replace(step, author=author) for step in steps]


def _with_gap(step: _Step, message: dict[str, Any]) -> _Step:
    """Return a step whose content is missing if our own export says so, with the reason."""
    reason = message.get("withheld")
    if not isinstance(reason, str) or not reason:
        return step
    beginning = message.get("beginning")
    step = msgspec.structs.replace(step, withheld=reason, beginning=beginning if isinstance(beginning, str) else "")
    return msgspec.structs.replace(step, response=None) if isinstance(step, ToolResult) else step


def _thoughts(parts: list[Any]) -> list[Step]:
    """Return the thoughts among the parts of a message, for example `{"type": "thinking", "thinking": [...]}`."""
    texts = [part["thinking"] for part in parts if _kind(part) == "thinking" and "thinking" in part]
    return [Thought(_join_items(text)) for text in texts]


def _join_items(text: Any) -> str:
    inner = text if isinstance(text, list) else [{"text": text}]
    return "\n".join(str(part.get("text", "")) for part in inner if isinstance(part, dict))


def _arguments(raw: Any, at: Place, reading: Diagnostics) -> dict[str, Any]:
    value = read_object(raw)
    if isinstance(value, dict):
        return value
    reading.warning(at, "the arguments are not a JSON object; kept as the single argument 'arguments'")
    return {"arguments": value}
