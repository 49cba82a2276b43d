"""Add the recording fields that exported spans do not state exactly, in attributes of our own.

The conventions have no place for the reason of a missing content or the outcome of a conversation, for example. The
spans are read as anybody reads them, and the result is compared with the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isclose

import msgspec
from msgspec.structs import replace

from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.dialects.fairtrial_exports import INVOCATION_FIELDS, RECORDING_FIELDS, TRACE_FIELDS
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans import otlp_json
from fairtrial.records.attempt import Recording
from fairtrial.records.record import Json, Record, default_values, without_defaults
from fairtrial.records.trace import AgentDetails, Step, Trace

_EXACT = 1e-6
"""A number of seconds since 1970 is about as exact as a microsecond."""
_PLACES = frozenset(("started", "span_id", "parent_id", "model"))
"""Fields of steps that say in which span something was recorded. The exported spans are other spans."""
_EMPTY = Recording("", Trace())


def add_missing_fields(spans: list[dict[str, Json]], first_answers: Sequence[int], recording: Recording) -> None:
    """Add the fields that the spans of a recording do not tell to the root span and to the first answers.

    `first_answers` is the place of the first answer of each invocation.
    """
    known_agents: dict[str, AgentDetails] = {}
    invocations = _read_recording(spans).trace.invocations
    copies = invocations if len(invocations) == len(first_answers) else [None] * len(first_answers)
    for place, original, copy in zip(first_answers, recording.trace.invocations, copies, strict=True):
        agents = {agent.name: agent for agent in (original.about.agents if original.about else ())}
        is_told = copy is not None and copy.about is None and agents.items() <= known_agents.items()
        known_agents |= agents
        _add(spans[place], INVOCATION_FIELDS, replace(original, about=None) if is_told else original, copy)
    whole = _read_recording(spans)
    _add(spans[0], TRACE_FIELDS, *(replace(each.trace, invocations=()) for each in (recording, whole)))
    _add(spans[0], RECORDING_FIELDS, *(replace(each, trace=Trace()) for each in (recording, whole)))


def _read_recording(spans: Sequence[dict[str, Json]]) -> Recording:
    """Return the recording in spans, or an empty recording if no agent is in them."""
    return next(iter(collect_recordings(map(otlp_json.span, spans), Diagnostics(""))), _EMPTY)


def _add(span: dict[str, Json], name: str, original: Record, copy: Record | None) -> None:
    """Add the fields in which a record differs from the record that was read, or all if none was read."""
    values = {field: getattr(original, field) for field, _ in default_values(type(original)) if field != "origin"}
    fields = {
        field: without_defaults(value)
        for field, value in values.items()
        if copy is None or not _is_same(value, getattr(copy, field))
    }
    if fields:
        text = msgspec.json.encode(fields).decode()
        span["attributes"].append({"key": name, "value": {"stringValue": text}})


def _is_same(original: Json, copy: Json) -> bool:
    """Whether two values are the same apart from their places in spans."""
    if isinstance(original, float) and isinstance(copy, float):
        return isclose(original, copy, rel_tol=0, abs_tol=_EXACT)
    if isinstance(original, Record):
        left_out = _PLACES if isinstance(original, Step) else frozenset({"origin"})
        names = [name for name, _ in default_values(type(original)) if name not in left_out]
        return type(original) is type(copy) and all(
            _is_same(getattr(original, name), getattr(copy, name)) for name in names
        )
    if isinstance(original, tuple | list):
        is_list = isinstance(copy, tuple | list) and len(original) == len(copy)
        return is_list and all(map(_is_same, original, copy))
    return type(original) is type(copy) and original == copy
