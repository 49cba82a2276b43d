"""Route the spans of OpenTelemetry to the conversation in whose context they begin. Nothing global is replaced."""

from __future__ import annotations

import functools
import json
import sys
import threading
import weakref
from contextlib import suppress
from importlib.metadata import entry_points
from typing import Any

from fairtrial.agents.outages import describe_failure
from fairtrial.agents.plain import plain
from fairtrial.agents.tracing.framework_switches import switch_on
from fairtrial.agents.tracing.span_collection import SpanCollection, current_collection
from fairtrial.errors import UsageError
from fairtrial.formats.spans import agents_sdk_export
from fairtrial.formats.spans.flat import flat_span
from fairtrial.formats.spans.span_values import hex_id
from fairtrial.system.importing import import_extra

EXTRA = "spans"
_INSTRUMENTORS = "opentelemetry_instrumentor"
_LIBRARIES = frozenset(
    (
        *("agno", "alephalpha", "anthropic", "bedrock", "botocore", "cohere", "crewai", "google_genai"),
        *("google_generativeai", "groq", "haystack", "langchain", "llamaindex", "mcp", "mistralai", "ollama", "openai"),
        *("openai_agents", "openai_v2", "replicate", "sagemaker", "smolagents", "threading", "together"),
        *("transformers", "vertexai", "voyageai", "watsonx", "writer"),
    )
)
"""Instrumentations of models and agents, and the one that hands the context to threads. Others stay off."""
_TOOL_SPANS = ("{}", "execute_tool {}", "{}.tool")
"""The names that OpenInference, OpenTelemetry and OpenLLMetry give to the span of a tool of the OpenAI Agents SDK."""
_MARK = "_fairtrial_takes_spans"
_OPEN: dict[str, SpanCollection] = {}
"""The collections by the traces that have begun in them. Threads without the context have the trace at least."""
_LOCK = threading.Lock()


def open_routes() -> None:
    """Let spans reach the conversations of this process. Raises UsageError if OpenTelemetry's SDK is missing."""
    provider = _own_provider()
    _route_proxies()
    _attach_to_user()
    switch_on(provider, is_private=_global_provider() is None)
    _instrument(provider)  # that of the OpenAI Agents SDK takes the processors away
    if "agents.tracing" in sys.modules:
        _bridge_agents_sdk()


def forget(collection: SpanCollection) -> None:
    """Forget the traces of a conversation that has ended."""
    with _LOCK:
        for trace_id in [name for name, owner in _OPEN.items() if owner is collection]:
            del _OPEN[trace_id]


def _begin(trace_id: str) -> SpanCollection | None:
    """Return the collection in which a trace goes on. The first span of a trace in a conversation claims it."""
    here = current_collection()
    with _LOCK:
        if here is not None:
            _OPEN.setdefault(trace_id, here)
        return _OPEN.get(trace_id)


@functools.cache
def _processor() -> Any:
    """Return the processor that gives each span to its conversation."""
    base: Any = import_extra("opentelemetry.sdk.trace", EXTRA).SpanProcessor

    class Processor(base):  # type: ignore[misc]
        def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002
            _begin(_hex(span.get_span_context().trace_id))

        def on_end(self, span: Any) -> None:
            collection = _OPEN.get(_hex(span.get_span_context().trace_id))
            if collection is not None:
                try:
                    collection.add((flat_span(json.loads(span.to_json(indent=None))),))
                except Exception as error:  # noqa: BLE001  (attributes are of strangers, and the agent must go on)
                    collection.gap = collection.gap or f"a span could not be read: {type(error).__name__}"

    return Processor()


def _hex(trace_id: int) -> str:
    return f"{trace_id:032x}"


@functools.cache
def _own_provider() -> Any:
    """Return the provider of this package. It drops every span that begins outside of conversations."""
    sdk: Any = import_extra("opentelemetry.sdk.trace", EXTRA)
    sampling: Any = import_extra("opentelemetry.sdk.trace.sampling", EXTRA)

    class Sampler(sampling.Sampler):  # type: ignore[misc]
        def should_sample(self, _context: Any, trace_id: int, *details: Any, **options: Any) -> Any:
            # The details are the name, the kind, the attributes and the links.
            attributes = options.get("attributes", details[2] if len(details) > 2 else None)
            is_ours = _begin(_hex(trace_id)) is not None
            decision = sampling.Decision.RECORD_AND_SAMPLE if is_ours else sampling.Decision.DROP
            return sampling.SamplingResult(decision, attributes)

        def get_description(self) -> str:
            return "conversations of fairtrial"

    provider = sdk.TracerProvider(sampler=Sampler(), shutdown_on_exit=False)
    provider.add_span_processor(_processor())
    return provider


def _global_provider() -> Any:
    """Return the provider that the user has set, or None."""
    trace: Any = import_extra("opentelemetry.trace", EXTRA)
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider


def _route_proxies() -> None:
    """Let tracers write to this package inside conversations, as long as the user has set no provider.

    A provider of the user that is set later gets the spans as if this package were not there.
    """
    trace: Any = import_extra("opentelemetry.trace", EXTRA)
    proxy: Any = trace.ProxyTracer
    own = vars(proxy).get("_tracer")
    if not isinstance(own, property) or own.fget is None:
        raise UsageError(
            "record: this version of opentelemetry-api is not known; spans cannot be recorded", code="unusable-agent"
        )
    if hasattr(own.fget, _MARK):
        return
    original = own.fget
    tracers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def find_tracer(tracer: Any) -> Any:
        is_ours = (
            current_collection() is not None or _hex(trace.get_current_span().get_span_context().trace_id) in _OPEN
        )
        if not is_ours or _global_provider() is not None:
            return original(tracer)
        if tracer not in tracers:
            name, version = tracer._instrumenting_module_name, tracer._instrumenting_library_version  # noqa: SLF001
            tracers[tracer] = _own_provider().get_tracer(name, version)
        return tracers[tracer]

    setattr(find_tracer, _MARK, True)
    proxy._tracer = property(find_tracer)  # noqa: SLF001


_ATTACHED: weakref.WeakSet[Any] = weakref.WeakSet()


def _attach_to_user() -> None:
    """Read the spans of the user's provider beside the user's exporters."""
    provider = _global_provider()
    if provider is not None and hasattr(provider, "add_span_processor") and provider not in _ATTACHED:
        _ATTACHED.add(provider)
        provider.add_span_processor(_processor())


@functools.cache
def _bridge_agents_sdk() -> None:
    """Read the spans of the OpenAI Agents SDK, which has traces of its own, beside the processors that it has.

    If an instrumentation is installed, it tells the same spans with more content, but not the exceptions of tools.
    """
    try:
        from agents.tracing import add_trace_processor
        from agents.tracing.processor_interface import TracingProcessor
    except ImportError:
        return

    watching = _make_watcher(TracingProcessor)

    class Reading(watching):  # type: ignore[misc, valid-type]
        def on_trace_start(self, trace: Any) -> None:
            _begin(f"agents:{trace.trace_id}")

        def on_trace_end(self, trace: Any) -> None:
            _add_exported(trace)

        def on_span_start(self, span: Any) -> None:
            super().on_span_start(span)
            _begin(f"agents:{span.trace_id}")

        def on_span_end(self, span: Any) -> None:
            _add_exported(span)

    is_instrumented = any(entry_point.name == "openai_agents" for entry_point in entry_points(group=_INSTRUMENTORS))
    add_trace_processor(watching() if is_instrumented else Reading())


def _make_watcher(base: Any) -> Any:
    """Return a class that watches tools. An instrumentation reads the traces and the spans."""

    class Watching(base):  # type: ignore[misc, unused-ignore]
        def on_trace_start(self, trace: Any) -> None:
            """Nothing is read."""

        def on_trace_end(self, trace: Any) -> None:
            """Nothing is read."""

        def on_span_start(self, span: Any) -> None:
            _note_exceptions(span)

        def on_span_end(self, span: Any) -> None:
            """Nothing is read."""

        def shutdown(self) -> None:
            """Nothing is open."""

        def force_flush(self) -> None:
            """Nothing waits."""

    return Watching


def _note_exceptions(span: Any) -> None:
    """Note the exception of a tool. The SDK sets an error while it handles the exception, and the error may hide it.

    The error itself stays as it is, because the user's exporters send it elsewhere.
    """
    set_error = span.set_error

    def note_and_set(error: Any) -> None:
        exception, collection = sys.exc_info()[1], current_collection()
        if exception is not None and collection is not None:
            collection.note_error(hex_id(span.span_id), describe_failure(exception))
            current = import_extra("opentelemetry.trace", EXTRA).get_current_span()
            # An instrumentation may have opened a span of its own for the same call.
            if getattr(current, "name", "") in [form.format(span.span_data.name) for form in _TOOL_SPANS]:
                collection.note_error(f"{current.get_span_context().span_id:016x}", describe_failure(exception))
        set_error(error)

    if getattr(span.span_data, "type", "") == "function":
        with suppress(AttributeError):  # a span of another implementation
            span.set_error = note_and_set


def _add_exported(item: Any) -> None:
    """Add a trace or a span of the OpenAI Agents SDK that has ended to its conversation."""
    collection = _OPEN.get(f"agents:{item.trace_id}")
    if collection is not None and (exported := item.export()):
        document: Any = plain(exported | _response(item))
        collection.add(agents_sdk_export.items({"data": [document]}))


def _response(span: Any) -> dict[str, Any]:
    """Return the texts of a response, which the export of the SDK leaves out."""
    data: Any = getattr(span, "span_data", None)
    response = getattr(data, "response", None)
    if response is None:
        return {}
    fields = {"input": data.input, "output": response.output, "model": response.model, "usage": response.usage}
    return {"span_data": {"type": "generation", **fields}}


@functools.cache
def _instrument(provider: Any) -> None:
    """Start the instrumentations of models and agents that are installed, unless the user has started them."""
    for entry_point in entry_points(group=_INSTRUMENTORS):
        if entry_point.name not in _LIBRARIES and not entry_point.value.startswith("openinference."):
            continue
        try:
            instrumentor = entry_point.load()()
            if not instrumentor.is_instrumented_by_opentelemetry:
                instrumentor.instrument(tracer_provider=provider)
        except Exception:  # noqa: BLE001, S112  (an instrumentation whose library is missing says so)
            continue
