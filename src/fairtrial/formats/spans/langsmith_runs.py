"""Runs of LangSmith: lines, lists, and the batches that its older SDKs send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import hex_id, member, nanoseconds, without_nulls

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_LISTS = ("post", "patch", "runs")
_SESSIONS = ("thread_id", "session_id", "conversation_id")


def is_document(value: Any) -> bool:
    """Whether a value is a run, or a batch of runs."""
    return _is_run(value) or (
        isinstance(value, dict) and any(_is_run(run) for key in _LISTS for run in _runs(value, key)[:1])
    )


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield a span for each run. A run is posted when it starts and patched when it ends: both give one span."""
    yield from map(_span, [document] if _is_run(document) else [run for key in _LISTS for run in _runs(document, key)])


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and "dotted_order" in value and "trace_id" in value


def _runs(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    runs = document.get(key)
    return [run for run in runs if isinstance(run, dict)] if isinstance(runs, list) else []


def _id_in_order(dotted_order: Any) -> str:
    """Return the id behind the last time of a dotted order. A patch has its own id in the address of its request."""
    return dotted_order.rpartition(".")[2].partition("Z")[2] if isinstance(dotted_order, str) else ""


def _first_token_time(run: dict[str, Any]) -> Json:
    """Return the time of the first token as a client notes it, before LangSmith makes a field of it."""
    return next((event.get("time") for event in _runs(run, "events") if event.get("name") == "new_token"), None)


def _span(run: dict[str, Any]) -> Span:
    extra = member(run, "extra")
    metadata = member(extra, "metadata")
    attributes: dict[str, Json] = {
        "langsmith.span.kind": run.get("run_type"),
        "langsmith.inputs": run.get("inputs"),
        "langsmith.outputs": run.get("outputs"),
        "langsmith.invocation_params": extra.get("invocation_params"),
        "langsmith.tool_call_id": extra.get("tool_call_id"),
        "langsmith.first_token_time": run.get("first_token_time") or _first_token_time(run),
        **{f"langsmith.metadata.{name}": metadata.get(name) for name in (*_SESSIONS, "ls_model_name")},
    }
    error = run.get("error")
    return Span(
        hex_id(run.get("trace_id")),
        hex_id(run.get("id") or _id_in_order(run.get("dotted_order"))),
        hex_id(run.get("parent_run_id")),
        str(run.get("name") or ""),
        start=nanoseconds(run.get("start_time")) or 0,
        end=nanoseconds(run.get("end_time")),
        attributes=without_nulls(attributes),
        failure=str(error) if error else "",
    )
