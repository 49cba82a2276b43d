"""Read conversations from message tables. Each row is a message, and names its conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats import messages
from fairtrial.formats.chats.dialects import conversation, is_message
from fairtrial.formats.datasets.column_roles import holds_cases
from fairtrial.formats.jsontext import decode_text

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.attempt import Recording

KIND = "rows of messages"
_IDS = (
    *("conversation_id", "conversationId", "session_id", "sessionId", "thread_id", "threadId"),
    *("chat_id", "chatId", "dialog_id", "dialogue_id", "conv_id"),
)
_ORDER = ("message_index", "turn_index", "position", "seq", "sequence", "created_at", "createdAt", "timestamp")
"""The columns that say in which order the messages of a conversation came."""
_JSON_COLUMNS = ("tool_calls", "content", "parts")


def are_rows(items: list[Any]) -> bool:
    """Whether the first item is a message that names its conversation.

    Some frameworks write the id into each message. A list of one conversation is then an ordinary list of messages.
    """
    first = items[0] if items else None
    if not isinstance(first, dict) or not is_message(first) or not (column := _id_column(first)):
        return False
    ids = {str(item.get(column)) for item in items if isinstance(item, dict)}
    return messages.is_message(first) or len(ids) > 1


def is_row(row: Any) -> bool:
    """Whether a row of a table is a message that names its conversation, and no case."""
    return isinstance(row, dict) and messages.is_message(row) and bool(_id_column(row)) and not holds_cases(row)


def _id_column(row: dict[str, Any]) -> str:
    return next((name for name in _IDS if isinstance(row.get(name), str | int)), "")


def read_rows(rows: list[Any], reading: Diagnostics) -> tuple[Recording, ...]:
    """Return a recording for each conversation, in the order of their first messages."""
    column = _id_column(rows[0])
    groups: dict[str, list[dict[str, Any]]] = {}
    for i, row in enumerate(rows):
        if is_message(row) and isinstance(row.get(column), str | int):
            groups.setdefault(str(row[column]), []).append(_message(row))
        else:
            reading.wrong_type(((), i), f"a message with {column!r}, as the first row is", row)
    return tuple(conversation(_in_order(group), ((), name), reading, name=name) for name, group in groups.items())


def _message(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as a message. A table keeps structured columns as JSON text, and empty columns as null."""
    message = {name: value for name, value in row.items() if value is not None and value != ""}
    for name in _JSON_COLUMNS:
        value = message.get(name)
        if isinstance(value, str) and value[:1] == "[":
            try:
                parts = decode_text(value)
            except ValueError:
                continue
            if parts and all(isinstance(part, dict) and "type" in part for part in parts):
                message[name] = parts
    return message


def _in_order(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages of a conversation by the column that orders them, or as they stand in the file."""
    for name in _ORDER:
        keys = [message.get(name) for message in group]
        if all(isinstance(key, str) and key.isdecimal() for key in keys):  # a text file has no numbers
            return sorted(group, key=lambda message: int(message[name]))
        for kind in (str, int | float):
            if all(isinstance(key, kind) for key in keys):
                return sorted(group, key=lambda message: message[name])
    return group
