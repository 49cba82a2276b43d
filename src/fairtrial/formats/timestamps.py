"""Read step timestamps and the facts beside messages, and compute the durations of invocations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from fairtrial.records.trace import Durations, Invocation, Trace

_EARLIEST, _LATEST = 1e8, 1e11
"""A number between these is a time in seconds, from 1973 to 5138. In milliseconds, it would be before March 1973."""


def model_beside(trace: Trace) -> str | None:
    """Return the model beside the messages of a request: `{"model": "m", "messages": [...]}` names m."""
    model = (trace.extra or {}).get("model")
    return model if isinstance(model, str) and model else None


def time_beside(trace: Trace) -> float | None:
    """Return the time beside the messages of a request, `created`, in seconds since 1970.

    It is a number of seconds, as OpenAI writes it, or a text in ISO 8601.
    """
    created = (trace.extra or {}).get("created")
    if isinstance(created, int | float) and _EARLIEST <= created < _LATEST:
        return float(created)
    return read_seconds(created)


def read_seconds(raw: Any) -> float | None:
    """Return an ISO 8601 text as seconds since 1970, or None for anything else. A time without a zone is UTC."""
    if not isinstance(raw, str):
        return None
    try:
        time = datetime.fromisoformat(raw)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def time_text(milliseconds: float) -> str:
    """Return milliseconds since 1970 in ISO 8601 and local time, or an empty text beyond the calendar."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def with_durations(trace: Trace) -> Trace:
    """Return a trace whose invocations begin with their first step and end with their last, as the steps say."""
    return replace(trace, invocations=tuple(map(_add_times, trace.invocations)))


def _add_times(invocation: Invocation) -> Invocation:
    steps = [invocation.user, *(invocation.steps or ())]
    steps += [invocation.final_response] if invocation.final_response is not None else []
    starts = [step.started for step in steps if step.started is not None]
    if not starts:
        return invocation
    ends = [step.started + (step.seconds or 0.0) for step in steps if step.started is not None]
    return replace(invocation, created=min(starts), durations=Durations(total=max(ends) - min(starts)))
