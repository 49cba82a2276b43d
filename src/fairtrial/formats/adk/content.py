"""Read messages, thoughts, calls and results of a genai `Content`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from fairtrial.config.spelling import camel, spellings
from fairtrial.formats.adk.usage import read_model, usage
from fairtrial.formats.number_range import finite
from fairtrial.formats.shared_texts import shared
from fairtrial.formats.tool_failures import declares_failure, has_failed, is_failure
from fairtrial.formats.value_shapes import holds_calls
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record, without_defaults
from fairtrial.records.trace import Event, Injection, Message, Part, Step, Thought, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_CONTENT = spellings("parts", "role", "content")
_USUAL = frozenset(("parts", "role"))
_CALL = spellings("id", "name", "args") | {"arguments": "args"}
_RESPONSE = spellings("id", "name", "response")
_FAILURE_FLAGS = ("is_error", "isError", "status")
_EVENT = spellings("author", "content", "grounding_metadata")
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
_CALL_KEYS = frozenset(("calls", *spellings("function_calls", "function_call", "tool_calls", "tool_call", "tool_uses")))
"""Keys of others for the calls of an event."""
_TOKENS = frozenset(("usage_metadata", "usageMetadata"))
_CONTAINERS = (list, dict)
_CALL_FORM = "; the calls of an event stand in 'content': {'parts': [{'function_call': {'name', 'args'}}]}"
_SERVER_CALL = spellings("id", "tool_type", "args")
_SERVER_RESPONSE = spellings("id", "tool_type", "response")
_SERVER_SIDE = {
    **dict.fromkeys(("tool_call", "toolCall"), _SERVER_CALL),
    **dict.fromkeys(("tool_response", "toolResponse"), _SERVER_RESPONSE),
}
"""The parts of calls that Gemini runs itself, for example a search. They have a type, and no name of a tool."""
_BLOB = spellings("mime_type", "data", "display_name")
_FILE = spellings("mime_type", "file_uri", "display_name")
MEDIA_KEYS = frozenset(spellings("inline_data", "file_data"))
_METADATA = ("part_metadata", "partMetadata")
OURS = "fairtrial"
"""The key in the metadata of a part that holds our own fields, for which ADK's schema has no place."""
_ROLES = {role: {"role": role} for role in ("user", "model")}
_S = TypeVar("_S", bound=Message | Thought | ToolCall | ToolResult)


class StepDetails(Record, frozen=True, forbid_unknown_fields=True):
    """Fields of a step for which ADK's schema has no place. A default means "as the reader would read it"."""

    injected: tuple[Injection, ...] = ()
    is_error: bool | None = None
    started: float | None = None
    seconds: float | None = None
    span_id: str = ""
    parent_id: str = ""
    model: str = ""
    withheld: str = ""
    beginning: str = ""


def message(raw: Any, at: Place, reading: Diagnostics, *, role: str) -> Message:
    """Return a user's message or an agent's reply: its text parts joined by newlines, without thoughts.

    `role` is the default role. Everything that a message has no field for stays in `extra`: parts in an unusual order
    or with unusual keys, an unusual `role`, unknown keys.
    """
    if type(raw) is dict:
        parts = raw.get("parts")
        if type(parts) is list and len(parts) == 1 and len(raw) == (2 if raw.get("role") == role else 1):
            part = parts[0]
            if type(part) is dict and type(part.get("text")) is str and (len(part) == 1 or _is_only_text(part)):
                return Message(part["text"])
    return _message(raw, at, reading, role=role)


def _is_only_text(part: dict[str, Any]) -> bool:
    return all(value is None and key in _PART for key, value in part.items() if key != "text")


def _message(raw: Any, at: Place, reading: Diagnostics, *, role: str) -> Message:
    fields, unknown = reading.fields(raw, _CONTENT, at)
    extra = unknown or {}
    given_role = reading.text(fields, "role", at, role)
    # tRPC-Agent-Go writes OpenAI-like messages, `{"role": "assistant", "content": "..."}`.
    if given_role != role and not (given_role == "assistant" and "content" in fields):
        extra["role"] = given_role
    if type(fields.get("content")) is str and "parts" not in fields:
        return Message(fields["content"], extra=extra or None)
    if "content" in fields:
        reading.wrong_type((at, "content"), "a string", fields["content"])
    raw_parts = reading.array(fields, "parts", at)
    parts = [_part(part, ((at, "parts"), i), reading) for i, part in enumerate(raw_parts)]
    details = [_take_details(part, ((at, "parts"), i), reading) for i, part in enumerate(parts)]
    texts = [str(part["text"]) for part in parts if "text" in part and not part.get("thought")]
    media = [medium for part in parts if (medium := _medium(part)) is not None]
    parsed = Message("\n".join(texts), parts=tuple(media))
    if parts_json(parsed) != parts:
        extra["parts"] = parts
    own_fields = next((fields for fields in details if fields is not None), None)
    parsed = replace(parsed, extra=extra or None)
    return parsed if own_fields is None else _with_details(parsed, own_fields)


def parts_json(message: Message) -> list[dict[str, Json]]:
    """Return the parts of a message as ADK writes them: its text, then its other parts."""
    text: list[dict[str, Json]] = [{"text": message.text}] if message.text or not message.parts else []
    return [*text, *(_medium_json(part) for part in message.parts)]


def _medium_json(part: Part) -> dict[str, Json]:
    if part.uri:
        fields = {"mime_type": part.mime_type, "file_uri": part.uri, "display_name": part.name}
        return {"file_data": {key: value for key, value in fields.items() if value}}
    fields = {"mime_type": part.mime_type, "data": part.data, "display_name": part.name}
    return {"inline_data": {key: value for key, value in fields.items() if value}}


def _medium(part: dict[str, Any]) -> Part | None:
    """Return the image, sound or file in a part, or None."""
    for key, spelling, place in (("inline_data", _BLOB, "data"), ("file_data", _FILE, "file_uri")):
        raw = next((part[name] for name in (key, camel(key)) if type(part.get(name)) is dict), None)
        if raw is not None:
            fields = {spelling[name]: value for name, value in raw.items() if name in spelling and type(value) is str}
            content = fields.get(place, "")
            uri, data = (content, "") if place == "file_uri" else ("", content)
            return Part(fields.get("mime_type", ""), uri, data, fields.get("display_name", ""))
    return None


def _part(raw: Any, at: Place, reading: Diagnostics) -> dict[str, Any]:
    """Return a copy of a part without nulls, after a check of its keys."""
    if type(raw) is not dict:
        reading.wrong_type(at, "an object such as {'text': '...'}", raw)
        return {}
    part = {key: value for key, value in raw.items() if value is not None or key not in _PART}
    if not part.keys() <= _PART.keys():
        for key in part.keys() - _PART.keys():
            reading.unknown(at, key, _PART.values(), open_ended=part[key] is None)
    if "text" in part and type(part["text"]) is not str:
        reading.wrong_type((at, "text"), "a string", part["text"])
        part.pop("text")
    if not _SERVER_SIDE.keys().isdisjoint(part):
        for key in _SERVER_SIDE.keys() & part.keys():
            reading.fields(part[key], _SERVER_SIDE[key], (at, key))
    return part


def read_steps(parts: list[Any], author: str, at: Place, reading: Diagnostics) -> list[Step]:
    """Return one step for each part, in order."""
    return [read_step(part, author, (at, i), reading) for i, part in enumerate(parts)]


def read_step(part: Any, author: str, at: Place, reading: Diagnostics) -> Step:
    """Return the step in a part."""
    if type(part) is dict and len(part) == 1:
        ((key, value),) = part.items()
        if key in _READERS and value is not None:
            return _READERS[key](value, (at, key), reading, author=author)  # nearly every part
    return _step(_part(part, at, reading), author, at, reading)


def _step(part: dict[str, Any], author: str, at: Place, reading: Diagnostics) -> Step:
    if "part_metadata" in part or "partMetadata" in part:
        details = _take_details(part, at, reading)
        if details is not None:
            return _with_details(_step(part, author, at, reading), details)
    for key, read in _READERS.items():
        if key in part:
            return read(part.pop(key), (at, key), reading, author=author, beside=part)
    text = part.pop("text", None)
    if text is not None and part.pop("thought", False):
        return Thought(text, author, part or None)
    media = _take_medium(part) if text is None and part else ()
    return Message(text or "", author, part or None, media)


def _take_medium(part: dict[str, Any]) -> tuple[Part, ...]:
    """Return the medium in a part. Its key is taken out of the part if a `Part` can hold all of it."""
    medium = _medium(part)
    if medium is None:
        return ()
    keys = [key for key in part if key in MEDIA_KEYS]
    if len(keys) == 1 and {keys[0]: part[keys[0]]} == _medium_json(medium):
        del part[keys[0]]
    return (medium,)


def _take_details(part: dict[str, Any], at: Place, reading: Diagnostics) -> StepDetails | None:
    """Take the fields that only we write out of the metadata of a part."""
    for key in _METADATA:
        metadata = part.get(key)
        if type(metadata) is dict and OURS in metadata:
            others = {name: value for name, value in metadata.items() if name != OURS}
            part |= {key: others}
            if not others:
                del part[key]
            try:
                return convert(metadata[OURS], StepDetails)
            except msgspec.ValidationError as error:
                reading.error((at, key), f"{OURS}: {error}")
    return None


def _with_details(step: _S, details: StepDetails) -> _S:
    """Return a step with the details that are not at their defaults."""
    values = {name: getattr(details, name) for name in StepDetails.__struct_fields__}
    changes = {name: value for name, value in values.items() if value not in ((), None, "")}
    return replace(step, **{name: value for name, value in changes.items() if hasattr(step, name)})


def details_json(step: Step, event: dict[str, Any] | None = None) -> dict[str, Json]:
    """Return the fields of a step that ADK's schema has no place for, except for the fields that its event states."""
    timestamp, version = _timestamp(event or {}), read_model(event or {})
    is_error = None
    if isinstance(step, ToolResult) and step.is_error is not _has_failed(step.response, step.extra or {}):
        is_error = step.is_error
    details = StepDetails(
        step.injected if isinstance(step, ToolResult) else (),
        is_error,
        None if step.started == timestamp else step.started,
        step.seconds,
        step.span_id,
        step.parent_id,
        "" if isinstance(step, ToolResult) or step.model == version else step.model,
        step.withheld,
        step.beginning,
    )
    fields: dict[str, Json] = without_defaults(details)
    return fields


def _has_failed(response: Json, fields: dict[str, Json]) -> bool:
    return has_failed(response, declares_failure(fields) if fields else None)


def call(
    raw: Any, at: Place, reading: Diagnostics, *, author: str = "", beside: dict[str, Any] | None = None
) -> ToolCall:
    """Return a `FunctionCall`. Absent and null arguments are empty arguments."""
    if type(raw) is dict:
        name, args, call_id = raw.get("name"), raw.get("args"), raw.get("id", "")
        if type(name) is str and type(args) is dict and type(call_id) is str and len(raw) == 2 + ("id" in raw):
            extra = _merge_parts(None, beside) if beside else None
            return ToolCall(shared(name), args, call_id, author, extra)  # nearly every call
    fields, unknown = reading.fields(raw, _CALL, at)
    return ToolCall(
        shared(reading.required(fields, "name", at)),
        reading.mapping(fields, "args", at) or {},
        reading.text(fields, "id", at),
        author,
        _merge_parts(unknown, beside),
    )


def result(
    raw: Any, at: Place, reading: Diagnostics, *, author: str = "", beside: dict[str, Any] | None = None
) -> ToolResult:
    """Return a `FunctionResponse`. Keys that state a failure stay in `extra` to be written back."""
    if type(raw) is dict:
        name, response, call_id = raw.get("name"), raw.get("response"), raw.get("id", "")
        if type(name) is str and type(response) is dict and type(call_id) is str and len(raw) == 2 + ("id" in raw):
            extra = _merge_parts(None, beside) if beside else None
            return ToolResult(shared(name), response, call_id, author, extra, is_error=is_failure(response))
    fields, unknown = reading.fields(raw, _RESPONSE, at, quiet=_FAILURE_FLAGS)
    response = fields.get("response")
    return ToolResult(
        shared(reading.text(fields, "name", at)),
        response,
        reading.text(fields, "id", at),
        author,
        _merge_parts(unknown, beside),
        is_error=_has_failed(response, unknown or {}),
    )


_READERS: dict[str, Callable[..., Step]] = {
    "function_call": call,
    "functionCall": call,
    "function_response": result,
    "functionResponse": result,
}


def _merge_parts(inner: dict[str, Any] | None, beside: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the unknown keys of a call or response, and under `part` the other keys of its part."""
    if not inner and not beside:
        return None
    merged = dict(inner or {})
    if beside:
        merged["part"] = beside
    return merged


def event(raw: Any, at: Place, reading: Diagnostics) -> tuple[Event, list[Step], Usage | None]:
    """Return an event, its steps, and the tokens of its model call if the event is a model call."""
    fields, unknown = reading.fields(raw, _EVENT, at, open_ended=True)
    extra: dict[str, Any] = {}
    for key, value in (unknown or extra).items():
        if value is not None:
            extra[key] = value
        if (
            key not in _TOKENS
            and isinstance(value, _CONTAINERS)
            and ((value and key in _CALL_KEYS) or holds_calls(value, depth=1))
        ):
            reading.unknown(at, key, _EVENT.values(), form=_CALL_FORM)
    author = shared(reading.required(fields, "author", at))
    steps: list[Step] = []
    if "content" in fields:
        content, unusual = fields["content"], None
        if type(content) is not dict or content.keys() != _USUAL or None in content.values():
            content, unusual = reading.fields(content, _CONTENT, (at, "content"))
        if unusual:
            extra["content"] = unusual
        if "role" in content:
            extra["role"] = content["role"]
        if "parts" in content:
            parts = reading.array(content, "parts", (at, "content"))
            steps = read_steps(parts, author, ((at, "content"), "parts"), reading)
    tokens = usage(extra, at, reading)
    timestamp, model = _timestamp(extra) if "timestamp" in extra else None, tokens.model if tokens else ""
    if timestamp is not None or model:
        steps = [_in_event(step, timestamp, model) for step in steps]
    group = Event(author, len(steps), _common_extra(extra) or None, fields.get("grounding_metadata"))
    return group, steps, tokens


def _in_event(step: Step, timestamp: float | None, model: str) -> Step:
    """Return a step with the time and the model of its event, unless the step has its own."""
    started = timestamp if step.started is None else step.started
    if isinstance(step, ToolResult):
        return replace(step, started=started)
    return replace(step, started=started, model=step.model or model)


def _timestamp(event_keys: dict[str, Any]) -> float | None:
    return finite(event_keys.get("timestamp"))


def _common_extra(extra: dict[str, Any]) -> dict[str, Any]:
    """Return a dictionary that all events share if the role is their only key, as in most events."""
    return _ROLES.get(extra["role"], extra) if len(extra) == 1 and type(extra.get("role")) is str else extra
