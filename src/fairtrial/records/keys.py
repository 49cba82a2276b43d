"""The identity of a case in any run: its eval set, its id, and a digest of its expectations. And that of an outcome."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import msgspec

from fairtrial.records.case import Behavior, EvalCase, Persona, Scenario, SessionInput
from fairtrial.records.record import Json, Record, default_values
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Trace

_SHORT_LENGTH = 12
_KEY_LENGTH = 16
_SAME_IN_JSON = frozenset({str, int, bool, type(None)})

KEY_FIELDS: dict[type[msgspec.Struct], tuple[str, ...]] = {
    EvalCase: (
        "conversation",
        "scenario",
        "session_input",
        "rubrics",
        "expected_calls",
        "final_session_state",
        "context",
        "approvals",
    ),
    Invocation: ("user", "steps", "final_response", "rubrics"),
    Message: ("text", "parts"),
    Part: ("mime_type", "uri", "data", "name"),
    Thought: ("text",),
    ToolCall: ("name", "args"),
    ToolResult: ("name", "response", "is_error"),
    Rubric: ("id", "text", "description", "type"),
    Scenario: ("starting_prompt", "conversation_plan", "persona"),
    Persona: ("id", "description", "behaviors"),
    Behavior: ("name", "description", "behavior_instructions", "violation_rubrics"),
    SessionInput: ("app_name", "user_id", "state"),
}
"""The fields of a case that count: the input of the agent, its initial state, and the expectations.

Ids of invocations and calls, authors, creation times, recorded usage and `extra` do not count. A field that a later
version adds counts if it is listed here. Digests of earlier cases stay the same while the field has its default.
"""


class CaseKey(Record, frozen=True):
    """The identity of a case in any run. If only their digests differ, two keys are two versions."""

    eval_set: str
    case: str
    digest: str

    @property
    def short(self) -> str:
        """The beginning of the digest, for people. Programs compare the whole digest."""
        return self.digest[:_SHORT_LENGTH]

    def __str__(self) -> str:
        return f"{self.eval_set}:{self.case}@{self.short}"


def case_key(eval_set: str, case: EvalCase) -> CaseKey:
    """Return the key of a case in an eval set."""
    return CaseKey(eval_set, case.id, digest(case))


def digest(case: EvalCase) -> str:
    """Return the SHA-256 of the expectations of a case, as 64 hexadecimal digits.

    The bytes are ASCII JSON of the fields that count. Fields with their default are left out, and keys are sorted. A
    whole number is written without a fraction, so that 1.0 and 1 are equal here as they are in a comparison of
    arguments.
    """
    text = json.dumps(_canonical(case), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def outcome_key(criterion: str, case_digest: str, trace: Trace) -> str:
    """Return the key of an outcome, 16 hexadecimal digits of a SHA-256: the criterion, the case and the recorded trace.

    The key stays the same when the trace is judged again, and no other reply has it.
    """
    text = msgspec.json.encode([criterion, case_digest, trace], order="sorted")
    return hashlib.sha256(text).hexdigest()[:_KEY_LENGTH]


def _canonical(value: Any) -> Json:
    """Return a value as JSON that is equal for equal expectations."""
    if type(value) in _SAME_IN_JSON:
        return value
    if isinstance(value, msgspec.Struct):
        return _fields(value)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _fields(record: msgspec.Struct) -> dict[str, Json]:
    """Return the fields of a record that count and differ from their defaults, and its kind when there are several."""
    fields = {
        name: _canonical(value)
        for name, default in _defaults(type(record))
        if (value := getattr(record, name)) != default
    }
    tag = record.__struct_config__.tag
    return fields if tag is None else {**fields, "kind": tag}


@cache
def _defaults(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a kind of record that count, with their defaults."""
    return tuple((name, default) for name, default in default_values(kind) if name in KEY_FIELDS[kind])
