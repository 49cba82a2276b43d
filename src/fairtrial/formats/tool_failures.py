"""Did a tool fail? Tools mark failures in several ways, and all readers use these rules."""

from __future__ import annotations

from fairtrial.records.record import Json

_FLAGS = ("is_error", "isError")
_FAILED_STATUS = frozenset({"error", "failed", "failure", "exception"})
_FAILED_START = ("error", "exception", "traceback (most recent call last)")


def stated_failure(fields: dict[str, Json]) -> bool | None:
    """Return whether the keys beside a response state a failure, or None if they state nothing.

    The keys are `is_error` (Anthropic), `isError` (MCP) and `status` (LangChain).
    """
    for key in _FLAGS:
        if isinstance(fields.get(key), bool):
            return bool(fields[key])
    return True if fields.get("status") == "error" else None


def is_failure(response: Json) -> bool:
    """Whether a response itself says that the tool failed, for example `{"error": "no such order"}` of ADK.

    A text fails if it begins like an error message. A text in an object of one key counts like a bare text.
    """
    if isinstance(response, dict) and len(response) == 1:
        inner = next(iter(response.values()))
        response = inner if isinstance(inner, str) and "error" not in response else response
    if isinstance(response, str):
        return response.lstrip().lower().startswith(_FAILED_START)
    return isinstance(response, dict) and _states_failure(response)


def _states_failure(response: dict[str, Json]) -> bool:
    if any(response.get(key) for key in ("error", "errors", "exception", *_FLAGS)):
        return True
    if any(response.get(key) is False for key in ("success", "ok")):
        return True
    status = response.get("status")
    return isinstance(status, str) and status.lower() in _FAILED_STATUS
