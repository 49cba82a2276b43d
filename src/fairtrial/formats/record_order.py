"""Find records of a log that stand twice, or behind a later one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairtrial.formats.timestamps import read_seconds

_IDS = ("uuid", "id", "event_id", "step_id")
_TIMES = ("timestamp", "created_at", "createdAt")
_LISTS = ("events", "messages", "steps", "data")
_LEAST_SECONDS = 0.5
"""Records that are written at the same time may stand in any order."""


def find_disorder(records: Iterable[Any]) -> str:
    """Return the reason if a record stands twice, or not in the order of times and numbers, or an empty text.

    Records without an id or a time say nothing.
    """
    by_id: dict[Any, dict[str, Any]] = {}
    latest = number = float("-inf")
    for place, record in enumerate(records):
        if not isinstance(record, dict):
            continue
        info = record.get("info")
        own = info if isinstance(info, dict) else record
        name = next((own[key] for key in _IDS if isinstance(own.get(key), str | int)), None)
        if name is not None and by_id.setdefault(name, record) is not record and by_id[name] == record:
            return f"/{place} stands twice"
        time, step = _seconds(own), own.get("step_id")
        if (time is not None and time < latest - _LEAST_SECONDS) or (isinstance(step, int) and step < number):
            return f"/{place} is earlier than a record before it"
        latest = latest if time is None else max(latest, time)
        number = step if isinstance(step, int) else number
    return ""


def find_disorder_in(values: list[Any]) -> str:
    """Return the same reason for the lines of a log, or for the first list of records in its only document."""
    top = values[0] if len(values) == 1 else None
    if isinstance(top, dict):
        values = next((top[key] for key in _LISTS if isinstance(top.get(key), list)), values)
    return find_disorder(values)


def _seconds(record: dict[str, Any]) -> float | None:
    times = record.get("time")
    value = times.get("created") if isinstance(times, dict) else next(filter(None, map(record.get, _TIMES)), None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000 if value > 1e11 else float(value)
    return read_seconds(value)
