"""How is a recording written, and read back? As JSON, one line each, without loss."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.records.attempt import Recording

_TOKEN = re.compile(r"\.(\w+)|\[([^\]]*)\]")


def line(recording: Recording) -> bytes:
    """Return a recording as a line of JSON, text of any language as itself."""
    return msgspec.json.encode(recording) + b"\n"


def is_recording(value: Any) -> bool:
    """Whether a value looks like a recording of ours."""
    return isinstance(value, dict) and {"case_id", "trace"} <= value.keys()


def recordings(raw: list[Any], reading: Diagnostics, *, alone: bool = False) -> tuple[Recording, ...]:
    """Return the recordings in a list of values; `alone` says that the list is the document's one value."""
    found = (_recording(value, () if alone else ((), i), reading) for i, value in enumerate(raw))
    return tuple(one for one in found if one is not None)


def _recording(raw: Any, at: Place, reading: Diagnostics) -> Recording | None:
    try:
        return msgspec.convert(raw, Recording)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        for name, place in _TOKEN.findall(path):
            at = (at, name or place)
        reading.error(at, f"is no recording of ours: {problem}")
        return None
