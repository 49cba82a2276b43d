"""The parts of an invocation that ADK's own reader accepts. It refuses a file for any other key."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_Shape = dict[str, Any]
"""The keys of an object, each with the shape of its value. None accepts any value."""


def _keys(names: str, **shapes: _Shape) -> _Shape:
    return {**dict.fromkeys(names.split()), **shapes}


_CALL = _keys("id args name partial_args will_continue")
_RESULT = _keys("will_continue scheduling parts id name response")
_PART = _keys(
    "media_resolution code_execution_result executable_code text thought thought_signature video_metadata tool_call "
    "tool_response part_metadata",
    function_call=_CALL,
    function_response=_RESULT,
    inline_data=_keys("data display_name mime_type"),
    file_data=_keys("display_name file_uri mime_type"),
)
_CONTENT = _keys("role", parts=_PART)
_RUBRIC = _keys("rubric_id description type", rubric_content=_keys("text_property"))
_AGENT = _keys("name instructions tool_declarations")
_INVOCATION = _keys(
    "invocation_id creation_timestamp duration model_duration tool_duration intermediate_data app_details",
    user_content=_CONTENT,
    final_response=_CONTENT,
    rubrics=_RUBRIC,
)
_BY_HAND = _keys("intermediate_responses", tool_uses=_CALL, tool_responses=_RESULT)


def strict_invocation(invocation: dict[str, Json]) -> dict[str, Json]:
    """Return an invocation without the keys that ADK does not know, and with values that ADK can read.

    For example, ADK reads only objects as responses of tools. The response `"3 °C"` becomes `{"result": "3 °C"}`, as
    ADK itself writes the result of a function.
    """
    result: dict[str, Json] = _prune_value(invocation, _INVOCATION)
    data, details = result.get("intermediate_data"), result.get("app_details")
    if isinstance(data, dict):
        result["intermediate_data"] = _intermediate(data)
    if isinstance(details, dict):
        agents = details.get("agent_details") or {}
        result["app_details"] = {"agent_details": {key: _prune_value(agent, _AGENT) for key, agent in agents.items()}}
    return result


def _intermediate(data: dict[str, Json]) -> dict[str, Json]:
    # ADK ignores other keys of an event, but not other keys of its content.
    if "invocation_events" in data:
        events = data["invocation_events"]
        return {"invocation_events": [{**event, **_read_content(event)} for event in events]}
    by_hand: dict[str, Json] = _prune_value(data, _BY_HAND)
    if "intermediate_responses" in by_hand:
        pairs = by_hand["intermediate_responses"]
        by_hand["intermediate_responses"] = [[author, _prune_value(parts, _PART)] for author, parts in pairs]
    return by_hand


def _read_content(event: dict[str, Json]) -> dict[str, Json]:
    return {"content": _prune_value(event["content"], _CONTENT)} if event.get("content") else {}


def _prune_value(value: Json, shape: _Shape) -> Json:
    """Return an object, or each object of an array, with the keys of a shape only."""
    if isinstance(value, list):
        return [_prune_value(item, shape) for item in value]
    if not isinstance(value, dict):
        return value
    fields = {
        key: inner if shape[key] is None else _prune_value(inner, shape[key])
        for key, inner in value.items()
        if key in shape
    }
    if shape is _RESULT and not isinstance(fields.get("response"), dict | None):
        fields["response"] = {"result": fields["response"]}
    if shape is _PART and not _has_readable_data(fields):
        return {"text": f"[{fields['inline_data'].get('mime_type') or 'data'} that is not base64]"}
    return fields


def _has_readable_data(part: dict[str, Json]) -> bool:
    data = (part.get("inline_data") or {}).get("data")
    try:
        base64.b64decode((data or "").replace("-", "+").replace("_", "/"), validate=True)
    except (AttributeError, binascii.Error, ValueError):
        return False
    return True
