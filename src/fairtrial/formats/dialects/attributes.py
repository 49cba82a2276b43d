"""Read messages, tool answers and numbers in span attributes, for all dialects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fairtrial.errors import FormatError
from fairtrial.formats.chats import dialects as chats
from fairtrial.formats.chats.assembly import response
from fairtrial.formats.chats.dialects import choose_dialect
from fairtrial.formats.chats.message_keys import note_held_contents
from fairtrial.formats.chats.openai_messages import openai_entries
from fairtrial.formats.dialects.hidden_contents import MARKS
from fairtrial.formats.dialects.repeated_json import RepeatedJson, plain
from fairtrial.formats.message_entries import Entry, Instruction, UserMessage, read_arguments
from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.formats.spans.span_values import structured, whole_number
from fairtrial.formats.tool_failures import declares_failure
from fairtrial.records.trace import Message, Step, Usage

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.record import Json

UNREAD_MESSAGE = "a message in a span was not read in full"
_LONGEST_PATH = 20
_NOT_STEPS = (UserMessage, Instruction, Usage)


def chat_entries(messages: Json, reading: Diagnostics) -> list[Entry]:
    """Return the entries of messages of any provider, for example of OpenAI or Bedrock.

    A message or a part that nobody knows is a warning: one odd part must not make a whole body of data unreadable.
    """
    raw = messages if isinstance(messages, list) else [messages]
    values = list(map(plain, raw))
    trial = Diagnostics(reading.path)
    dialect = choose_dialect(chats.detect_dialect(values), values, (), trial)
    note_unread(trial.errors, reading)
    return entries_by(openai_entries if dialect is None else dialect.entries, raw, reading)


def entries_by(
    read_entries: Callable[[dict[str, Any], Place, Diagnostics], Iterable[Entry]], raw: list[Any], reading: Diagnostics
) -> list[Entry]:
    """Return the entries that the reader of a dialect finds in messages, with warnings as `chat_entries` has.

    If a message was not read in full, an entry without content stands for the rest.
    """
    inner = reading.for_messages()
    problems: list[str] = []
    entries: list[Entry] = []
    for i, message in enumerate(raw):
        is_repeated = type(message) is RepeatedJson
        value = message.value if is_repeated else message
        if isinstance(value, dict):
            place = ((), i)
            try:
                entries += (
                    message.entries_by(read_entries, place, reading=inner)
                    if is_repeated
                    else read_entries(value, place, inner)
                )
                if "role" in value:
                    note_held_contents(value, place, inner)
            except FormatError:  # one message has more problems than a file may have, and all of them are in `inner`
                reading.unread = UNREAD_MESSAGE
        elif isinstance(value, str):
            entries.append(UserMessage(Message(value)))
        elif value is not None:
            inner.wrong_type(((), i), "a message", value)
        if inner.errors:
            problems += inner.errors
            inner.errors.clear()
            entries += _unread(value)
    note_unread([*problems, *filter(None, [inner.unread])], reading)
    reading.warnings += inner.warnings if inner.lenient else ()
    return entries


def _unread(message: Any) -> list[Entry]:
    """Return the entry that stands for a content that was not read. Its reason comes from the facts of the span."""
    role = message.get("role", message.get("type")) if isinstance(message, dict) else None
    if role in ("system", "developer", "tool", "function"):
        return []
    gap = Message("", withheld=UNREAD_MESSAGE)
    return [UserMessage(gap)] if role in ("user", "human") else [gap]


def note_unread(problems: Iterable[str], reading: Diagnostics) -> None:
    """Pass the problems of messages on as warnings, each problem once. The conversation is then incomplete."""
    for problem in problems:
        reading.unread = reading.unread or f"{UNREAD_MESSAGE}: {problem}"
        warning = f"{reading.path}: {UNREAD_MESSAGE}: {problem}"
        if warning not in reading.warnings:
            reading.warnings.append(warning)


def output_steps(entries: Iterable[Entry]) -> tuple[Step, ...]:
    """Return the steps of an answer. A text of the user's role is not an answer, and neither is a usage."""
    return tuple([entry for entry in entries if not isinstance(entry, _NOT_STEPS)])


def extract_text(span: Span, *names: str) -> str:
    """Return the first of some attributes that is a text with content, or an empty text."""
    attributes = span.attributes
    for name in names:
        if (value := attributes.get(name)) and isinstance(value, str) and value not in MARKS:
            return value
    return ""


def read_data(span: Span, *names: str) -> Json:
    """Return the data in the first of some attributes that is there and not hidden, or None."""
    for name in names:
        value = span.attributes.get(name)
        if value is not None and value != "" and value not in MARKS:
            return structured(value)
    return None


def read_number(span: Span, *names: str) -> int | None:
    """Return the first of some attributes that is a number, as a whole number, or None."""
    attributes = span.attributes
    for name in names:
        if name in attributes and (number := whole_number(attributes[name])) is not None:
            return number
    return None


def first_text(value: Json) -> str:
    """Return a text, or the first text of a list, for example of the finish reasons."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""


def unwrap_declarations(raw: Json) -> tuple[dict[str, Any], ...]:
    """Return declared tools without the wrapper that a provider puts around a declaration."""
    if raw is None:
        return ()
    tools = structured(raw)
    declarations: list[dict[str, Any]] = []
    for tool in tools if isinstance(tools, list) else ():
        value = structured(tool)
        if isinstance(value, dict):
            inner = value.get("function")
            declarations.append(inner if isinstance(inner, dict) else value)
    return tuple(declarations)


def arguments(raw: Json) -> dict[str, Any] | None:
    """Return the arguments of a call, or None if they are not recorded."""
    value = structured(raw)
    return None if value is None else read_arguments(value)


def tool_answer(raw: Json) -> tuple[Json, str, bool | None]:
    """Return the answer of a tool, the id of its call and the failure that it states.

    LangChain writes the message of the tool around the answer, sometimes in an envelope.
    """
    message = raw
    for key in ("output", "data", "kwargs"):
        if isinstance(message, dict) and isinstance(message.get(key), dict):
            message = message[key]
    if isinstance(message, dict) and "content" in message and {"tool_call_id", "status"} & message.keys():
        call_id = message.get("tool_call_id")
        return response(message["content"]), call_id if isinstance(call_id, str) else "", declares_failure(message)
    return (None if raw is None else response(raw)), "", None


def build_tree(attributes: dict[str, Json], prefix: str) -> list[Any] | None:
    """Return numbered attributes as a list, for example `p.0.role` and `p.0.content` as `[{"role": ..., ...}]`.

    A list may also stand in the attribute itself, with keys such as `message.role`. Returns None without such an
    attribute.
    """
    tree: dict[str, Any] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if key.startswith(start):
            _put(tree, key[len(start) :], value)
        elif key == prefix:
            items = structured(value)
            for i, item in enumerate(items if isinstance(items, list) else ()):
                _put(tree, str(i), item)
    listed = _make_list(tree)
    return listed if isinstance(listed, list) and listed else None


def _put(tree: dict[str, Any], path: str, value: Json) -> None:
    """Put a value at a path of names and numbers."""
    *steps, last = path.split(".")[:_LONGEST_PATH]
    for step in steps:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        tree = inner
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        inner = tree.setdefault(last, {})
        for key, item in value.items():
            if isinstance(inner, dict):
                _put(inner, str(key), item)
    else:
        tree.setdefault(last, value)


def _make_list(value: Any) -> Json:
    """Return a tree in which objects with numbers as keys are lists."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdecimal() for key in value):
        return [_make_list(value[key]) for key in sorted(value, key=int)]
    return {key: _make_list(inner) for key, inner in value.items()}
