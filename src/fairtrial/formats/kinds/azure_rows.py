"""Rows of Azure AI evaluation, and the results of its `evaluate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.kinds.kind import (
    Conversation,
    as_text,
    call_message,
    first_dict,
    function_call,
    objects,
    result_message,
    text_message,
)

_CALLS = ("tool_call", "function_call", "openapi_call")
_RESULTS = ("tool_result", "function_call_output", "openapi_call_output")
_TEXTS = ("text", "input_text", "output_text")
_INPUTS, _OUTPUTS = "inputs.", "outputs."


def is_azure(values: list[Any]) -> bool:
    """Whether rows hold messages as Azure's evaluators of agents take them, or are the results of such evaluators."""
    row = next(_rows(values[:1]), {})
    is_answered = _are_messages(row.get("response"))
    if _result_rows(first_dict(values)) is not None:
        is_answered = is_answered or isinstance(row.get("response"), str)
    is_asked = isinstance(row.get("query"), str) or _are_messages(row.get("query"))
    return (is_asked and is_answered) or any(map(_has_calls, _conversation(row)))


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and "role" in first_dict(value)


def _conversation(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return objects(object_at(row, "conversation").get("messages"))


def _has_calls(message: dict[str, Any]) -> bool:
    return "role" in message and any(part.get("type") in _CALLS for part in objects(message.get("content")))


def _result_rows(value: Any) -> Any:
    """Return the rows in the results of `evaluate`, or nothing."""
    return value.get("rows") if isinstance(value, dict) and "metrics" in value else None


def _rows(values: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows. Those of results name each column of the data with a prefix."""
    for value in objects(values):
        rows = _result_rows(value)
        if rows is None:
            yield value
        for row in objects(rows):
            plain = {key.removeprefix(_OUTPUTS): row[key] for key in row if key == f"{_OUTPUTS}response"}
            yield plain | {key.removeprefix(_INPUTS): row[key] for key in row if key.startswith(_INPUTS)}


def read_azure(values: list[Any]) -> Iterator[Conversation]:
    """Yield a conversation for each row."""
    for i, row in enumerate(_rows(values), 1):
        name = str(row.get("id") or f"row-{i}")
        column = list(objects(row.get("tool_calls")))
        messages = [*_as_messages(row.get("query"), "user"), *_as_messages(row.get("response"), "assistant")]
        messages = messages or list(_conversation(row))
        own = [entry for message in messages for entry in _read_message(message)]
        keeps_calls = not isinstance(row.get("response"), str) or "tool_calls" in row
        has_calls = any("tool_calls" in entry for entry in own)
        source: list[Any] = messages
        if column and not has_calls:
            own[-1:-1] = [entry for call in column for entry in _read_message({"role": "assistant", "content": [call]})]
            source = [*messages, column]
        yield Conversation(name, own, source, keeps_calls, incomplete=_find_lost(column, own))


def _as_messages(value: Any, role: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": value}] if isinstance(value, str) else list(objects(value))


def _find_lost(column: list[dict[str, Any]], messages: list[dict[str, Any]]) -> str:
    """Return the reason if a call of the column `tool_calls` stands in no message."""
    ids = {call["id"] for entry in messages for call in entry.get("tool_calls", ())}
    place = next((i for i, call in enumerate(column) if _function(call)["id"] not in ids), None)
    return "" if place is None else f"/tool_calls/{place} names a call that no message holds"


def _read_message(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the calls, results and texts of a message in their order. Parts that follow one another are one message.

    A part of an unknown type stays as it is, so that it is named as unread.
    """
    role, content = text_at(message, "role"), message.get("content")
    if not isinstance(content, list):
        yield text_message(role, content)
        return
    texts: list[dict[str, Any]] = []
    for part in objects(content):
        kind = part.get("type")
        if kind in _TEXTS or (kind is None and "text" in part):
            texts.append({"type": "text", "text": as_text(part.get("text"))})
        elif kind == "image":
            texts.append({"type": "image_url", "image_url": {"url": text_at(object_at(part, "image"), "file_id")}})
        elif kind in _CALLS:
            yield call_message([_function(part)], text=texts)
            texts = []
        elif kind in _RESULTS:
            yield result_message(message.get("tool_call_id"), part.get(kind, part.get("content")))
    if texts:
        yield text_message(role, texts)


def _function(part: dict[str, Any]) -> dict[str, Any]:
    """Return a call. Older versions write it in a key of its own, with or without a function in it."""
    call = object_at(part, "tool_call") or part
    inner = object_at(call, "function") or call
    return function_call(call.get("tool_call_id") or call.get("id"), inner.get("name"), inner.get("arguments"))
