"""Which messages, thoughts, calls and results does a genai `Content` hold?"""

from __future__ import annotations

from collections.abc import Callable
from sys import intern
from typing import Any

import msgspec

from fairtrial.config.spelling import spellings
from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.records.trace import Event, Injection, Message, Step, Thought, ToolCall, ToolResult, Usage

_CONTENT = spellings("parts", "role", "content")
_CALL = spellings("id", "name", "args") | {"arguments": "args"}
_RESPONSE = spellings("id", "name", "response")
_EVENT = spellings("author", "content")
_PART = spellings(
    "text",
    "thought",
    "thought_signature",
    "function_call",
    "function_response",
    "inline_data",
    "file_data",
    "executable_code",
    "code_execution_result",
    "video_metadata",
    "media_resolution",
    "part_metadata",
    "tool_call",
    "tool_response",
)
_USAGE = {
    "prompt_token_count": "prompt_tokens",
    "candidates_token_count": "candidates_tokens",
    "thoughts_token_count": "thoughts_tokens",
    "tool_use_prompt_token_count": "tool_use_prompt_tokens",
    "cached_content_token_count": "cached_tokens",
}
_USAGE_KEYS = {spelling: _USAGE[name] for spelling, name in spellings(*_USAGE).items()}
INJECTED = "fairtrial_injected"
"""The key in a part's metadata that says what a simulated environment did to a result."""
_ROLES = {role: {"role": role} for role in ("user", "model")}


def message(raw: Any, at: Place, reading: Diagnostics, *, role: str) -> Message:
    """Return a user's message or an agent's reply: its text parts joined by newlines, thoughts left out.

    `role` is the role that goes without saying. Whatever a plain text does not say is kept in `extra`: `parts` as they
    were, an unusual `role`, unknown keys.
    """
    if type(raw) is dict:
        parts = raw.get("parts")
        if type(parts) is list and len(parts) == 1 and len(raw) == (2 if raw.get("role") == role else 1):
            part = parts[0]
            if type(part) is dict and type(part.get("text")) is str and _only_text(part):
                return Message(part["text"])
    return _message(raw, at, reading, role=role)


def _only_text(part: dict[str, Any]) -> bool:
    return len(part) == 1 or all(value is None and key in _PART for key, value in part.items() if key != "text")


def _message(raw: Any, at: Place, reading: Diagnostics, *, role: str) -> Message:
    known, extra = reading.fields(raw, _CONTENT, at)
    extra = extra or {}
    given_role = reading.text(known, "role", at, role)
    # tRPC-Agent-Go writes OpenAI-like messages, `{"role": "assistant", "content": "..."}`.
    if given_role != role and not (given_role == "assistant" and "content" in known):
        extra["role"] = given_role
    if type(known.get("content")) is str and "parts" not in known:
        return Message(known["content"], extra=extra or None)
    if "content" in known:
        reading.wanted((at, "content"), "a string", known["content"])
    parts = [_part(part, ((at, "parts"), i), reading) for i, part in enumerate(reading.array(known, "parts", at))]
    texts = [str(part["text"]) for part in parts if "text" in part and not part.get("thought")]
    if len(parts) != 1 or parts[0] != {"text": texts[0] if texts else None}:
        extra["parts"] = parts
    return Message("\n".join(texts), extra=extra or None)


def _part(raw: Any, at: Place, reading: Diagnostics) -> dict[str, Any]:
    if type(raw) is not dict:
        reading.wanted(at, "an object such as {'text': '...'}", raw)
        return {}
    part = {key: value for key, value in raw.items() if value is not None or key not in _PART}
    for key in part.keys() - _PART.keys():
        reading.unknown(at, key, _PART.values(), quiet=True)
    if "text" in part and type(part["text"]) is not str:
        reading.wanted((at, "text"), "a string", part["text"])
        part.pop("text")
    return part


def steps_of(parts: list[Any], author: str, at: Place, reading: Diagnostics) -> list[Step]:
    """Return one step for each part, in order."""
    return [_step(_part(part, (at, i), reading), author, (at, i), reading) for i, part in enumerate(parts)]


def _step(part: dict[str, Any], author: str, at: Place, reading: Diagnostics) -> Step:
    for key, read in _READERS.items():
        if key in part:
            return read(part.pop(key), (at, key), reading, author=author, beside=part)
    text = part.pop("text", None)
    if text is not None and part.pop("thought", False):
        return Thought(text, author, part or None)
    return Message(text or "", author, part or None)


def call(
    raw: Any, at: Place, reading: Diagnostics, *, author: str = "", beside: dict[str, Any] | None = None
) -> ToolCall:
    """Return a `FunctionCall`; absent and null arguments are no arguments."""
    known, extra = reading.fields(raw, _CALL, at)
    return ToolCall(
        intern(reading.required(known, "name", at)),
        reading.mapping(known, "args", at) or {},
        reading.text(known, "id", at),
        author,
        _both(extra, beside),
    )


def result(
    raw: Any, at: Place, reading: Diagnostics, *, author: str = "", beside: dict[str, Any] | None = None
) -> ToolResult:
    """Return a `FunctionResponse`."""
    known, extra = reading.fields(raw, _RESPONSE, at)
    injected = _injected(beside, at, reading) if beside else ()
    return ToolResult(
        intern(reading.text(known, "name", at)),
        known.get("response"),
        reading.text(known, "id", at),
        author,
        _both(extra, beside),
        injected,
    )


_READERS: dict[str, Callable[..., Step]] = {
    "function_call": call,
    "functionCall": call,
    "function_response": result,
    "functionResponse": result,
}


def _injected(beside: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Injection, ...]:
    """Take what was injected out of a part's metadata, where we wrote it."""
    for key in ("part_metadata", "partMetadata"):
        metadata = beside.get(key)
        if type(metadata) is dict and INJECTED in metadata:
            left = {name: value for name, value in metadata.items() if name != INJECTED}
            beside |= {key: left}
            if not left:
                del beside[key]
            try:
                return msgspec.convert(metadata[INJECTED], tuple[Injection, ...])
            except msgspec.ValidationError as error:
                reading.error((at[0], key), f"{INJECTED}: {error}")
    return ()


def _both(inner: dict[str, Any] | None, beside: dict[str, Any] | None) -> dict[str, Any] | None:
    """What stood inside the call or response, and what stood beside it in its part (under `part`)."""
    merged = dict(inner or {})
    if beside:
        merged["part"] = beside
    return merged or None


def event(raw: Any, at: Place, reading: Diagnostics) -> tuple[Event, list[Step], Usage | None]:
    """Return one event's grouping, its steps, and the tokens of its model call if it was one."""
    known, extra = reading.fields(raw, _EVENT, at, open_ended=True)
    author = intern(reading.required(known, "author", at))
    extra = {key: value for key, value in (extra or {}).items() if value is not None}
    steps: list[Step] = []
    if "content" in known:
        content, unusual = reading.fields(known["content"], _CONTENT, (at, "content"))
        if unusual:
            extra["content"] = unusual
        if "role" in content:
            extra["role"] = content["role"]
        if "parts" in content:
            parts = reading.array(content, "parts", (at, "content"))
            steps = steps_of(parts, author, ((at, "content"), "parts"), reading)
    return Event(author, len(steps), _shared(extra) or None), steps, usage(extra, at, reading)


def _shared(extra: dict[str, Any]) -> dict[str, Any]:
    """What nearly every event says beyond our fields is its role: all of them may say so in one dictionary."""
    return _ROLES.get(extra["role"], extra) if len(extra) == 1 and type(extra.get("role")) is str else extra


def usage(event_keys: dict[str, Any], at: Place, reading: Diagnostics) -> Usage | None:
    """Return the tokens of an event that tells of a model call by its usage or its model's version, else None."""
    metadata = event_keys.get("usage_metadata", event_keys.get("usageMetadata"))
    model = event_keys.get("model_version", event_keys.get("modelVersion"))
    if metadata is None and model is None:
        return None
    if metadata is not None and type(metadata) is not dict:
        reading.wanted((at, "usage_metadata"), "an object", metadata)
        metadata = None
    counts: dict[str, int] = {}
    for key, value in (metadata or {}).items():
        if key in _USAGE_KEYS and value is not None:
            if type(value) is int and value >= 0:
                counts[_USAGE_KEYS[key]] = value
            else:
                reading.wanted(((at, "usage_metadata"), key), "a whole number, 0 or more", value)
    return Usage(model=model if isinstance(model, str) else "", **counts)
