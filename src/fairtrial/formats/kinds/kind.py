"""A kind of log, and the messages that its converter makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from fairtrial.formats.jsontext import decode_text

_MISSING = "the log does not hold this content"
UNKNOWN = "unknown"
"""The role of a message that stands for an event that no reader knows."""


class Conversation(NamedTuple):
    """A conversation as messages. `keeps_calls` says that the log would hold calls, so that no call means none.

    `source` are the values of the log that the conversation came from, and `failure` is why it broke, or empty.
    `incomplete` is the reason for which a part of the conversation may be missing.
    """

    id: str
    messages: list[Any]
    source: Any
    keeps_calls: bool = True
    failure: str = ""
    incomplete: str = ""


class Kind(NamedTuple):
    """A kind of log: its name, its sample, the values that it knows, and the conversations in them.

    The values are the lines of JSON lines, the items of an array, or a document alone. `in_order` says that they are
    the records of a conversation, each once and in the order of their times.
    """

    name: str
    sample: str
    is_kind: Callable[[list[Any]], bool]
    read: Callable[[list[Any]], Iterable[Conversation]]
    in_order: bool = False


def first_dict(values: Any) -> dict[str, Any]:
    """Return the first value of a list if it is an object, or an empty object."""
    return values[0] if isinstance(values, list) and values and isinstance(values[0], dict) else {}


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list, or nothing."""
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def as_text(value: Any) -> str:
    """Return a text as it is, parts with texts joined, and other data as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and value and all(isinstance(part, dict) and "text" in part for part in value):
        return "\n".join(str(part["text"]) for part in value)
    return msgspec.json.encode(value).decode()


def decode_object(value: Any) -> dict[str, Any]:
    """Return an object, or the object in a JSON text. It is empty for anything else."""
    inner = decode_value(value)
    return inner if isinstance(inner, dict) else {}


def decode_value(value: Any) -> Any:
    """Return the value in a JSON text, or the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            return decode_text(value)
    return value


def media_content(content: Any) -> Any:
    """Return a content whose images are parts of OpenAI. Each kind of log writes them in its own way."""
    if not isinstance(content, list) or not any(map(_image_url, content)):
        return content
    return [
        {"type": "image_url", "image_url": {"url": url}} if (url := _image_url(part)) else {"type": "text", **part}
        for part in objects(content)
    ]


def _image_url(part: Any) -> str:
    """Return the URL of an image, or an empty text for any other part."""
    if not isinstance(part, dict) or part.get("type") not in ("image", "file"):
        return ""
    source = part.get("source")
    holder = source if isinstance(source, dict) and "url" not in part and "data" not in part else part
    data, mime = holder.get("data"), holder.get("mimeType") or holder.get("media_type") or holder.get("mime") or ""
    if isinstance(data, str) and data:
        return f"data:{mime};base64,{data}"
    return next((holder[key] for key in ("url", "path") if isinstance(holder.get(key), str)), "")


def text_message(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    """Return a message. Without a content, it is withheld."""
    message = {"role": role, "content": content if isinstance(content, list) else as_text(content), **fields}
    return {**message, "withheld": _MISSING} if content is None else message


def unknown_message(name: str) -> dict[str, Any]:
    """Return a message in the place of an event or a part that no reader knows. The file is refused with its name."""
    return {"role": UNKNOWN, "content": name}


def function_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """Return a call of a tool. A call without a name is refused by the reader of messages."""
    function = {"arguments": as_text(arguments)}
    if isinstance(name, str) and name:
        function["name"] = name
    request = {"id": str(call_id or ""), "type": "function", "function": function}
    return {**request, "withheld": _MISSING} if arguments is None else request


def call_message(calls: list[dict[str, Any]], text: Any = None, thought: Any = None) -> dict[str, Any]:
    """Return a message of the agent with calls, its text and its thought."""
    content = text if isinstance(text, list) and text else as_text(text) or None
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = calls
    return {**message, "reasoning_content": as_text(thought)} if thought else message


def result_message(call_id: Any, content: Any, *, is_error: bool = False) -> dict[str, Any]:
    """Return the result of a call."""
    message = {"role": "tool", "tool_call_id": str(call_id or ""), "content": as_text(content)}
    if content is None:
        message["withheld"] = _MISSING
    return {**message, "is_error": True} if is_error else message
