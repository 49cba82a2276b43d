"""Read spans of services that keep the input and the output of each: Opik and Datadog's LLM Observability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import hex_id, member, nanoseconds, without_nulls

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_OPIK = frozenset(("trace_id", "parent_span_id", "type", "start_time", "input"))
_DATADOG_KINDS = ("span_kind", "span.kind", "kind")
_NO_PARENT = ("undefined", "0")


def is_opik(value: Any) -> bool:
    """Whether a value is a span of Opik, or a page of spans of its API."""
    if not isinstance(value, dict):
        return False
    page = value.get("content")
    if isinstance(page, list) and "page" in value:
        return bool(page) and is_opik(page[0])
    return value.keys() >= _OPIK and "parent_observation_id" not in value


def opik_items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans."""
    page = document.get("content")
    for row in page if isinstance(page, list) else [document]:
        if isinstance(row, dict):
            error = row.get("error_info")
            yield Span(
                hex_id(row.get("trace_id")),
                hex_id(row.get("id")),
                hex_id(row.get("parent_span_id")),
                str(row.get("name") or ""),
                start=nanoseconds(row.get("start_time")) or 0,
                end=nanoseconds(row.get("end_time")),
                attributes=_attributes(row, str(row.get("type") or ""), row.get("thread_id"), row.get("usage")),
                failure=str(member(row, "error_info").get("message") or "ERROR") if error else "",
            )


def is_datadog(value: Any) -> bool:
    """Whether a value is a span of Datadog's LLM Observability, a page of its export, or a request to its intake."""
    return any(_is_datadog_span(row) for row, _ in _datadog_rows(value))


def datadog_items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield the spans."""
    for row, session in _datadog_rows(document):
        if not _is_datadog_span(row):
            continue
        meta = member(row, "meta") or row
        kind = next((str(holder[key]) for holder in (meta, row) for key in _DATADOG_KINDS if holder.get(key)), "")
        given = {name: _datadog_value(meta.get(name)) for name in ("input", "output")}
        start, duration = row.get("start_ns"), row.get("duration")
        start = start if isinstance(start, int) else 0
        error = member(meta, "error")
        parent = str(row.get("parent_id") or "")
        yield Span(
            hex_id(row.get("trace_id")),
            hex_id(row.get("span_id")),
            "" if parent in _NO_PARENT else hex_id(parent),
            str(row.get("name") or ""),
            start=start,
            end=start + int(duration) if isinstance(duration, int | float) else None,
            attributes=_attributes(
                {**given, "model": meta.get("model_name")}, kind, row.get("session_id") or session, row.get("metrics")
            ),
            failure=str(error.get("message") or "ERROR") if row.get("status") == "error" else "",
        )


def _datadog_rows(value: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the spans in a document, each with the id of its session if the document names it."""
    if not isinstance(value, dict):
        return
    data = value.get("data")
    for item in data if isinstance(data, list) else [data if isinstance(data, dict) else value]:
        attributes = member(item, "attributes") if isinstance(item, dict) and "attributes" in item else item
        inner = attributes.get("spans") if isinstance(attributes, dict) else None
        for row in inner if isinstance(inner, list) else [attributes]:
            if isinstance(row, dict):
                yield row, attributes.get("session_id")


def _is_datadog_span(row: dict[str, Any]) -> bool:
    has_kind = any(key in row for key in _DATADOG_KINDS) or any(key in member(row, "meta") for key in _DATADOG_KINDS)
    return has_kind and {"span_id", "trace_id", "start_ns"} <= row.keys()


def _datadog_value(value: Any) -> Json:
    """Return messages as a provider writes them, or the value that a span of another kind has."""
    if not isinstance(value, dict):
        return value
    messages = value.get("messages")
    if not isinstance(messages, list):
        return value.get("value", value)
    return [converted for message in messages for converted in _datadog_messages(message)]


def _datadog_messages(message: Any) -> Iterator[Any]:
    """Yield a message, and the results in it. Its calls become calls of OpenAI."""
    if not isinstance(message, dict):
        yield message
        return
    calls, results = message.get("tool_calls"), message.get("tool_results")
    for result in results if isinstance(results, list) else ():
        inner = result if isinstance(result, dict) else {"result": result}
        yield {
            "role": "tool",
            "tool_call_id": inner.get("tool_id", ""),
            "name": inner.get("name", ""),
            "content": inner.get("result"),
        }
    own = {key: value for key, value in message.items() if key not in ("tool_calls", "tool_results")}
    if isinstance(calls, list) and calls:
        own["tool_calls"] = [
            {"id": call.get("tool_id", ""), "type": "function", "function": call} if isinstance(call, dict) else call
            for call in calls
        ]
    if not results or own.get("content"):
        yield own


def _attributes(row: dict[str, Any], kind: str, session: Any, usage: Any) -> dict[str, Json]:
    return without_nulls(
        {
            "observation.kind": kind or "other",
            "observation.input": row.get("input"),
            "observation.output": row.get("output"),
            "observation.model": row.get("model"),
            "observation.usage": usage,
            "session.id": session,
        }
    )
