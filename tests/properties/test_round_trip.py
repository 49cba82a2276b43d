"""Everything that was read is written back without loss."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import fairtrial
from builders import call, case, eval_set, files_of_evaluations, load, said, turn
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.recognise import read
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Usage
from strategies import eval_sets

_FREE = {"args", "response", "state", "final_session_state", "tool_declarations"}
"""Keys under which users keep JSON of their own: nothing in it may change."""

_EMPTY = {"args", "state", "agent_details", "content"}
"""Keys under which an empty object says the same as none."""


def snake(key: str) -> str:
    """A key in snake_case."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in key)


def normal(value: Any, key: str = "") -> Any:
    """A document in one spelling, without nulls and without defaults that are written out."""
    if key in _FREE:
        return value
    if isinstance(value, list):
        return [normal(one) for one in value]
    if not isinstance(value, dict):
        return value
    fields = {snake(name): normal(inner, snake(name)) for name, inner in value.items()}
    if fields.get("role") == {"user_content": "user", "final_response": "model"}.get(key):
        fields.pop("role", None)
    if fields.get("thought") is False:
        fields.pop("thought")
    return {name: inner for name, inner in fields.items() if not _says_nothing(name, inner)}


def _says_nothing(name: str, value: Any) -> bool:
    return value is None or value == "" or (value == [] and name != "conversation") or (value == {} and name in _EMPTY)


def written(document: Any) -> Any:
    """A document, read and written."""
    found = load(document, lenient=True).eval_set
    assert found is not None
    return json.loads(dumps(found))


@pytest.mark.long
@given(eval_sets())
def test_any_eval_set_is_written_as_it_was(document: dict[str, Any]) -> None:
    """Load and write loses nothing, unknown keys included."""
    assert normal(written(document)) == normal(document)


@pytest.mark.long
@given(eval_sets())
def test_what_was_written_is_read_as_the_same(document: dict[str, Any]) -> None:
    """Load, write and load gives the same nouns."""
    first = load(document, lenient=True).eval_set
    assert first is not None
    assert load(dumps(first), lenient=True).eval_set == first


def test_thoughts_and_blobs_of_a_reply_are_kept() -> None:
    """Parts that are no text of the reply are written back where they stood."""
    parts = [
        {"text": "hm", "thought": True},
        {"text": "a"},
        {"inline_data": {"mime_type": "image/png", "data": "AA=="}},
    ]
    document = eval_set({"user_content": said("hi"), "final_response": {"role": "model", "parts": parts}})
    assert written(document) == document


def test_text_beside_a_call_is_kept() -> None:
    """A part may say something and call; ADK's own recordings hold signatures beside calls."""
    part = {"function_call": {"name": "f", "args": {"x": None}}, "thought_signature": "c2ln"}
    event = {"author": "agent", "content": {"role": "model", "parts": [part, {"text": "so"}]}, "my_key": {"a": None}}
    document = eval_set({"user_content": said("hi"), "intermediate_data": {"invocation_events": [event]}})
    assert written(document) == document


TIMED: Any = {"started": 1.5, "seconds": 0.25, "span_id": "00f067aa0ba902b7", "parent_id": "a1"}
EVERY_FIELD = (
    ToolCall("get", {"id": 1}, "1", "shop", model="m", **TIMED),
    ToolResult("get", {"text": "gone"}, "1", "shop", is_error=True, **TIMED),
    ToolResult("get", {"error": "expected"}, "2", "shop", is_error=False, started=1.0),
    Thought("hm", "shop", model="m", **TIMED),
    Message("look", "shop", model="m", **TIMED),
    Message("", "shop", parts=(Part("image/png", data="AA==", name="a.png"),), span_id="b2"),
    Message("", "shop", withheld="capture is off"),
    ToolCall("get", author="shop", withheld="capture is off", beginning='{"id": '),
)


@pytest.mark.parametrize("usages", [None, ()])
def test_times_spans_models_and_failures_are_written(usages: tuple[Usage, ...] | None) -> None:
    """ADK's schema has no place for them but the metadata of a part."""
    user = Message("hi", parts=(Part("image/png", "gs://a/b.png"),), started=1.0)
    reply = Message("ok", model="m", seconds=2.0)
    given = EvalSet("set", (EvalCase("case", (Invocation(user, EVERY_FIELD, reply, usages=usages),)),))
    found = read(dumps(given), "again.evalset.json").eval_set
    assert found is not None
    (invocation,) = found.cases[0].conversation or ()
    assert (invocation.user, invocation.steps, invocation.final_response) == (user, EVERY_FIELD, reply)


@pytest.mark.parametrize(
    "usage", [Usage(12, 8, 3, 4, "m"), Usage(0, 0, 0, 0), Usage(5), Usage(output_tokens=2), Usage(model="m"), Usage()]
)
def test_tokens_are_written_with_geminis_names(usage: Usage) -> None:
    """Gemini counts thoughts beside the reply, so the output is split when it is written."""
    recorded = Invocation(Message("hi"), (), Message("ok"), usages=(usage,))
    found = read(dumps(EvalSet("set", (EvalCase("case", (recorded,)),))), "again.evalset.json").eval_set
    assert found is not None
    assert (found.cases[0].conversation or ())[0].usages == (usage,)


def test_the_tokens_of_tool_results_are_input_tokens() -> None:
    """Gemini counts them beside the prompt, OpenTelemetry in the input; a file keeps the names that it had."""
    names = ("prompt", "tool_use_prompt", "candidates", "thoughts", "cached_content")
    counts = {f"{name}_token_count": count for name, count in zip(names, (10, 2, 5, 3, 4), strict=True)}
    event = {"author": "agent", "usage_metadata": counts}
    document = eval_set({"user_content": said("hi"), "intermediate_data": {"invocation_events": [event]}})
    found = load(document).eval_set
    assert found is not None
    assert (found.cases[0].conversation or ())[0].usages == (Usage(12, 8, 3, 4),)
    assert written(document) == document


def test_the_time_and_the_model_of_an_event_are_those_of_its_steps() -> None:
    """ADK writes both on events; they are written back there, and not a second time on each part."""
    parts = [{"text": "hm", "thought": True}, {"function_call": {"name": "f", "args": {"a": 1}}}]
    event = {"author": "agent", "content": {"parts": parts}, "timestamp": 7.5, "model_version": "gemini"}
    document = eval_set({"user_content": said("hi"), "intermediate_data": {"invocation_events": [event]}})
    assert written(document) == document
    found = load(document, lenient=True).eval_set
    assert found is not None
    (invocation,) = found.cases[0].conversation or ()
    assert [(step.started, step.seconds) for step in invocation.steps or ()] == [(7.5, None)] * 2
    assert [step.model for step in invocation.steps or () if not isinstance(step, ToolResult)] == ["gemini"] * 2


def test_several_images_of_a_step_are_parts_of_one_event() -> None:
    """A part holds a text or an image, a message both."""
    step = Message("look", "agent", parts=(Part("image/png", data="AA=="), Part(uri="gs://a")))
    given = EvalSet("set", (case(turn(step, reply="done")),))
    found = read(dumps(given), "again.evalset.json").eval_set
    assert found is not None
    steps = (found.cases[0].conversation or ())[0].steps or ()
    assert [(one.text, one.parts) for one in steps if isinstance(one, Message)] == [
        ("look", ()),
        ("", step.parts[:1]),
        ("", step.parts[1:]),
    ]


def test_nulls_in_arguments_and_state_are_kept() -> None:
    """In JSON of the user's own a null is a value."""
    turn = {
        "user_content": said("hi"),
        "intermediate_data": {"tool_uses": [{"name": "f", "args": {"camelCase": None, "b": [None]}}]},
    }
    document = eval_set(turn, session_input={"app_name": "a", "user_id": "u", "state": {"someKey": None}})
    assert written(document) == document


def test_steps_by_hand_keep_an_order_of_their_own() -> None:
    """A result before the next call, the name of the agent that called: ADK's shape for files by hand holds neither."""
    steps = (call("a"), ToolResult("a", 1), call("b"), Message("so", "sub"), ToolCall("c", author="sub"))
    given = EvalSet("set", (case(turn(*steps, reply="done")),))
    assert read(dumps(given), "again.evalset.json").eval_set == given


def test_an_agent_under_another_key_than_its_name_keeps_both() -> None:
    """`agent_details` maps keys to agents, which have names of their own."""
    agents = {"root": {"name": "shop", "instructions": "Sell."}, "sub": {"name": "shop", "instructions": "Help."}}
    document = eval_set({"user_content": said("hi"), "app_details": {"agent_details": agents, "my_key": [1]}})
    assert normal(written(document)) == normal(document)


def test_a_case_without_conversation_is_written_so_that_it_can_be_read() -> None:
    """tau-bench's tasks expect calls only; ADK demands a conversation, and takes an empty one, which stays none."""
    given = EvalSet("set", (EvalCase("task", expected_calls=(call("a", x=1),)), EvalCase("empty", conversation=())))
    assert read(dumps(given), "again.evalset.json").eval_set == given
    assert [one["conversation"] for one in json.loads(dumps(given))["eval_cases"]] == [[], []]


def test_a_time_that_is_no_number_is_written_as_it_was() -> None:
    """Nothing depends on when a case was made: whatever stands there is kept."""
    document = eval_set({"user_content": said("hi"), "creation_timestamp": "noon"}, creation_timestamp="today")
    assert written(document) == document


def test_a_key_that_nobody_knows_is_kept_where_it_is_null() -> None:
    """Of a key of somebody else's a null may be a value too."""
    part = {"text": "so", "my_part": None}
    document = eval_set({"user_content": {"role": "user", "parts": [part]}, "my_turn": None}, my_case=None)
    assert written(document) == document


def test_a_set_in_an_old_form_is_saved_in_the_current_schema(tmp_path: Path) -> None:
    """From Python, `load_eval_set` and `save_eval_set` convert a file, and what cannot be written is a UsageError."""
    (tmp_path / "old.test.json").write_text('[{"query": "hi", "expected_tool_use": [], "reference": "hello"}]')
    old = fairtrial.load_eval_set(tmp_path / "old.test.json")
    fairtrial.save_eval_set(old, tmp_path / "new.evalset.json")
    assert "eval_cases" in json.loads((tmp_path / "new.evalset.json").read_bytes())
    assert fairtrial.load_eval_set(tmp_path / "new.evalset.json") == old
    with pytest.raises(fairtrial.UsageError, match=r"nowhere.new\.evalset\.json: No such file"):
        fairtrial.save_eval_set(old, tmp_path / "nowhere" / "new.evalset.json")
    with pytest.raises(fairtrial.UsageError, match="must hold JSON only"):
        fairtrial.save_eval_set(EvalSet("set", (case(turn(call("a", x=object()))),)), tmp_path / "new.evalset.json")


@pytest.mark.shared
def test_every_eval_set_of_adk_is_written_as_it_was(shared: Path) -> None:
    """ADK's own fixtures and samples in the current schema lose nothing."""
    seen = 0
    for file in files_of_evaluations(shared):
        document = json.loads(file.read_bytes())
        if "trpc" not in str(file) and isinstance(document, dict) and "eval_cases" in document:
            assert normal(written(document)) == normal(document), file
            seen += 1
    assert seen > 8


def leaves(value: Any) -> Counter[str]:
    """How often each text, number and truth value occurs in a document, wherever it stands."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return sum((leaves(one) for one in inner), Counter())
    return Counter() if value in (None, "", False) else Counter([repr(value)])


@pytest.mark.shared
def test_other_dialects_are_written_in_adks_schema_without_loss(shared: Path) -> None:
    """tRPC-Agent-Go's sets and the old lists change their shape, and every value that they hold is still there."""
    seen = 0
    for file in files_of_evaluations(shared):
        found = read(file.read_bytes(), file.name) if file.name.endswith((".test.json", ".evalset.json")) else None
        if found is None or found.eval_set is None or (found.kind == "eval set" and "trpc" not in str(file)):
            continue
        seen += 1
        again = dumps(found.eval_set)
        assert read(again, file.name).eval_set == found.eval_set, file
        lost = leaves(json.loads(file.read_bytes())) - leaves(json.loads(again))
        # The role of an OpenAI-like message goes without saying in ADK's schema.
        assert set(lost) <= {"'assistant'", "'user'"}, (file, lost)
    assert seen > 10
