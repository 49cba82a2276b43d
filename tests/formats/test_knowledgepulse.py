"""KnowledgePulse's JSON-LD: read, refused with every reason, and written back unchanged."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.errors import FormatError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace, RefusedTrace

TRACE: dict[str, Any] = {
    "@context": "https://openknowledgepulse.org/schema/v1",
    "@type": "ReasoningTrace",
    "id": "kp:trace:1",
    "source_skill": "review",
    "metadata": {
        "created_at": "2024-02-29T03:04:05.678Z",
        "agent_id": "a",
        "framework": "f",
        "task_domain": "testing",
        "success": True,
        "quality_score": 0.5,
        "visibility": "org",
        "privacy_level": "federated",
        "validated_by": ["x", "y"],
    },
    "task": {"objective": "do it", "input_schema": {"type": "object"}},
    "steps": [
        {"step_id": 0, "type": "thought", "content": ""},
        {
            "step_id": 1,
            "type": "tool_call",
            "tool": {"name": "t", "mcp_server": "m"},
            "input": {},
            "output_summary": "o",
            "latency_ms": 1.5,
        },
    ],
    "outcome": {"result_summary": "done", "confidence": 1},
    "knowledge_graph_delta": {
        "entities": [{"name": "n", "type": "t"}],
        "relationships": [{"fact": "f", "valid_from": "2026"}],
    },
}


def _without(*path: str | int) -> dict[str, Any]:
    trace: Any = copy.deepcopy(TRACE)
    inner = trace
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return dict(trace)


def _with(value: Any, *path: str | int) -> dict[str, Any]:
    trace: Any = copy.deepcopy(TRACE)
    inner = trace
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return dict(trace)


def _pointers(raw: Any) -> list[str]:
    found = knowledgepulse.build(raw)
    assert isinstance(found, RefusedTrace), "the trace was taken"
    return [problem.pointer for problem in found.problems]


def test_every_field_is_read_and_written_back() -> None:
    """A trace that has every field of the schema comes back equal, an empty content included."""
    assert json.loads(knowledgepulse.dumps(knowledgepulse.loads(json.dumps(TRACE)))) == TRACE


OBJECTS: list[tuple[str | int, ...]] = [
    (),
    ("metadata",),
    ("task",),
    ("outcome",),
    ("steps", 0),
    ("steps", 1, "tool"),
    ("knowledge_graph_delta",),
    ("knowledge_graph_delta", "entities", 0),
    ("knowledge_graph_delta", "relationships", 0),
]


@pytest.mark.parametrize("place", OBJECTS)
@pytest.mark.parametrize("key", ["note", "extra", "x~y/z", ""])
def test_unknown_keys_survive_a_round_trip(place: tuple[str | int, ...], key: str) -> None:
    """A key that the schema does not know is kept in whatever object it stands, even one with a name of ours."""
    raw = _with({"kept": [1, None, "é"]}, *place, key)
    trace = knowledgepulse.build(raw)
    assert isinstance(trace, ReasoningTrace)
    assert json.loads(knowledgepulse.dumps(trace)) == raw


REQUIRED: list[tuple[str | int, ...]] = [
    ("@context",),
    ("@type",),
    ("id",),
    ("metadata",),
    ("metadata", "created_at"),
    ("metadata", "task_domain"),
    ("metadata", "success"),
    ("metadata", "quality_score"),
    ("metadata", "visibility"),
    ("metadata", "privacy_level"),
    ("task",),
    ("task", "objective"),
    ("steps",),
    ("steps", 1, "step_id"),
    ("steps", 1, "type"),
    ("steps", 1, "tool", "name"),
    ("outcome",),
    ("outcome", "result_summary"),
    ("outcome", "confidence"),
    ("knowledge_graph_delta", "entities"),
    ("knowledge_graph_delta", "relationships", 0, "fact"),
]


@pytest.mark.parametrize("place", REQUIRED)
def test_a_missing_field_is_named_by_its_pointer(place: tuple[str | int, ...]) -> None:
    """Whatever is required and absent is the one problem, at its own place."""
    assert _pointers(_without(*place)) == ["/" + "/".join(map(str, place))]


WRONG: list[tuple[Any, tuple[str | int, ...]]] = [
    ("trace:1", ("id",)),
    ("2026-02-29T00:00:00Z", ("metadata", "created_at")),
    ("2026-02-28T24:00:00Z", ("metadata", "created_at")),
    ("2026-02-28T00:00:00Z\n", ("metadata", "created_at")),
    ("٢٠٢٦-02-28T00:00:00Z", ("metadata", "created_at")),
    (None, ("metadata", "agent_id")),
    (None, ("steps", 0, "content")),
    (True, ("outcome", "confidence")),
    (1.0000001, ("outcome", "confidence")),
    (1.5, ("steps", 0, "step_id")),
    (True, ("steps", 0, "step_id")),
    (10**400, ("steps", 1, "latency_ms")),
    ([], ("steps", 1, "input")),
    ({}, ("steps",)),
    ("x", ("knowledge_graph_delta", "entities")),
    (3, ("metadata", "validated_by", 1)),
    ("other", ("steps", 1, "type")),
    ([], ("metadata",)),
]


@pytest.mark.parametrize(("value", "place"), WRONG)
def test_a_wrong_value_is_named_by_its_pointer(value: Any, place: tuple[str | int, ...]) -> None:
    """A value of the wrong kind or out of range is the one problem, at its own place."""
    assert _pointers(_with(value, *place)) == ["/" + "/".join(map(str, place))]


def test_all_problems_are_told_at_once() -> None:
    """Three things wrong in three places are three problems, in the order of the schema."""
    raw = _with(2, "outcome", "confidence")
    del raw["metadata"]["success"]
    raw["steps"][1]["type"] = "reflection"
    assert _pointers(raw) == ["/metadata/success", "/steps/1/type", "/outcome/confidence"]


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """1.0 is the step id 1, as it is in JavaScript."""
    trace = knowledgepulse.build(_with(1.0, "steps", 1, "step_id"))
    assert isinstance(trace, ReasoningTrace)
    assert trace.steps[1].step_id == 1


def test_a_misspelt_key_is_pointed_out() -> None:
    """A missing field names the unknown key that looks like it."""
    raw = _without("metadata", "success")
    raw["metadata"]["sucess"] = True
    with pytest.raises(FormatError, match=r"/metadata/success: is missing; is 'sucess' meant\?"):
        knowledgepulse.loads(json.dumps(raw), "a.json")


HOSTILE = {
    "a nesting bomb": b'{"steps":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nested just below what the decoder takes": b'{"steps":' + b"[" * 500 + b"]" * 500 + b"}",
    "a huge exponent": b'{"id": 1e999}',
    "a huge integer": b'{"id": 1' + b"0" * 5000 + b"}",
    "NaN": b'{"id": NaN}',
    "half a surrogate pair": b'"\\ud800"',
    "wrong encoding": '{"id": "é"}'.encode("latin-1"),
    "UTF-16": '{"id": "é"}'.encode("utf-16"),
    "nothing": b"",
    "cut off": b'{"id": "kp:trace:1", ',
    "a list": b"[]",
    "a string": b'"x"',
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_refused(data: bytes) -> None:
    """Whatever the bytes are, they are refused with a FormatError and nothing else."""
    with pytest.raises(FormatError):
        knowledgepulse.loads(data)


def test_a_byte_order_mark_is_no_problem() -> None:
    """Editors on Windows write one."""
    assert knowledgepulse.loads(b"\xef\xbb\xbf" + json.dumps(TRACE).encode()).id == "kp:trace:1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PLACES: list[tuple[str | int, ...]] = [*REQUIRED, ("steps", 0), ("steps", 1, "tool"), ("steps", 1, "input")]


@given(value=JSON, place=st.sampled_from(PLACES))
def test_any_value_anywhere_is_taken_or_refused_with_a_pointer(value: Any, place: tuple[str | int, ...]) -> None:
    """A trace with one part replaced by any JSON is either valid, and written back equal, or refused with reasons."""
    raw = _with(value, *place)
    found = knowledgepulse.build(raw)
    if isinstance(found, RefusedTrace):
        assert found.problems
        assert all(problem.pointer.startswith("/" + str(place[0])) for problem in found.problems)
    else:
        assert json.loads(knowledgepulse.dumps(found)) == json.loads(msgspec.json.encode(raw))


@pytest.mark.shared
def test_every_trace_of_the_vectors_is_taken_or_refused_as_listed(shared: Path) -> None:
    """All valid vectors are read and written back equal; every invalid one is refused with exactly its paths."""
    vectors = json.loads((shared / "vectors" / "value.json").read_text(encoding="utf-8"))
    for one in vectors["valid"]:
        trace = knowledgepulse.build(one["trace"])
        assert isinstance(trace, ReasoningTrace), one["tags"]
        assert json.loads(knowledgepulse.dumps(trace)) == one["trace"]
    for one in vectors["invalid"]:
        expected = ["/" + issue["path"].replace(".", "/") for issue in one["issues"]]
        assert _pointers(one["trace"]) == expected, one["tags"]


def test_a_trace_goes_through_a_conversation_and_back() -> None:
    """What was loaded as a conversation gives back the same reasoning trace."""
    trace = knowledgepulse.loads(json.dumps(_with("kept", "steps", 0, "note")))
    assert knowledgepulse.original(knowledgepulse.to_trace(trace)) == trace


def test_a_conversation_tells_the_same_as_its_trace() -> None:
    """The objective is the user's message, tools are calls with their answers, the result is the reply."""
    invocation = knowledgepulse.to_trace(knowledgepulse.loads(json.dumps(TRACE))).invocations[0]
    assert invocation.query == "do it"
    assert [call.name for call in invocation.tool_calls] == ["t"]
    assert invocation.reply == "done"


@pytest.mark.parametrize(("success", "outcome"), [(True, "success"), (False, "failure")])
def test_success_and_latency_have_fields_in_the_conversation(*, success: bool, outcome: str) -> None:
    """The latency of a step with a tool is the duration of its call."""
    raw = json.loads(json.dumps(TRACE))
    raw["metadata"]["success"] = success
    raw["steps"] = [{"step_id": 0, "type": "tool_call", "content": "hm", "tool": {"name": "t"}, "latency_ms": 250}]
    trace = knowledgepulse.to_trace(knowledgepulse.loads(json.dumps(raw)))
    assert trace.outcome == outcome
    assert [step.seconds for step in trace.invocations[0].steps or ()] == [None, 0.25]


def test_a_trace_with_unknown_keys_is_read_as_without_them() -> None:
    """Unknown keys in every object change nothing else, and stay where they stood."""
    plain = knowledgepulse.build(TRACE)
    marked = json.loads(json.dumps(TRACE), object_hook=lambda value: value | {"x_unknown": [1]})
    trace = knowledgepulse.build(marked)
    assert isinstance(trace, ReasoningTrace)
    assert isinstance(plain, ReasoningTrace)
    assert trace.text == plain.text
    assert json.loads(knowledgepulse.dumps(trace)) == marked
