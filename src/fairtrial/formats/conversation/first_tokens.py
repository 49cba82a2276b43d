"""The time to the first token of a model call, in the places where instrumentations write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.number_range import finite
from fairtrial.formats.spans.span_values import nanoseconds
from fairtrial.records.trace import Usage

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.record import Json

_NANOSECONDS = 1e9
_ROUNDING = 0.01
_FIRST_CHUNK = "First Token Stream Event"
"""The event of OpenInference at the first token."""


def _seconds(value: Json, _span: Span) -> float | None:
    return finite(value)


def _milliseconds(value: Json, _span: Span) -> float | None:
    number = finite(value)
    return None if number is None else number / 1000


def _server_time(value: Json, span: Span) -> float | None:
    """Read the attribute that Strands writes in milliseconds, and other instrumentations in seconds."""
    return (_milliseconds if span.scope.startswith("strands") else _seconds)(value, span)


def _moment(value: Json, span: Span) -> float | None:
    """Return the seconds from the start of a span to a moment."""
    moment = nanoseconds(value.strip('"') if isinstance(value, str) else value)
    return None if moment is None or not span.start else (moment - span.start) / _NANOSECONDS


_ATTRIBUTES: dict[str, Callable[[Json, Span], float | None]] = {
    "gen_ai.response.time_to_first_chunk": _seconds,
    "gen_ai.response.time_to_first_token": _seconds,
    "gen_ai.server.time_to_first_token": _server_time,
    "ai.response.msToFirstChunk": _milliseconds,
    "ai.stream.msToFirstChunk": _milliseconds,
    "ttft_ms": _milliseconds,
    "langfuse.observation.completion_start_time": _moment,
    "langsmith.first_token_time": _moment,
}


def seconds_to_first_token(span: Span) -> float | None:
    """Return the seconds from the start of a model call to its first token, or None if the span does not say."""
    for name, read in _ATTRIBUTES.items():
        if name in span.attributes:
            seconds = read(span.attributes[name], span)
            if seconds is not None and _is_within(seconds, span):
                return seconds
    moments = [event.time for event in span.events if event.name == _FIRST_CHUNK and event.time >= span.start]
    return (min(moments) - span.start) / _NANOSECONDS if moments and span.start else None


def read_usages(node: Node) -> list[Usage]:
    """Return the tokens of the model calls in a span, with the time to the first token if the span says it."""
    usage = node.facts.usage or Usage(model=node.facts.model)
    seconds = seconds_to_first_token(node.span)
    untold = [Usage(model=node.facts.model)] * node.facts.untold_requests
    return [*untold, usage if seconds is None else replace(usage, first_token=seconds)]


def _is_within(seconds: float, span: Span) -> bool:
    """Whether a time lies in its span, but for the rounding of a clock. No other time can be true."""
    return seconds >= 0 and (span.end is None or seconds <= (span.end - span.start) / _NANOSECONDS + _ROUNDING)
