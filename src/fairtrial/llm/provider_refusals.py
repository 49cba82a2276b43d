"""Classify what a provider refuses: whether it may succeed later, after which time, and whether money is left."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from fairtrial.llm.model import CallError, ExhaustedError, RefusedError

UNUSABLE = {401, 404}
"""Statuses that say, before the first reply, that the key or the model is wrong."""
TRANSIENT = {408, 409, 424, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529}
OVERLOAD = {429, 503, 529}
_EXHAUSTED = re.compile(r"insufficient_quota|billing_(hard_limit|not_active)|credit balance is too low", re.IGNORECASE)
"""Refusals that no waiting ends, because the account has no money left."""


def make_failure(
    status: int, headers: Mapping[str, str], body: object, kind: str, clean: Callable[[str], str]
) -> CallError:
    """Return the failure that a refusal means.

    `kind` is how its cause begins. `clean` takes secrets out of the cause.
    """
    error, message = _error_in(body)
    cause = clean(f"{kind}: {message[:500]}")
    if _EXHAUSTED.search(f"{cause} {error.get('code', '')}"):
        return ExhaustedError(cause)
    if status not in TRANSIENT:
        return CallError(cause)
    return RefusedError(cause, overload=status in OVERLOAD, after=retry_after(headers, body))


def _error_in(body: object) -> tuple[Mapping[str, Any], str]:
    """Return the error in a response body, and its message. A gateway adds its provider's message."""
    error = body
    for name in ("error", "Error"):  # boto3 writes Error and Message
        error = (body.get(name) or error) if isinstance(body, dict) else error
    if not isinstance(error, dict):
        return {}, str(error)
    message = str(error.get("message") or error.get("Message") or error)
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return error, f"{message} ({str(raw)[:300]})" if raw else message


def retry_after(headers: Mapping[str, str], body: object = None) -> float | None:
    """Return the seconds that a refusal asks to wait: Retry-After (seconds or a date), or Google's RetryInfo."""
    milliseconds, delay = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        if delay and delay.replace(".", "", 1).isdigit():
            return float(delay)
        if delay:
            return max(0.0, (parsedate_to_datetime(delay) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
    error = body.get("error", body) if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        seconds = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(seconds, str) and seconds.endswith("s") and seconds[:-1].replace(".", "", 1).isdigit():
            return float(seconds[:-1])
    return None
