"""Read the invocations of a recorded ADK session. Its events are grouped at the user messages."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import spellings
from fairtrial.formats.accounting import note_unread_leaf, with_unread
from fairtrial.formats.adk import content
from fairtrial.formats.known_keys import prose_leaves
from fairtrial.formats.record_order import find_disorder
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Invocation, Message, Step, Trace, Usage, incomplete_trace, split_reply

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_KNOWN = frozenset(
    spellings(
        *("author", "content", "id", "invocation_id", "timestamp", "actions", "partial", "turn_complete", "branch"),
        *("long_running_tool_ids", "error_code", "error_message", "interrupted", "usage_metadata", "finish_reason"),
        *("grounding_metadata", "citation_metadata", "custom_metadata", "cache_metadata", "logprobs_result"),
        *(
            "model_version",
            "avg_logprobs",
            "live_session_resumption_update",
            "interaction_id",
            "node_info",
            "isolation",
        ),
    )
)
"""The keys of an event that are read, or carry nothing for scoring. A delta of the state may repeat the reply."""
SESSION = spellings("id", "app_name", "user_id", "state", "events", "last_update_time")


def is_event(value: dict[str, Any]) -> bool:
    """Whether a value is an event of a session, for example of a list of events."""
    has_id = "invocationId" in value or "invocation_id" in value
    return "author" in value and has_id and not {"content", "actions", "errorCode", "error_code"}.isdisjoint(value)


def recording(raw: Any, reading: Diagnostics, *, stem: str) -> Recording:
    """Return the session as a recording. A user's text starts an invocation, the agent's last text is its reply."""
    fields, extra = reading.fields(raw, SESSION, (), open_ended=True)
    invocations: list[Invocation] = []
    group: list[tuple[int, dict[str, Any]]] = []
    events = reading.array(fields, "events", ())
    for i, event in enumerate(events):
        if type(event) is not dict:
            reading.wrong_type((((), "events"), i), "an object", event)
            continue
        if event.get("partial"):
            continue  # a later event repeats the pieces of a stream as a whole
        if _is_query(event) and group:
            invocations.append(_invocation(group, reading))
            group = []
        group.append((i, event))
        _account(event, (((), "events"), i), reading)
    if group:
        invocations.append(_invocation(group, reading))
    session_id = reading.text(fields, "id", (), stem)
    trace = Trace(tuple(invocations), session_id, reading.mapping(fields, "state", ()), extra=extra)
    return Recording(session_id, incomplete_trace(with_unread(trace, reading), find_disorder(events)))


def _account(event: dict[str, Any], at: Place, reading: Diagnostics) -> None:
    """Note a text of an event under a key that is not read, for example the transcription of what was spoken."""
    if not _KNOWN.issuperset(event):
        rest = {key: value for key, value in event.items() if key not in _KNOWN}
        for place, _ in islice(prose_leaves(rest, at), 1):
            note_unread_leaf(place, reading)


def _is_query(event: dict[str, Any]) -> bool:
    parts = (event.get("content") or {}).get("parts") if isinstance(event.get("content"), dict) else None
    if event.get("author") != "user" or not isinstance(parts, list):
        return False
    return any(isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts)


def _invocation(group: list[tuple[int, dict[str, Any]]], reading: Diagnostics) -> Invocation:
    user = Message("")
    steps: list[Step] = []
    usages: list[Usage] = []
    name = ""
    for i, raw in group:
        at: Place = (((), "events"), i)
        name = name or str(raw.get("invocation_id") or raw.get("invocationId") or "")
        if _is_query(raw):
            user = content.message(raw["content"], (at, "content"), reading, role="user")
            continue
        _, event_steps, usage = content.event(raw, at, reading)
        steps += event_steps
        if usage is not None:
            usages.append(usage)
    before, final = split_reply(steps)
    return Invocation(user, before, final, name, tuple(usages))
