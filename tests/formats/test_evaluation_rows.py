"""Rows as the converters of azure-ai-evaluation 1.18, and samples as the wheel of lm-eval 0.4.9, write them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import ToolResult
from renamed_keys import contents

ASKED = {"role": "user", "content": [{"type": "text", "text": "Where is my order?"}], "createdAt": "2026-11-21T08:00Z"}
REPLIED = {"role": "assistant", "run_id": "r", "content": [{"type": "text", "text": "It left the depot."}]}
TOOLS = [{"name": "get", "type": "function", "description": "Gets an order of a customer.", "parameters": {}}]
CALL = {"type": "tool_call", "tool_call_id": "c", "name": "get", "arguments": {"id": 1}}
RESULT = {"type": "tool_result", "tool_result": {"state": "shipped this morning"}}
TURN = ("Where is my order?", [("get", {"id": 1})], "It left the depot.")
SAMPLE = {
    "doc": {"question": "Which?"},
    "target": "a",
    "filter": "none",
    "metrics": ["exact_match"],
    "exact_match": 1.0,
}


def recordings(*values: Any) -> list[Recording]:
    """Return the recordings in JSON lines."""
    return list(load("\n".join(map(json.dumps, values)), "rows.jsonl").recordings)


def only(*values: Any) -> Recording:
    """Return the only recording in JSON lines."""
    (recording,) = recordings(*values)
    return recording


def row(*response: dict[str, Any], **columns: Any) -> dict[str, Any]:
    """Return a row as `AIAgentConverter` writes it."""
    return {"query": [ASKED], "response": [*response, REPLIED], "tool_definitions": TOOLS, **columns}


def said(call: dict[str, Any], result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a call and its result."""
    return [
        {"role": "assistant", "run_id": "r", "content": [call]},
        {"role": "tool", "run_id": "r", "tool_call_id": "c", "content": [result]},
    ]


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (CALL, RESULT),
        (CALL | {"type": "function_call"}, {"type": "function_call_output", "function_call_output": "shipped"}),
        (CALL | {"type": "openapi_call"}, {"type": "openapi_call_output", "openapi_call_output": "shipped"}),
        (
            {
                "type": "tool_call",
                "tool_call": {"id": "c", "type": "function", "function": {"name": "get", "arguments": {"id": 1}}},
            },
            RESULT,
        ),
    ],
    ids=["tool_call", "function_call", "openapi_call", "nested"],
)
def test_calls_of_azure(call: dict[str, Any], result: dict[str, Any]) -> None:
    """All forms that its validators and evaluators accept are calls with their results."""
    recording = only(row(*said(call, result)))
    assert (contents([recording]), recording.trace.incomplete) == ([TURN], "")
    (found,) = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert found.response


def test_a_call_of_a_built_in_tool_of_azure_has_no_result() -> None:
    """The converter writes none for searches with Bing."""
    recording = only(row(said(CALL, RESULT)[0]))
    assert (contents([recording]), recording.trace.incomplete) == ([TURN], "")


def test_a_request_for_approval_is_not_read() -> None:
    """Whether the call was made is not known, so that nothing is said to be absent."""
    asked = {"type": "mcp_approval_request", "name": "get", "server_label": "shop", "arguments": {"id": 1}}
    recording = only(row({"role": "assistant", "content": [asked]}))
    assert recording.trace.incomplete


def test_an_image_of_azure_stands_beside_its_text() -> None:
    """The converter keeps the id of the file."""
    question = {"role": "user", "content": [*ASKED["content"], {"type": "image", "image": {"file_id": "f"}}]}
    recording = only({"query": [question], "response": [REPLIED]})
    assert (contents([recording]), recording.trace.incomplete) == ([(TURN[0], [], TURN[2])], "")


@pytest.mark.parametrize(
    ("messages", "called", "incomplete"),
    [
        ([], [CALL], ""),
        (said(CALL, RESULT), [CALL], ""),
        (said(CALL, RESULT), [CALL, CALL | {"tool_call_id": "d"}], "/tool_calls/1 names a call that no message holds"),
    ],
    ids=["alone", "repeated", "contradicted"],
)
def test_the_column_of_calls_is_compared_with_the_messages(
    messages: list[dict[str, Any]], called: list[dict[str, Any]], incomplete: str
) -> None:
    """`ToolCallAccuracyEvaluator` takes them beside the response."""
    recording = only(row(*messages, tool_calls=called))
    assert (contents([recording]), recording.trace.incomplete) == ([TURN], incomplete)


def test_a_conversation_of_azure_holds_its_messages() -> None:
    """Evaluators take `conversation` instead of `query` and `response`."""
    recording = only({"conversation": {"messages": [ASKED, *said(CALL, RESULT), REPLIED]}})
    assert (contents([recording]), recording.trace.incomplete) == ([TURN], "")


@pytest.mark.parametrize("reply", ["It left the depot.", [*said(CALL, RESULT), REPLIED]], ids=["text", "messages"])
@pytest.mark.parametrize("column", ["inputs.response", "outputs.response"])
def test_results_of_azure_hold_their_rows(column: str, reply: Any) -> None:
    """`evaluate` names each column of the data with a prefix. The answer may come from its target."""
    inner = {"inputs.query": "Where is my order?", column: reply, "outputs.coherence.coherence_reason": "It is clear."}
    recording = only({"rows": [inner], "metrics": {"coherence.coherence": 4.0}, "studio_url": None})
    invocation = recording.trace.invocations[0]
    assert (invocation.query, invocation.reply) == (TURN[0], TURN[2])
    assert (invocation.steps is None) is isinstance(reply, str)


def sample(*responses: Any, prompt: Any = "Which?", then: Any = None, **columns: Any) -> dict[str, Any]:
    """Return a sample of lm-eval: a row of `samples_TASK_DATE.jsonl`."""
    request = {"arg_0": prompt, "arg_1": {"until": ["\n"]} if then is None else then}
    filtered = list(responses[:1])
    own = {"arguments": {"gen_args_0": request}, "resps": [list(responses)], "filtered_resps": filtered}
    return {"doc_id": 7, **SAMPLE, **own, **columns}


def test_a_chat_of_lm_eval_is_json_in_a_list() -> None:
    """An API model gets the messages as `JsonChatStr`, a tuple of one text."""
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which?"}]
    recording = only(sample("The first.", prompt=[json.dumps(chat)]))
    assert (recording.case_id, contents([recording])) == ("7", [("Which?", [], "The first.")])


def test_repeats_of_lm_eval_are_attempts() -> None:
    """A task with `repeats: 2` asks twice."""
    found = recordings(sample("The first.", "The second."))
    assert [(recording.case_id, recording.trace.invocations[0].reply) for recording in found] == [
        ("7", "The first."),
        ("7", "The second."),
    ]


def test_filters_of_lm_eval_are_no_attempts() -> None:
    """A task with two filters, such as gsm8k, has two rows for each response."""
    one = sample("The first.", filter="strict-match")
    assert len(recordings(one, one | {"filter": "flexible-extract"}, sample("The first.", doc_id=8))) == 2


@pytest.mark.parametrize(
    "row",
    [
        sample(["-1.5", "False"], then=" a"),
        sample("-123.4") | {"arguments": {"gen_args_0": {"arg_0": "A whole text."}}},
    ],
    ids=["loglikelihood", "loglikelihood_rolling"],
)
def test_a_likelihood_is_no_reply(row: dict[str, Any]) -> None:
    """The program writes its numbers as texts."""
    reply = only(row).trace.invocations[0].final_response
    assert reply is not None
    assert (reply.text, bool(reply.withheld)) == ("", True)
