"""Write recordings as JSON lines, and read them back without loss."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.records.attempt import Recording
from fairtrial.records.decoding import convert
from fairtrial.records.record import without_defaults

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

REASONING_MARKS = frozenset({"@context", "@type"})
"""A document with one of these keys is JSON-LD, so it is a ReasoningTrace of knowledgepulse, or invalid."""
_TOKEN = re.compile(r"\.(\w+)|\[([^\]]*)\]")


def line(recording: Recording) -> bytes:
    """Return a recording as a line of JSON. Text in any language is written unescaped."""
    return msgspec.json.encode(without_defaults(recording)) + b"\n"


def is_recording(value: Any) -> bool:
    """Whether a value has the keys of a recording that fairtrial wrote."""
    return isinstance(value, dict) and {"case_id", "trace"} <= value.keys()


def has_own_marks(value: Any) -> bool:
    """Whether a value has the keys of a recording, or of a reasoning trace of knowledgepulse."""
    return is_recording(value) or (isinstance(value, dict) and not REASONING_MARKS.isdisjoint(value))


def recording(raw: Any, at: Place, reading: Diagnostics) -> Recording | None:
    """Return a value as a recording. If it is not a recording, note an error and return None."""
    try:
        return convert(raw, Recording)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        for name, place in _TOKEN.findall(path):
            at = (at, name or place)
        reading.error(at, f"is not a recording: {problem}")
        return None
