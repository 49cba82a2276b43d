"""The entries that every dialect finds in messages, and the values of their calls and results."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fairtrial.formats.jsontext import decode_text
from fairtrial.records.record import Record
from fairtrial.records.trace import Message, Part, Step, Usage

_OPENING = ("{", "[")
_NO_BEGINNING = "the messages begin with steps of the agent, so that the message of the user may be missing"

_QUOTE = re.compile(r"For context:\n?(?:\[|\Z)")
"""The beginning of a message in which ADK tells an agent what other agents did. Some dialects join its parts."""


class UserMessage(Record, frozen=True):
    """A message of the user.

    A result of a tool is not a message of the user, even if a provider gives it the user's role.
    """

    message: Message

    @property
    def quotes_agents(self) -> bool:
        """Whether the message only quotes other agents. No user wrote it, so that it is not a turn of the user."""
        return _QUOTE.match(self.message.text) is not None


class Instruction(Record, frozen=True):
    """A text that tells the agent how to behave, for example a system message."""

    text: str


Entry = UserMessage | Instruction | Step | Usage
"""One thing that a message holds. A usage is the usage of the model call that wrote the message."""


def beginning(instructions: list[str]) -> Message:
    """Return the message of the user before steps that begin a conversation. Instructions alone may begin it, too."""
    return Message("", withheld="" if any(instructions) else _NO_BEGINNING)


def read_medium(part: dict[str, Any]) -> Part | None:
    """Return an OpenAI part of type `image_url`, `input_audio` or `file`, or None."""
    kind = part.get("type")
    fields = part.get(kind) if isinstance(kind, str) else None
    if not isinstance(fields, dict):
        return None
    fields = {name: value for name, value in fields.items() if isinstance(value, str)}
    if kind == "image_url":
        return _at(fields.get("url", ""))
    if kind == "input_audio":
        return Part(f"audio/{fields.get('format', '')}", data=fields.get("data", ""))
    if kind == "file":
        medium = _at(fields.get("file_data", fields.get("file_id", "")))
        return msgspec.structs.replace(medium, name=fields.get("filename", ""))
    return None


def _at(url: str) -> Part:
    """Return the content at a URL. A `data:` URL holds its content, for example `data:image/png;base64,AA==`."""
    head, comma, data = url.partition(";base64,")
    return Part(head.removeprefix("data:"), data=data) if comma and head.startswith("data:") else Part(uri=url)


def read_arguments(raw: Any) -> dict[str, Any]:
    """Return arguments from a JSON object or its text. Another value becomes the argument `arguments`."""
    value = raw if type(raw) is dict else read_object(raw)
    return value if isinstance(value, dict) else {"arguments": value}


def read_object(raw: Any) -> Any:
    """Return a decoded JSON text, an empty object for None and for an empty text, and any other value as it is."""
    if raw is None or raw == "":
        return {}
    if isinstance(raw, str):
        try:
            return decode_text(raw)
        except ValueError:
            return raw
    return raw


def read_response(text: str) -> Any:
    """Return the answer of a tool: a decoded JSON object or array, or the text if it is not JSON."""
    if text[:1] not in _OPENING and text.lstrip()[:1] not in _OPENING:  # most texts are no JSON
        return text
    try:
        return decode_text(text)
    except ValueError:
        return text
