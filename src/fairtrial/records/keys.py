"""The identity of a case in any run: its eval set, its id, and a digest of its expectations. And that of an outcome."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring_ascii as _quoted
from operator import attrgetter
from typing import Any

import msgspec

from fairtrial.records.attack import AttackGoal, PlantedAttack
from fairtrial.records.case import Behavior, EvalCase, Persona, Scenario, SessionInput
from fairtrial.records.check import Check
from fairtrial.records.record import Json, Record, default_values
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Trace
from fairtrial.records.workspace import CaseFile, Workspace, WorkspaceCheck

_SHORT_LENGTH = 12
_KEY_LENGTH = 16

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
        "expected_failure",
        "checks",
        "workspace",
        "environment",
        "attack",
    ),
    Invocation: ("user", "steps", "final_response", "rubrics", "checks"),
    Message: ("text", "parts"),
    Part: ("mime_type", "uri", "data", "name"),
    Thought: ("text",),
    ToolCall: ("name", "args"),
    ToolResult: ("name", "response", "is_error"),
    Check: (
        "kind",
        "value",
        "checks",
        "tool",
        "argument",
        "calls",
        "ignore_case",
        "fenced",
        "threshold",
    ),
    Workspace: ("files", "triggers", "checks"),
    PlantedAttack: PlantedAttack.__struct_fields__,
    AttackGoal: AttackGoal.__struct_fields__,
    CaseFile: ("source", "target", "sha256", "revision"),
    WorkspaceCheck: tuple(name for name in WorkspaceCheck.__struct_fields__ if name != "name"),
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
    """Return the SHA-256 of the expectations of a case, as 64 hexadecimal digits."""
    return digest_bytes(case).hex()


def digest_bytes(case: EvalCase) -> bytes:
    """Return the SHA-256 of the expectations of a case, as 32 bytes.

    The bytes are ASCII JSON of the fields that count. Fields with their default are left out, and keys are sorted. A
    whole number is written without a fraction, so that 1.0 and 1 are equal here as they are in a comparison of
    arguments.
    """
    return hashlib.sha256(_WRITERS[EvalCase](case).encode("ascii")).digest()


def outcome_key(criterion: str, case_digest: str, trace: Trace) -> str:
    """Return the key of an outcome, 16 hexadecimal digits of a SHA-256: the criterion, the case and the recorded trace.

    The key stays the same when the trace is judged again, and no other reply has it.
    """
    text = msgspec.json.encode([criterion, case_digest, trace], order="sorted")
    return hashlib.sha256(text).hexdigest()[:_KEY_LENGTH]


def _record_writer(kind: type[msgspec.Struct]) -> Callable[[Any], str]:
    """Return a function that writes those fields of a record that count and differ from their defaults.

    It writes the kind of the record, too, if there are several.
    """
    tag = kind.__struct_config__.tag
    fields = {
        name: (f"{_quoted(name)}:", default) for name, default in default_values(kind) if name in KEY_FIELDS[kind]
    }
    if tag is not None:
        fields["kind"] = (f'"kind":{_quoted(str(tag))}', None)
    names = sorted(fields)
    beginnings = [fields[name] for name in names]
    get_values = attrgetter(*["__class__" if name == "kind" and tag is not None else name for name in names])

    def write(record: msgspec.Struct) -> str:
        values = get_values(record) if len(names) > 1 else (get_values(record),)
        texts = [
            beginning + _WRITERS[type(value)](value)
            for value, (beginning, default) in zip(values, beginnings, strict=True)
            if value is not default and value != default
        ]
        return "{" + ",".join(texts) + "}"

    return write


def _write_object(value: dict[str, Json]) -> str:
    return "{" + ",".join([f"{_quoted(key)}:{_WRITERS[type(value[key])](value[key])}" for key in sorted(value)]) + "}"


def _write_list(value: Sequence[Any]) -> str:
    return "[" + ",".join([_WRITERS[type(item)](item) for item in value]) + "]"


def _write_number(value: float) -> str:
    return str(int(value)) if value.is_integer() else json.dumps(value)


def _write_truth(value: bool) -> str:
    return "true" if value else "false"


class _Writers(dict[type[Any], Callable[[Any], str]]):
    """The functions that write values as JSON that is equal for equal expectations, by the kind of the value.

    Records are written directly. A tree of dicts and then its JSON would take nearly twice the time.
    """

    def __missing__(self, kind: type[Any]) -> Callable[[Any], str]:
        writer = _record_writer(kind) if issubclass(kind, msgspec.Struct) else json.dumps
        return self.setdefault(kind, writer)


_WRITERS = _Writers(
    {
        str: _quoted,
        bool: _write_truth,
        int: repr,
        float: _write_number,
        dict: _write_object,
        list: _write_list,
        tuple: _write_list,
        type(msgspec.Struct): lambda _: "",  # the class of a record, whose kind is in the beginning of its field
    }
)
