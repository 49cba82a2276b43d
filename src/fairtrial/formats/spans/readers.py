"""The readers that turn files into spans, and the choice among them.

A reader is a module of this package with two functions, and one row in `READERS`:

- `is_document(value)` says by the shape of a JSON value, never by a file name, whether the reader knows it. The value
  is a whole document, a line of JSON lines, or an item of an array.
- `items(value)` yields a `Span` or a `LogRecord` for each span in it. It calls `hex_id`, `nanoseconds`, `any_value` of
  `span_values.py`, so that every reader writes ids, times and values in the same way.

A reader does not interpret attributes: that is the work of the dialects (`formats/dialects`). A reader of a form of a
vendor renames the fields of that form to attributes that a dialect knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.formats.spans import (
    agents_sdk_export,
    flat,
    jaeger,
    langfuse_traces,
    langsmith_runs,
    mlflow_traces,
    node_console,
    observation_rows,
    otlp_batch,
    otlp_json,
    phoenix,
    warehouse_rows,
    weave_calls,
)

if TYPE_CHECKING:
    from fairtrial.formats.spans.span import SpanItem


class Reader(NamedTuple):
    """A form of spans in JSON: its name, the values that it knows, and the spans in a value."""

    name: str
    is_document: Callable[[Any], bool]
    items: Callable[[Any], Iterator[SpanItem]]


READERS = (
    Reader("OTLP spans", otlp_batch.is_batch, otlp_batch.items),
    Reader("OTLP spans", otlp_json.is_document, otlp_json.items),
    Reader("Jaeger traces", jaeger.is_document, jaeger.items),
    Reader("Phoenix spans", phoenix.is_document, phoenix.items),
    Reader("Langfuse traces", langfuse_traces.is_document, langfuse_traces.items),
    Reader("LangSmith runs", langsmith_runs.is_document, langsmith_runs.items),
    Reader("MLflow traces", mlflow_traces.is_document, mlflow_traces.items),
    Reader("Weave calls", weave_calls.is_document, weave_calls.items),
    Reader("OpenAI Agents SDK traces", agents_sdk_export.is_document, agents_sdk_export.items),
    Reader("Opik spans", observation_rows.is_opik, observation_rows.opik_items),
    Reader("spans of Datadog's LLM Observability", observation_rows.is_datadog, observation_rows.datadog_items),
    Reader("rows of ClickHouse's otel_traces", warehouse_rows.is_clickhouse, warehouse_rows.clickhouse_items),
    Reader("rows of spans with attributes as text", warehouse_rows.is_bigquery, warehouse_rows.bigquery_items),
    Reader("Zipkin spans", warehouse_rows.is_zipkin, warehouse_rows.zipkin_items),
    Reader("Cloud Trace traces", warehouse_rows.is_cloud_trace, warehouse_rows.cloud_trace_items),
    Reader("spans of the console exporter", node_console.is_span, node_console.items),
    Reader("spans of the console exporter", flat.is_console_document, flat.items),
    Reader("flat spans", flat.is_flat_document, flat.items),
)


def find_reader(value: Any) -> Reader | None:
    """Return the reader that knows a JSON value, or None."""
    return next((reader for reader in READERS if reader.is_document(value)), None)
