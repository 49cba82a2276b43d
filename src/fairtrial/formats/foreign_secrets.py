"""Does a recording of another tool hold secrets? They are removed before anything is stored or sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span import Span, SpanEvent, SpanItem
from fairtrial.records.attempt import Recording
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, Trace
from fairtrial.text.redact import may_hold_secrets
from fairtrial.text.redact_json import redact_json


def without_secrets(recording: Recording, reading: Diagnostics) -> Recording:
    """Return a recording with `[REDACTED:kind]` in place of each secret. A warning counts the secrets by their kind.

    E-mail addresses stay: they are part of many conversations, and eval sets name them.
    """
    trace = recording.trace
    # Most recordings hold no secret. One search in all texts shows that faster than a search in each text.
    if not may_hold_secrets(msgspec.json.encode([*_contents(trace)]).decode()):
        return recording
    clean, redactions = redact_json(msgspec.json.decode(msgspec.json.encode(trace)), emails=False)
    if not redactions:
        return recording
    counts = Counter(redaction.kind for redaction in redactions)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    reading.warnings.append(f"{reading.path}: secrets in {recording.case_id!r} were replaced by [REDACTED]: {kinds}")
    failure = recording.failure
    if failure is not None:
        cause, _ = redact_json(failure.cause, emails=False)
        failure = replace(failure, cause=str(cause))
    return replace(recording, trace=msgspec.convert(clean, Trace), failure=failure)


def _contents(trace: Trace) -> Iterator[Json]:
    """Yield the contents of a trace that an agent, a user or a tool wrote."""
    yield [trace.broken, trace.extra, [message.text for message in trace.opening]]
    for invocation in (*trace.history, *trace.invocations):
        yield from _contents_of(invocation)


def _contents_of(invocation: Invocation) -> Iterator[Json]:
    reply = () if invocation.final_response is None else (invocation.final_response,)
    for step in (invocation.user, *(invocation.steps or ()), *reply):
        yield step.beginning
        if isinstance(step, Message | Thought):
            yield [step.text, step.extra]
        elif isinstance(step, ToolCall):
            yield [step.args, step.extra]
        else:
            yield [step.response, step.extra]
            if step.inner is not None:
                yield [*_contents(step.inner)]
    if invocation.about is not None:
        yield [agent.instructions for agent in invocation.about.agents]


def without_span_secrets(item: SpanItem) -> SpanItem:
    """Return a span or a log record with `[REDACTED:kind]` in place of each secret. Ids and names stay."""
    contents = [item.attributes, item.events] if isinstance(item, Span) else item.event
    if not may_hold_secrets(msgspec.json.encode(contents).decode()):
        return item
    if isinstance(item, Span):
        events = tuple(map(_clean_event, item.events))
        return replace(item, attributes=_clean(item.attributes), events=events, failure=_clean(item.failure))
    return replace(item, event=_clean_event(item.event))


def _clean_event(event: SpanEvent) -> SpanEvent:
    return replace(event, attributes=_clean(event.attributes), body=_clean(event.body))


def _clean(value: Json) -> Any:
    return redact_json(value, emails=False)[0]
