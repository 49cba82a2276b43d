"""Spans that fairtrial exported: names and facts that the conventions do not have stand in attributes of our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fairtrial.formats.dialects.attributes import extract_text
from fairtrial.formats.dialects.facts import Dialect, Facts
from fairtrial.formats.spans.span_values import member, structured
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.formats.spans.span import Span
    from fairtrial.records.attempt import Recording

CASE_ID = "fairtrial.case.id"
ATTEMPT = "fairtrial.attempt"
INVOCATION = "fairtrial.invocation.id"
INVOCATION_FIELDS = "fairtrial.invocation.fields"
TRACE_FIELDS = "fairtrial.trace.fields"
RECORDING_FIELDS = "fairtrial.recording.fields"
"""JSON with the fields of a record that the other attributes do not tell exactly, in the spelling of our recordings."""

_Kind = TypeVar("_Kind", bound=Record)


def with_fields(record: _Kind, fields: Mapping[str, Any]) -> _Kind:
    """Return a record with other fields. Fields that the record cannot have are ignored, because anybody writes spans.

    `fields` are as JSON tells them.
    """
    if not fields:
        return record
    try:
        return convert({**msgspec.to_builtins(record), **fields}, type(record))
    except (ValueError, RecursionError):
        return record


def with_exported_fields(recording: Recording, attributes: Mapping[str, Json]) -> Recording:
    """Return a recording with the fields that the root span of our export holds."""
    trace = with_fields(recording.trace, _fields_in(attributes, TRACE_FIELDS))
    return with_fields(msgspec.structs.replace(recording, trace=trace), _fields_in(attributes, RECORDING_FIELDS))


def _fields_in(attributes: Mapping[str, Json], name: str) -> dict[str, Any]:
    return member({name: structured(attributes.get(name))}, name)


def _facts(span: Span, _reading: Diagnostics) -> Facts:
    return Facts(
        invocation=extract_text(span, INVOCATION),
        invocation_fields=_fields_in(span.attributes, INVOCATION_FIELDS) or None,
    )


FAIRTRIAL_EXPORTS = Dialect("fairtrial's export", (INVOCATION,), _facts)
