"""Traces of Langfuse: as its API gives them, and as its user interface downloads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import camel
from fairtrial.formats.spans.span import Span
from fairtrial.formats.spans.span_values import hex_id, nanoseconds, structured

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_FIELDS = {
    "input": "input",
    "output": "output",
    "model": "model.name",
    "usageDetails": "usage_details",
    "usage": "usage_details",
    "completionStartTime": "completion_start_time",
}
"""The fields of an observation, with the end of the attribute that the SDK sends for the same."""


def is_document(value: Any) -> bool:
    """Whether a value is a trace with its observations, or an observation alone."""
    return isinstance(value, dict) and (_is_observation(value) or any(map(_is_observation, _observations(value)[:1])))


def items(document: dict[str, Any]) -> Iterator[Span]:
    """Yield a span for each observation."""
    if _is_observation(document):
        yield _span(_as_api(document) if _is_exported(document) else document, {})
        return
    trace = document["trace"] if isinstance(document.get("trace"), dict) else document
    observations = [observation for observation in _observations(document) if isinstance(observation, dict)]
    texts = {text for observation in observations for text in _user_texts(observation)}
    for observation in observations:
        yield _span(_with_instructions(observation, texts) if texts else observation, trace)


def _is_observation(value: Any) -> bool:
    return isinstance(value, dict) and ({"traceId", "type", "startTime"} <= value.keys() or _is_exported(value))


def _is_exported(value: dict[str, Any]) -> bool:
    """Whether an observation comes from the export to a blob storage, which spells its keys as the database does."""
    return {"trace_id", "type", "start_time", "parent_observation_id"} <= value.keys()


def _as_api(row: dict[str, Any]) -> dict[str, Any]:
    """Return an observation of the export as the API gives it."""
    observation = {camel(key): value for key, value in row.items()}
    model = row.get("provided_model_name") or row.get("model")
    return observation if model is None else {**observation, "model": model}


def _observations(document: dict[str, Any]) -> list[Any]:
    """Return the observations, which stand beside the trace or in it."""
    inner = document.get("trace")
    for holder in (document, inner if isinstance(inner, dict) else {}):
        if isinstance(holder.get("observations"), list):
            return list(holder["observations"])
    return []


def _user_texts(observation: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of the user among the messages of LangChain that a graph got.

    The state of a graph may hold them under any key. `messages` is only the usual one.
    """
    given = structured(observation.get("input"))
    for messages in given.values() if isinstance(given, dict) else ():
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) and message.get("type") == "human" and isinstance(message.get("content"), str):
                yield message["content"]


def _with_instructions(observation: dict[str, Any], user_texts: set[str]) -> dict[str, Any]:
    """Return a call of a model whose instructions have the role of the system.

    In some versions, Langfuse writes all messages of LangChain with the role of the user.
    """
    messages = structured(observation.get("input"))
    if observation.get("type") != "GENERATION" or not isinstance(messages, list):
        return observation
    corrected = [
        {**message, "role": "system"} if _is_instruction(message, user_texts) else message for message in messages
    ]
    return {**observation, "input": corrected}


def _is_instruction(message: Any, user_texts: set[str]) -> bool:
    is_user = isinstance(message, dict) and message.get("role") == "user"
    return is_user and isinstance(message.get("content"), str) and message["content"] not in user_texts


def _span(observation: dict[str, Any], trace: dict[str, Any]) -> Span:
    """Return an observation as the span that the SDK sends. Langfuse keeps the attributes of other instrumentations."""
    metadata = structured(observation.get("metadata"))
    original = metadata.get("attributes") if isinstance(metadata, dict) else None
    attributes: dict[str, Json] = dict(original) if isinstance(original, dict) else {}
    for field, name in _FIELDS.items():
        if observation.get(field) is not None:
            attributes.setdefault(f"langfuse.observation.{name}", observation[field])
    attributes["langfuse.observation.type"] = str(observation.get("type")).lower()
    session = observation.get("sessionId") or trace.get("sessionId")
    if session:
        attributes["langfuse.session.id"] = session
    failed = observation.get("level") == "ERROR"
    return Span(
        hex_id(observation.get("traceId")),
        hex_id(observation.get("id")),
        hex_id(observation.get("parentObservationId")),
        str(observation.get("name") or ""),
        start=nanoseconds(observation.get("startTime")) or 0,
        end=nanoseconds(observation.get("endTime")),
        attributes=attributes,
        failure=str(observation.get("statusMessage") or "ERROR") if failed else "",
    )
