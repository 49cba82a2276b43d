"""Values under unknown keys are refused or reported if they hold calls, messages or cases, whatever the name is."""

from __future__ import annotations

from typing import Any

import pytest

from builders import eval_set, load, said
from fairtrial.errors import FormatError

TURN = {"user_content": said("hi"), "intermediate_data": {"tool_uses": []}}
CALL = {"name": "refund", "args": {}}
CALLS: dict[str, Any] = {
    "name and args": [CALL],
    "one call": CALL,
    "no arguments": [{"name": "ping", "arguments": {}}],
    "OpenAI": [{"type": "function", "function": {"name": "refund", "arguments": "{}"}}],
    "old names": [{"tool_name": "refund", "tool_input": {"id": 1}}],
    "arguments in a text": [{"name": "refund", "arguments": '{"id": 1}'}],
    "by turn": {"turn 1": [CALL]},
}


def problems(document: Any) -> tuple[str, ...]:
    """Return the problems of a document that cannot be read."""
    with pytest.raises(FormatError) as caught:
        load(document)
    return caught.value.problems


@pytest.mark.parametrize("key", ["gold_calls", "what_happens", "zzz"])
@pytest.mark.parametrize("value", CALLS.values(), ids=CALLS)
def test_calls_of_a_case_under_an_unknown_name_are_refused(key: str, value: Any) -> None:
    """An agent that calls nothing would pass the file."""
    (problem,) = problems(eval_set(TURN, **{key: value}))
    assert problem.startswith(f"/eval_cases/0/{key}: is not a known key")
    assert "'tool_uses'" in problem


def test_calls_of_a_case_are_refused_in_every_form_of_eval_sets() -> None:
    """Cases of agents-cli and of ADK's old list form allow unknown keys, too."""
    modern = {"eval_cases": [{"eval_case_id": "a", "prompt": "hi", "zzz": [CALL]}]}
    old = [{"name": "a", "data": [{"query": "hi"}], "zzz": [CALL]}]
    assert problems(modern)[0].startswith("/eval_cases/0/zzz: is not a known key")
    assert problems(old)[0].startswith("/0/zzz: is not a known key")


@pytest.mark.parametrize(
    "value",
    [
        {"owner": "Ann"},
        [{"name": "Ann", "team": "billing"}],
        [{"name": "refund", "description": "Refunds.", "parameters": {"type": "object", "properties": {}}}],
        ["refund"],
        [{"type": "text", "text": "hi"}],
    ],
    ids=str,
)
def test_other_values_under_an_unknown_name_are_kept(value: Any) -> None:
    """Notes, owners and declarations of tools expect nothing."""
    found = load(eval_set(TURN, zzz=value))
    assert found.eval_set is not None
    assert (found.eval_set.cases[0].extra, found.warnings) == ({"zzz": value}, ())


def test_messages_of_a_case_under_an_unknown_name_are_said() -> None:
    """They may be the conversation that somebody meant."""
    found = load(eval_set(TURN, zzz=[{"role": "assistant", "content": "Yes."}]))
    assert any("/eval_cases/0/zzz: holds messages" in warning for warning in found.warnings)


@pytest.mark.parametrize("key", ["cases", "tests", "zzz"])
@pytest.mark.parametrize(
    "case",
    [{"eval_id": "b", "conversation": [TURN]}, {"query": "hi", "reference": "yo"}, {"id": "b", "prompt": "hi"}],
    ids=str,
)
def test_a_second_list_of_cases_is_refused(key: str, case: dict[str, Any]) -> None:
    """Only the cases of `eval_cases` would run."""
    (problem,) = problems({**eval_set(TURN), key: [case]})
    assert problem.startswith(f"/{key}: holds cases beside 'eval_cases'")


def events(*parts: dict[str, Any], **event: Any) -> dict[str, Any]:
    """Return an eval set whose one invocation has one event."""
    content = {"content": {"parts": list(parts)}} if parts else {"content": None}
    data = {"invocation_events": [{"author": "agent", **content, **event}]}
    return eval_set({"user_content": said("hi"), "intermediate_data": data})


AT = "/eval_cases/0/conversation/0/intermediate_data/invocation_events/0"


@pytest.mark.parametrize("key", ["tool_call", "toolCall"])
def test_a_call_of_the_server_has_no_name(key: str) -> None:
    """ADK refuses it, too: `google.genai.types.ToolCall` has an id, a type and arguments."""
    (problem,) = problems(events({key: CALL}))
    assert problem.startswith(f"{AT}/content/parts/0/{key}/name: is not a known key")
    assert load(events({key: {"id": "1", "tool_type": "GOOGLE_SEARCH_WEB", "args": {}}})).eval_set is not None


def test_an_answer_of_the_server_has_no_name() -> None:
    """The same holds for `google.genai.types.ToolResponse`."""
    (problem,) = problems(events({"tool_response": {"name": "refund", "response": {}}}))
    assert problem.startswith(f"{AT}/content/parts/0/tool_response/name: is not a known key")


def test_calls_beside_the_content_of_an_event_are_refused() -> None:
    """ADK ignores them, so that no call would be expected."""
    (problem,) = problems(events(function_calls=[CALL]))
    assert problem.startswith(f"{AT}/function_calls: is not a known key; the calls of an event stand in 'content'")
    assert len(problems(events(functionCalls=[{"name": "refund"}]))) == 1
    assert load(events({"text": "hi"}, invocationIndex=0, actions={"stateDelta": {}})).eval_set is not None


def test_the_id_of_a_case_is_not_empty() -> None:
    """Nothing could name the case in a report, or find its recording."""
    assert problems(eval_set(TURN, eval_id="")) == ("/eval_cases/0/eval_id: must not be empty",)


def test_a_column_with_calls_that_nobody_named_is_said() -> None:
    """A table may have any columns, so that it is a warning, once for a column."""
    row = {"question": "hi", "expected": "yo", "zzz": [CALL]}
    found = load([row, row], "shop.json")
    assert [warning for warning in found.warnings if "zzz" in warning] == [
        "shop.json: /0/zzz: holds calls that are not read; write columns={'input': 'COLUMN'}"
    ]
