"""Read message entries in spans of OpenTelemetry's GenAI conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import text_at
from fairtrial.formats.chats.dialects import detect_dialect
from fairtrial.formats.chats.openai_messages import openai_entries
from fairtrial.formats.chats.otel_messages import OTEL, whole_answers
from fairtrial.formats.dialects.attributes import entries_by, output_steps
from fairtrial.formats.dialects.repeated_json import repeated_items
from fairtrial.formats.spans.span_values import structured

if TYPE_CHECKING:
    from fairtrial.formats.message_entries import Entry
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Step


def read_entries(raw: Json, reading: Diagnostics) -> tuple[Entry, ...] | None:
    """Return the entries of messages, or None if the messages are absent."""
    messages = None if raw is None else repeated_items(raw)
    return tuple(entries_by(_entries, messages, reading)) if isinstance(messages, list) else None


def read_answer(raw: Json, choices: int, reading: Diagnostics) -> tuple[tuple[Step, ...] | None, str]:
    """Return the steps of an answer, or None if the messages are absent, and why the model stopped.

    If the agent asked for several choices, each message is an alternative, and the first counts.
    """
    messages = None if raw is None else structured(raw)
    if not isinstance(messages, list):
        return None, ""
    messages = list(whole_answers(messages)) if len(messages) > 1 else messages
    counting = messages[:1] if choices > 1 else messages
    reasons = (text_at(message, "finish_reason") for message in counting if isinstance(message, dict))
    return output_steps(entries_by(_entries, counting, reading)), next(filter(None, reasons), "")


def read_instructions(raw: Json) -> str:
    """Return instructions: a text, or parts with texts."""
    value = "" if raw is None else structured(raw)
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    texts = [part.get("content", part.get("text")) for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _entries(message: dict[str, Any], at: Place, reading: Diagnostics) -> list[Entry]:
    """Return the entries of a message. Some instrumentations write the messages of a provider in its place."""
    if isinstance(structured(message.get("parts")), list):
        return list(OTEL.entries(message, at, reading))
    dialect = detect_dialect([message])
    return list((openai_entries if dialect is None else dialect.entries)(message, at, reading))
