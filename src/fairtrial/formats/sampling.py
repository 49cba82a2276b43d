"""Read the probability with which a source kept a conversation, from a row or from the spans of a trace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.number_range import finite
from fairtrial.formats.spans.span import PROBABILITY, Span

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording

COLUMNS = (PROBABILITY, "sampling_probability", "sampling.probability")
"""The columns that may hold the probability of the conversation of a row."""
_COLUMNS = frozenset(COLUMNS)
_PROBABILITIES = ("sampling.probability", "_dd.rule_psr", "_dd.agent_psr", "sentry.sample_rate")
"""Attributes with a probability: the first is common, then Datadog's two and Sentry's."""
_INVERSE = "SampleRate"
"""Honeycomb's attribute: of so many traces, this one was kept."""
_JAEGER = ("sampler.type", "sampler.param")
_NAMES = frozenset((PROBABILITY, _INVERSE, *_PROBABILITIES, *_JAEGER))
_DIGITS = 14
"""A threshold of OpenTelemetry has at most so many hexadecimal digits. Zeros at its end are left out."""
_LONGEST_STATE = 4096


def with_probability(recording: Recording, row: Any) -> Recording:
    """Return the recording of a row with the probability in the row, if it has one."""
    if not isinstance(row, dict) or _COLUMNS.isdisjoint(row):  # most rows
        return recording
    return _scale(recording, _first(row, COLUMNS))


def with_span_probability(recording: Recording, spans: Iterable[Span]) -> Recording:
    """Return the recording of spans with their probability, if they carry one.

    The sampler of the source and the sample of a query decide one after the other, so that their probabilities
    multiply. If the traces of a conversation have several, the smallest counts: the rarest trace shows how rarely the
    whole conversation is kept.
    """
    smallest = None
    for span in spans:
        own = _span_probability(span)
        if own is not None:
            smallest = own if smallest is None else min(smallest, own)
    return _scale(recording, smallest)


def _scale(recording: Recording, probability: float | None) -> Recording:
    if probability is None:
        return recording
    return replace(recording, probability=probability * (recording.probability or 1.0))


def _span_probability(span: Span) -> float | None:
    attributes = span.attributes
    if not span.trace_state and _NAMES.isdisjoint(attributes):  # most spans
        return None
    of_source = _read_trace_state(span.trace_state)
    of_source = _first(attributes, _PROBABILITIES) if of_source is None else of_source
    if of_source is None:
        of_source = _read_rate(attributes)
    of_query = _probability(attributes.get(PROBABILITY))
    if of_source is None or of_query is None:
        return of_query if of_source is None else of_source
    return of_source * of_query


def _read_rate(attributes: Mapping[str, Any]) -> float | None:
    """Return the probability in the attributes of Honeycomb and of Jaeger."""
    rate = finite(attributes.get(_INVERSE))
    if rate is not None and rate >= 1:
        return 1 / rate
    kind, parameter = (attributes.get(name) for name in _JAEGER)
    return _probability(parameter) if kind == "probabilistic" else None


def _read_trace_state(state: str) -> float | None:
    """Return the probability in a tracestate such as `ot=th:c`, which is a quarter.

    `th` is the threshold below which the random number of a trace is rejected, as hexadecimal digits behind a point.
    `p` is its older form, the negative logarithm of the probability to the base 2. Sources: OpenTelemetry's
    specification, "TraceState: Probability Sampling", and its earlier version of 2023.
    """
    if "ot=" not in state or len(state) > _LONGEST_STATE:
        return None
    members = (member.strip().partition("=") for member in state.split(","))
    own = next((value for key, _, value in members if key == "ot"), "")
    fields = {name: value for name, _, value in (field.partition(":") for field in own.split(";"))}
    threshold, power = fields.get("th", ""), fields.get("p", "")
    if 0 < len(threshold) <= _DIGITS and all(digit in "0123456789abcdef" for digit in threshold):
        return _probability(1 - int(threshold.ljust(_DIGITS, "0"), 16) / 16**_DIGITS)
    if power.isascii() and power.isdigit() and len(power) <= 2 and int(power) < 63:
        return 2.0 ** -int(power)
    return None


def _first(values: Mapping[str, Any], names: Iterable[str]) -> float | None:
    return next((value for name in names if (value := _probability(values.get(name))) is not None), None)


def _probability(raw: Any) -> float | None:
    """Return a number above 0 up to 1, also from its text, else None."""
    if isinstance(raw, bool):
        return None
    if isinstance(raw, str):
        try:
            raw = float(raw)
        except ValueError:
            return None
    if not isinstance(raw, int | float) or not math.isfinite(raw):
        return None
    return float(raw) if 0 < raw <= 1 else None
