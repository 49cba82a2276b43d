"""Recognise tool failures. Tools mark failures in several ways, and all readers use these rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_FLAGS = ("is_error", "isError")
_FAILURE_KEYS = frozenset((*_FLAGS, "error", "errors", "exception"))
_SUCCESS_KEYS = frozenset(("success", "ok"))
_MARKS = _FAILURE_KEYS | _SUCCESS_KEYS | {"status"}
_FAILED_STATUS = frozenset({"error", "failed", "failure", "exception"})
_FAILED_START = ("error", "exception", "traceback (most recent call last)")


def declares_failure(fields: dict[str, Json]) -> bool | None:
    """Return whether the keys beside a response state a failure, or None if they state nothing.

    The keys are `is_error` (Anthropic), `isError` (MCP) and `status` (LangChain).
    """
    for key in _FLAGS:
        if isinstance(fields.get(key), bool):
            return bool(fields[key])
    return True if fields.get("status") == "error" else None


def has_failed(response: Json, stated: bool | None) -> bool:
    """Whether a tool failed: as the keys beside its response state, or otherwise as the response itself says."""
    return is_failure(response) if stated is None else stated


def is_failure(response: Json) -> bool:
    """Whether a response itself says that the tool failed, for example `{"error": "no such order"}` of ADK.

    A text fails if it begins like an error message. A text in an object of one key counts like a bare text.
    """
    if isinstance(response, dict) and len(response) == 1:
        inner = next(iter(response.values()))
        response = inner if isinstance(inner, str) and "error" not in response else response
    if isinstance(response, str):
        return response.lstrip().lower().startswith(_FAILED_START)
    # Most responses have none of the keys, and files hold many responses.
    return isinstance(response, dict) and not _MARKS.isdisjoint(response) and _states_failure(response)


def _states_failure(response: dict[str, Json]) -> bool:
    for key in _MARKS.intersection(response):
        value = response[key]
        if key in _FAILURE_KEYS:
            fails = bool(value)
        elif key in _SUCCESS_KEYS:
            fails = value is False
        else:
            fails = isinstance(value, str) and value.lower() in _FAILED_STATUS
        if fails:
            return True
    return False
