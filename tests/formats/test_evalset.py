"""Every shape of ADK's current eval set is read for what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import eval_set, load, said
from fairtrial.errors import FormatError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.recognise import read
from fairtrial.records.case import EvalCase, EvalSet, Persona
from fairtrial.records.trace import Event, Injection, Invocation, Message, Part, Thought, ToolCall, ToolResult, Usage


def only_case(document: dict[str, Any]) -> EvalCase:
    """The one case of an eval set."""
    found = load(document).eval_set
    assert found is not None
    (one,) = found.cases
    return one


def only_turn(document: dict[str, Any]) -> Invocation:
    """The one invocation of the one case of an eval set."""
    (one,) = only_case(document).conversation or ()
    return one


def test_snake_case() -> None:
    """The spelling of ADK's files is read."""
    document = eval_set({"invocation_id": "i", "user_content": said("hi"), "final_response": said("hello", "model")})
    assert only_turn(document) == Invocation(Message("hi"), None, Message("hello"), "i")


def test_camel_case() -> None:
    """The spelling of ADK's REST interface is read, at every level."""
    document = {
        "evalSetId": "trips",
        "evalCases": [
            {
                "evalId": "one",
                "conversation": [
                    {
                        "invocationId": "i",
                        "userContent": said("hi"),
                        "finalResponse": said("hello", "model"),
                        "intermediateData": {"toolUses": [{"name": "f", "args": {"someKey": 1}}]},
                    }
                ],
            }
        ],
    }
    assert only_turn(document) == Invocation(Message("hi"), (ToolCall("f", {"someKey": 1}),), Message("hello"), "i")


def test_mixed_spelling() -> None:
    """The two spellings stand beside each other in one file."""
    document = {
        "eval_set_id": "trips",
        "evalCases": [{"eval_id": "one", "conversation": [{"userContent": said("hi"), "final_response": said("x")}]}],
    }
    assert only_turn(document).reply == "x"


def test_intermediate_data_by_hand() -> None:
    """The hand-written form gives calls, results and what was said between them."""
    data = {
        "tool_uses": [{"id": "1", "name": "f", "args": {"x": 1}}],
        "tool_responses": [{"id": "1", "name": "f", "response": {"y": 2}}],
        "intermediate_responses": [["helper", [{"text": "one moment"}]]],
    }
    steps = only_turn(eval_set({"user_content": said("hi"), "intermediate_data": data})).steps
    assert steps == (
        ToolCall("f", {"x": 1}, "1"),
        ToolResult("f", {"y": 2}, "1"),
        Message("one moment", "helper"),
    )


def test_intermediate_data_as_recorded() -> None:
    """The recorded form gives the parts of its events in order, with authors, and the tokens of each model call."""
    events = [
        {
            "author": "agent",
            "content": {
                "role": "model",
                "parts": [{"text": "hm", "thought": True}, {"function_call": {"name": "f", "args": {"x": 1}}}],
            },
            "usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3},
        },
        {
            "author": "agent",
            "content": {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        },
    ]
    one = only_turn(eval_set({"user_content": said("hi"), "intermediate_data": {"invocation_events": events}}))
    assert one.steps == (
        Thought("hm", "agent"),
        ToolCall("f", {"x": 1}, author="agent"),
        ToolResult("f", {}, author="agent"),
    )
    assert one.usages == (Usage(7, 3),)
    assert [event.size for event in one.events or ()] == [2, 1]
    assert isinstance((one.events or ())[0], Event)


def test_a_model_call_is_told_by_its_model_version() -> None:
    """An event that names its model, and no tokens, is a model call of unknown tokens."""
    data = {"invocation_events": [{"author": "agent", "model_version": "gemini-2.5-flash"}]}
    assert only_turn(eval_set({"user_content": said("hi"), "intermediate_data": data})).usages == (
        Usage(model="gemini-2.5-flash"),
    )


def test_absent_intermediate_data_is_not_empty_intermediate_data() -> None:
    """Absent, nothing is known of the calls; an empty object says that there are none."""
    assert only_turn(eval_set({"user_content": said("hi")})).steps is None
    assert only_turn(eval_set({"user_content": said("hi"), "intermediate_data": {}})).steps == ()


def test_absent_and_null_arguments_are_no_arguments() -> None:
    """A call without `args`, or with null, is a call without arguments."""
    data = {"tool_uses": [{"name": "f"}, {"name": "f", "args": None}]}
    assert only_turn(eval_set({"user_content": said("hi"), "intermediate_data": data})).tool_calls == (
        ToolCall("f"),
        ToolCall("f"),
    )


def test_text_parts_are_joined_and_thoughts_left_out() -> None:
    """The reply is its text parts joined by newlines; a thought is not said to the user."""
    content = {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": "one"}, {"text": "two"}]}
    assert only_turn(eval_set({"user_content": said("hi"), "final_response": content})).reply == "one\ntwo"


def test_absent_reference_is_not_a_blank_one() -> None:
    """`final_response` absent or null is no reference; without text it is a blank one."""
    assert only_turn(eval_set({"user_content": said("hi")})).final_response is None
    assert only_turn(eval_set({"user_content": said("hi"), "final_response": None})).final_response is None
    assert only_turn(eval_set({"user_content": said("hi"), "final_response": {"parts": []}})).final_response is not None


def test_rubrics_of_case_and_invocation() -> None:
    """Rubrics are read where they stand, with their type."""
    raw = {"rubric_id": "r", "rubric_content": {"text_property": "It is short."}, "type": "TOOL_USE_QUALITY"}
    one = only_case(eval_set({"user_content": said("hi"), "rubrics": [raw]}, rubrics=[raw]))
    (rubric,) = one.rubrics
    assert (rubric.id, rubric.text, rubric.type) == ("r", "It is short.", "TOOL_USE_QUALITY")
    assert (one.conversation or ())[0].rubrics == one.rubrics


def test_scenario_with_a_persona_of_its_own() -> None:
    """A scenario is read with its persona in full."""
    persona = {
        "id": "novice",
        "description": "new here",
        "behaviors": [{"name": "asks", "behavior_instructions": ["Ask why."], "violation_rubrics": ["Knew it all."]}],
    }
    document = {
        "eval_set_id": "trips",
        "eval_cases": [
            {
                "eval_id": "one",
                "conversation_scenario": {"starting_prompt": "hi", "conversation_plan": "buy", "user_persona": persona},
            }
        ],
    }
    scenario = only_case(document).scenario
    assert scenario is not None
    assert isinstance(scenario.persona, Persona)
    assert scenario.persona.behaviors[0].violation_rubrics == ("Knew it all.",)


def test_scenario_with_a_persona_by_id() -> None:
    """A persona may be named by the id of a built-in one."""
    scenario = {"startingPrompt": "hi", "conversationPlan": "buy", "userPersona": "EXPERT"}
    document = {"eval_set_id": "trips", "eval_cases": [{"eval_id": "one", "conversationScenario": scenario}]}
    found = only_case(document).scenario
    assert found is not None
    assert found.persona == "EXPERT"


def test_session_input() -> None:
    """The state and the id of a session are read."""
    raw = {"app_name": "a", "user_id": "u", "session_id": "s", "state": {"cart": []}}
    found = only_case(eval_set({"user_content": said("hi")}, session_input=raw)).session_input
    assert found is not None
    assert (found.app_name, found.user_id, found.state) == ("a", "u", {"cart": []})
    assert (found.session_id, found.extra) == ("s", None)


def test_sessions_that_start_alike_are_one_object() -> None:
    """A large file says the same of nearly every case; true is not 1."""
    turn = {"user_content": said("hi")}
    cases = [
        {"eval_id": str(i), "conversation": [turn], "session_input": {"state": {"x": x}}}
        for i, x in enumerate([1, 1, True])
    ]
    found = load({"eval_set_id": "s", "eval_cases": cases}).eval_set
    assert found is not None
    first, second, third = (one.session_input for one in found.cases)
    assert first is second
    assert third is not None
    assert third.state["x"] is True


def test_a_wrong_session_input_is_an_error_in_every_case() -> None:
    """Whoever wrote it twice has to correct it twice."""
    case = {"conversation": [], "session_input": {"state": 1}}
    cases = [{"eval_id": str(i), **case} for i in range(2)]
    with pytest.raises(FormatError) as caught:
        load({"eval_set_id": "s", "eval_cases": cases})
    assert [problem.partition(": ")[0] for problem in caught.value.problems] == [
        f"/eval_cases/{i}/session_input/state" for i in range(2)
    ]


def test_durations() -> None:
    """Seconds of a live run are read."""
    found = only_turn(eval_set({"user_content": said("hi"), "duration": 2.5, "model_duration": 2.0})).durations
    assert found is not None
    assert (found.total, found.model, found.tool) == (2.5, 2.0, None)


def test_app_details() -> None:
    """Instructions and tools of every agent are read."""
    details = {"agent_details": {"root": {"name": "root", "instructions": "Be kind.", "tool_declarations": [{"a": 1}]}}}
    about = only_turn(eval_set({"user_content": said("hi"), "app_details": details})).about
    assert about is not None
    assert (about.agents[0].name, about.agents[0].instructions) == ("root", "Be kind.")
    assert about.agents[0].tool_declarations == ({"a": 1},)


def test_expected_calls_of_the_whole_conversation() -> None:
    """Our own case key `expected_tool_uses` holds the calls that a conversation should make somewhere."""
    one = only_case(eval_set({"user_content": said("hi")}, expected_tool_uses=[{"name": "f", "args": {"x": 1}}]))
    assert one.expected_calls == (ToolCall("f", {"x": 1}),)
    assert only_case(eval_set({"user_content": said("hi")})).expected_calls is None


def test_an_empty_conversation_is_one() -> None:
    """`conversation: []` is a conversation of no invocations, not an absent one."""
    assert only_case(eval_set()).conversation == ()


def test_trpc_dialect() -> None:
    """tRPC-Agent-Go's tools hold call and result together, its messages are OpenAI-like."""
    document = {
        "evalSetId": "trips",
        "evalCases": [
            {
                "evalId": "one",
                "conversation": [
                    {
                        "invocationId": "i",
                        "userContent": {"role": "user", "content": "hi"},
                        "finalResponse": {"role": "assistant", "content": "hello"},
                        "tools": [{"id": "1", "name": "f", "arguments": {"x": 1}, "result": {"y": 2}}],
                        "intermediateResponses": [{"role": "assistant", "content": "one moment"}],
                    }
                ],
            }
        ],
    }
    assert only_turn(document) == Invocation(
        Message("hi"),
        (ToolCall("f", {"x": 1}, "1"), ToolResult("f", {"y": 2}, "1"), Message("one moment")),
        Message("hello"),
        "i",
    )


def test_trpc_recording_beside_the_expectation() -> None:
    """tRPC-Agent-Go's `actualConversation` is what happened."""
    document = eval_set(
        {"userContent": {"role": "user", "content": "hi"}},
        actualConversation=[
            {
                "userContent": {"role": "user", "content": "hi"},
                "finalResponse": {"role": "assistant", "content": "hello"},
            }
        ],
    )
    (recording,) = load(document).recordings
    assert recording.case_id == "one"
    assert recording.trace.invocations[0].reply == "hello"


def test_no_name_falls_back_to_the_file() -> None:
    """An eval set without id is called like its file."""
    found = load({"eval_cases": []}, "folder/trips.evalset.json").eval_set
    assert found is not None
    assert found.id == "trips"


@pytest.mark.parametrize("spelling", ["eval_cases", "evalCases"])
def test_kind(spelling: str) -> None:
    """A file with cases is an eval set, and holds no recording."""
    found = load({"eval_set_id": "trips", spelling: []})
    assert (found.kind, found.recordings, found.warnings) == ("eval set", (), ())


def test_what_was_injected_survives_google_adks_form() -> None:
    """It is written into the metadata of the result's part, beside what else stands there, and read back."""
    injected = (Injection("error", "503: down", invalidates=True), Injection("truncated"))
    other = ToolResult("get", {"b": 2}, "2", "shop", {"part": {"part_metadata": {"own": 1}}}, injected[:1])
    steps = (ToolCall("get", id="1", author="shop"), ToolResult("get", {"a": 1}, "1", "shop", injected=injected), other)
    recorded = Invocation(Message("hi"), steps, Message("ok"))
    written = json.loads(dumps(EvalSet("s", (EvalCase("c", (recorded,)),))))
    (turn,) = written["eval_cases"][0]["conversation"]
    parts = [part for event in turn["intermediate_data"]["invocation_events"] for part in event["content"]["parts"]]
    assert [[*part] for part in parts] == [["function_call"], *[["function_response", "part_metadata"]] * 2]
    assert only_turn(written).steps == steps


def test_a_strangers_metadata_is_no_injection() -> None:
    """What is not as we write it is told with its place."""
    part = {"functionResponse": {"name": "get"}, "partMetadata": {"fairtrial": {"injected": [{"effect": 3}]}}}
    turn = {
        "user_content": said("hi"),
        "intermediate_data": {"invocation_events": [{"author": "a", "content": {"parts": [part]}}]},
    }
    with pytest.raises(FormatError, match=r"parts/0/partMetadata: fairtrial: Expected `str`, got `int`"):
        load(eval_set(turn))


def test_images_and_files_are_parts_of_a_message() -> None:
    """Their order among the texts is kept for writing, and nothing else stands in `extra`."""
    image = {"inline_data": {"mime_type": "image/png", "data": "AA==", "display_name": "a.png"}}
    file = {"file_data": {"mime_type": "application/pdf", "file_uri": "gs://a/b.pdf"}}
    media = (Part("image/png", data="AA==", name="a.png"), Part("application/pdf", "gs://a/b.pdf"))
    for parts, extra in (([{"text": "see"}, image, file], None), ([image, {"text": "see"}, file], True)):
        user = only_turn(eval_set({"user_content": {"role": "user", "parts": parts}})).user
        assert (user.text, user.parts) == ("see", media)
        assert user.extra == (extra and {"parts": parts})


def test_what_a_model_searched_is_the_grounding_of_its_event() -> None:
    """Judges are shown it; a null is none."""
    grounding = {"web_search_queries": ["weather"]}
    events = [{"author": "a", "groundingMetadata": grounding}, {"author": "a", "grounding_metadata": None}]
    turn = {"user_content": said("hi"), "intermediate_data": {"invocation_events": events}}
    assert only_turn(eval_set(turn)).events == (Event("a", 0, grounding=grounding), Event("a", 0))


def test_context_messages_of_trpc_are_named() -> None:
    """tRPC-Agent-Go puts `contextMessages` before the conversation; here the agent is called without them."""
    turn = {"userContent": {"role": "user", "content": "hi"}}
    case = {"evalId": "a", "contextMessages": [{"role": "system", "content": "Be rude."}], "conversation": [turn]}
    loaded = load({"evalSetId": "s", "evalCases": [case]}, "s.evalset.json")
    (warning,) = loaded.warnings
    assert warning.startswith("s.evalset.json: /eval_cases/0: 'contextMessages' are not given to the agent")


def test_a_null_among_the_keys_of_an_eval_set_is_a_missing_key() -> None:
    """ADK writes nulls for keys without a value."""
    text = b'{"eval_set_id": null, "name": null, "eval_cases": [], "creation_timestamp": null}'
    assert read(text, "shop.evalset.json").eval_set == EvalSet("shop")


def test_a_broken_value_before_the_cases_of_an_eval_set_has_its_place() -> None:
    """The keys of an eval set are read in the same pass as its cases."""
    with pytest.raises(FormatError, match="line 1, column 17"):
        read(b'{"eval_set_id": nul, "eval_cases": []}', "shop.evalset.json")
