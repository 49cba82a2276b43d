"""Logs hold more than a dialogue: notes, repetitions, streams and errors of their programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from builders import load
from fairtrial.errors import FormatError
from fairtrial.records.attempt import Recording
from renamed_keys import contents, read_recordings

ASKED = {"role": "user", "content": "Where is my order?"}
REPLIED = {"role": "assistant", "content": "It left the depot."}
CALL = ("get", {"id": 1})
TURN = (ASKED["content"], [CALL], REPLIED["content"])
ARGS = json.dumps({"id": 1})


def only(document: Any, path: str = "log.json") -> Recording:
    """Return the only recording of a document, or of JSON lines."""
    (recording,) = load(document, path).recordings
    return recording


def lines(*values: Any) -> str:
    """Return values as JSON lines."""
    return "\n".join(map(json.dumps, values))


def gemini(*messages: dict[str, Any]) -> dict[str, Any]:
    """Return a session of the Gemini CLI."""
    asked = {"id": "1", "type": "user", "content": [{"text": ASKED["content"]}]}
    return {"sessionId": "s", "projectHash": "p", "startTime": "t", "messages": [asked, *messages]}


def test_a_text_of_the_gemini_cli_comes_before_its_calls() -> None:
    """The program appends the calls to the message of the answer that asked for them. The reply is the next message."""
    tool = {"id": "c", "name": "get", "args": {"id": 1}, "status": "cancelled", "result": "stopped"}
    announced = {"id": "2", "type": "gemini", "content": "One moment.", "toolCalls": [tool]}
    found = only(gemini(announced))
    assert contents([found]) == [(ASKED["content"], [CALL], "")]
    replied = {"id": "3", "type": "gemini", "content": [{"text": REPLIED["content"]}]}
    assert contents([only(gemini(announced, replied))]) == [TURN]


def test_a_session_of_the_gemini_cli_that_ends_in_an_error_is_broken() -> None:
    """The agent is not blamed for an error of the service. A note before the end breaks nothing."""
    error = {"id": "2", "type": "error", "content": "The service is not available now."}
    answered = {"id": "3", "type": "gemini", "content": REPLIED["content"]}
    assert only(gemini(error)).trace.broken == error["content"]
    recording = only(gemini(error, answered))
    assert (recording.trace.broken, recording.trace.incomplete) == ("", "")


def test_history_that_the_gemini_cli_wrote_back_is_no_turn() -> None:
    """After a compression, the results of tools stand in messages of the type `user`."""
    called = {"id": "2", "type": "gemini", "content": [{"functionCall": {"id": "c", "name": "get", "args": {"id": 1}}}]}
    given = {"id": "3", "type": "user", "content": [{"functionResponse": {"id": "c", "response": {"state": "here"}}}]}
    replied = {"id": "4", "type": "gemini", "content": [{"text": REPLIED["content"]}]}
    assert contents([only(gemini(called, given, replied))]) == [TURN]


def opencode(*messages: Any, **info: Any) -> dict[str, Any]:
    """Return a session of OpenCode whose last message has some fields."""
    asked = {"info": {"id": "m", "role": "user"}, "parts": [{"type": "text", "text": ASKED["content"]}]}
    last = {"info": {"id": "n", "role": "assistant", **info}, "parts": [{"type": "text", "text": REPLIED["content"]}]}
    return {"info": {"id": "s"}, "messages": [asked, *messages, last]}


def test_a_summary_of_opencode_is_no_reply() -> None:
    """The program writes it when the context is full, and marks it."""
    assert contents([only(opencode(summary=True))]) == [(ASKED["content"], [], "")]
    error = {"name": "APIError", "data": {"message": "The service is overloaded.", "isRetryable": True}}
    assert only(opencode(error=error)).trace.broken == "The service is overloaded."


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "subtask", "prompt": "Look it up.", "agent": "a"}, "Look it up."),
        ({"type": "text", "text": "Not for the model.", "ignored": True}, ""),
    ],
)
def test_parts_of_a_user_of_opencode(part: dict[str, Any], text: str) -> None:
    """A subtask is what the user asked. An ignored text does not reach the model."""
    more = {"info": {"id": "x", "role": "user"}, "parts": [part]}
    ((query, _, _),) = contents([only(opencode(more))])
    assert query == "\n\n".join(filter(None, [ASKED["content"], text]))


def pi(*messages: dict[str, Any]) -> str:
    """Return lines of a session of pi in its first version, which has no branches."""
    rows = [{"type": "message", "message": message} for message in messages]
    return lines({"type": "session", "id": "s"}, *rows)


def test_a_command_of_a_person_in_pi_is_no_turn() -> None:
    """The model knows it, as it knows an instruction."""
    command = {"role": "bashExecution", "command": "ls", "output": "two files stand there", "exitCode": 0}
    recording = only(pi(ASKED, REPLIED, command), "s.jsonl")
    assert contents([recording]) == [(ASKED["content"], [], REPLIED["content"])]
    assert "two files stand there" in recording.trace.agents[0].instructions
    assert recording.trace.incomplete == ""


def test_an_error_of_the_service_breaks_a_session_of_pi() -> None:
    """The last message says why it stopped."""
    failed = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded"}
    assert only(pi(ASKED, failed), "s.jsonl").trace.broken == "overloaded"


def test_an_old_history_of_openhands_is_a_list_of_pairs() -> None:
    """Its results do not name their calls, and stand beside them."""
    asked = {"source": "user", "action": "message", "args": {"content": ASKED["content"]}}
    called = {"source": "agent", "action": "get", "args": {"id": 1, "thought": "I look."}}
    given = {"source": "agent", "observation": "get", "content": "here", "extras": {}}
    replied = {"source": "agent", "action": "message", "args": {"content": REPLIED["content"]}}
    silent = {"source": "agent", "observation": "null", "content": ""}
    pairs = [[asked, silent], [called, given], [replied, silent]]
    recording = only(lines({"instance_id": "i", "history": pairs}), "output.jsonl")
    assert (recording.case_id, contents([recording]), recording.trace.incomplete) == ("i", [TURN], "")


def sdk(*events: dict[str, Any]) -> list[dict[str, Any]]:
    """Return events of the Software Agent SDK of OpenHands."""
    asked = {"content": [{"type": "text", "text": ASKED["content"]}]}
    return [{"kind": "MessageEvent", "source": "user", "llm_message": asked}, *events]


def test_events_of_the_sdk_of_openhands() -> None:
    """An error breaks the run, thoughts are no calls, and an event of an unknown kind is refused."""
    think = {"kind": "ActionEvent", "source": "agent", "tool_name": "think", "action": {"thought": "I look it up."}}
    error = {"kind": "ConversationErrorEvent", "source": "environment", "code": "x", "detail": "The budget is used up."}
    recording = only(sdk(think, error))
    assert contents([recording])[0][1] == []
    assert recording.trace.broken == "The budget is used up."
    with pytest.raises(FormatError, match="an event of the kind 'TeleportEvent', which is not read"):
        load(sdk({"kind": "TeleportEvent", "source": "agent"}), "log.json")


@pytest.mark.parametrize(
    "events",
    [
        [
            {"id": 0, "source": "user", "action": "message", "args": {"content": ASKED["content"]}, "message": "m"},
            {"id": 1, "source": "agent", "action": "finish", "args": {"final_thought": REPLIED["content"]}},
        ],
        sdk(
            {
                "kind": "ActionEvent",
                "source": "agent",
                "tool_name": "finish",
                "tool_call_id": "c9",
                "action": {"kind": "FinishAction", "message": REPLIED["content"]},
            }
        ),
    ],
    ids=["history", "SDK"],
)
def test_the_finishing_action_of_openhands_is_the_reply(events: list[dict[str, Any]]) -> None:
    """It ends the work, and no tool was called."""
    assert contents([only(events)]) == [(ASKED["content"], [], REPLIED["content"])]


def autogen(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a message of AutoGen."""
    return {"source": "shop", "type": kind, **fields}


def test_events_of_autogen_are_no_messages() -> None:
    """A stream repeats the next message in pieces, and code is a call."""
    asked = {"source": "user", "type": "TextMessage", "content": ASKED["content"]}
    pieces = [autogen("ModelClientStreamingChunkEvent", content=text) for text in ("It left ", "the depot.")]
    code = autogen("CodeGenerationEvent", content="print(1)")
    ran = autogen("CodeExecutionEvent", result={"exit_code": 1, "output": "no"})
    recording = only([asked, code, ran, *pieces, autogen("TextMessage", content=REPLIED["content"])])
    expected = [(ASKED["content"], [("code_executor", {"code": "print(1)"})], REPLIED["content"])]
    assert contents([recording]) == expected
    assert recording.trace.incomplete == ""


def promptfoo(**result: Any) -> dict[str, Any]:
    """Return a result of promptfoo."""
    entry = {"promptIdx": 0, "testIdx": 0, "prompt": {"raw": ASKED["content"]}, **result}
    return {"evalId": "e", "results": {"version": 3, "prompts": [], "results": [entry]}}


def test_results_of_promptfoo() -> None:
    """A failed assertion is no error of the provider. The output of a model may be its calls."""
    failed = promptfoo(error="503 of the provider", failureReason=2, response={})
    assert only(failed).trace.broken == "503 of the provider"
    rejected = promptfoo(error="Expected another word", failureReason=1, response={"output": REPLIED["content"]})
    assert only(rejected).trace.broken == ""
    calls = [{"id": "c", "type": "function", "function": {"name": "get", "arguments": ARGS}}]
    for output in (calls, {"role": "assistant", "content": None, "tool_calls": calls}, json.dumps(calls)):
        ((_, called, _),) = contents([only(promptfoo(response={"output": output}))])
        assert called == [CALL]


def test_a_choice_by_likelihood_is_no_reply() -> None:
    """lm-eval keeps a number for each choice."""
    row = {"doc_id": 0, "doc": {}, "arguments": [["Which?", " a"]], "resps": [[[-1.5, False]]]}
    reply = only(lines(row), "samples.jsonl").trace.invocations[0].final_response
    assert reply is not None
    assert (reply.text, bool(reply.withheld)) == ("", True)


def test_a_crew_has_several_tasks() -> None:
    """All descriptions are the question, and the outputs before the last one are messages of their agents."""
    tasks = [
        {"description": "Find the order.", "raw": "It is A-17.", "agent": "finder"},
        {"description": "Say where it is.", "raw": REPLIED["content"], "agent": "clerk"},
    ]
    (invocation,) = only({"raw": REPLIED["content"], "tasks_output": tasks}).trace.invocations
    assert invocation.query == "Find the order.\n\nSay where it is."
    assert invocation.reply == REPLIED["content"]


def test_states_of_a_thread_are_one_conversation() -> None:
    """The history of a graph holds a state for each step, the newest first."""
    states = [{"values": {"messages": [ASKED, REPLIED][:size]}, "config": {}} for size in (2, 1)]
    assert contents([only(states)]) == [(ASKED["content"], None or [], REPLIED["content"])]


def test_a_batch_may_hold_a_request_and_its_answer_in_one_line() -> None:
    """Vertex AI writes so. Anthropic's instructions may be a list of parts."""
    asked = {"contents": [{"role": "user", "parts": [{"text": ASKED["content"]}]}]}
    answered = {"candidates": [{"content": {"role": "model", "parts": [{"text": REPLIED["content"]}]}}]}
    vertex = only(lines({"status": "", "request": asked, "response": answered}), "batch.jsonl")
    assert (vertex.trace.broken, contents([vertex])) == ("", [(ASKED["content"], [], REPLIED["content"])])
    system = [{"type": "text", "text": "You are a clerk of the shop."}]
    request = {"custom_id": "r", "params": {"system": system, "messages": [ASKED]}}
    result = {"custom_id": "r", "result": {"type": "succeeded", "message": {**REPLIED, "id": "m"}}}
    anthropic = only(lines(request, result), "batch.jsonl")
    assert anthropic.trace.incomplete == ""
    assert anthropic.trace.agents[0].instructions == system[0]["text"]


def helicone(answer: Any, status: int = 200, **request: Any) -> str:
    """Return a row of Helicone's export, which keeps the request and the response as they were sent."""
    row = {"request_id": "r", "request_body": {"messages": [ASKED], **request}, "response_body": answer}
    return lines({**row, "response_status": status, "signed_body_url": "https://bodies.example/r"})


def test_helicone_keeps_answers_of_all_providers() -> None:
    """An answer of Anthropic is a message, and its instructions stand beside the messages."""
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": REPLIED["content"]}]}
    recording = only(helicone(answer, system="You are a clerk of the shop."), "rows.jsonl")
    assert contents([recording]) == [(ASKED["content"], [], REPLIED["content"])]
    assert recording.trace.agents[0].instructions == "You are a clerk of the shop."
    assert (recording.trace.broken, recording.trace.incomplete) == ("", "")


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ({"error": {"message": "overloaded", "type": "overloaded_error"}}, 529, "overloaded"),
        ({}, 502, "the request ended with the status 502"),
        ({"helicone_message": "fetching body from signed_url..."}, 200, "export with --include-body"),
    ],
)
def test_a_row_of_helicone_without_an_answer_is_broken(answer: Any, status: int, reason: str) -> None:
    """The agent is not blamed for the service, nor for an export without bodies."""
    assert only(helicone(answer, status), "rows.jsonl").trace.broken.endswith(reason)


def test_an_answer_of_an_unknown_form_is_no_empty_reply() -> None:
    """Whether the model replied is not known."""
    answer = {"results": [{"outputText": "It left."}]}
    assert only(helicone(answer), "rows.jsonl").trace.incomplete
    request = {"custom_id": "r", "body": {"messages": [ASKED]}}
    answered = {"custom_id": "r", "response": {"status_code": 200, "body": answer}, "error": None}
    assert only(lines(request, answered), "batch.jsonl").trace.incomplete


def test_an_error_in_the_response_of_a_batch_breaks_it() -> None:
    """OpenAI leaves the line's own error empty if the request got a response."""
    request = {"custom_id": "r", "body": {"messages": [ASKED]}}
    body = {"error": {"message": "The model does not exist.", "type": "invalid_request_error"}}
    answered = {"id": "b", "custom_id": "r", "response": {"status_code": 404, "body": body}, "error": None}
    assert only(lines(request, answered), "batch.jsonl").trace.broken == "The model does not exist."


def test_the_history_of_aider_keeps_edits_whole() -> None:
    """Only lines with `> ` are the program's. Each line of the user ends in two spaces, which Markdown asks for."""
    edit = "a.py\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"
    asked = "#### Change it,  \n#### please.  "
    text = f"\n# aider chat started at 2026-11-21 08:00:00\n\n{asked}\n\n{edit}\n\n> Applied edit to a.py  \n"
    (recording,) = read_recordings(text.encode(), ".aider.chat.history.md")
    (invocation,) = recording.trace.invocations
    assert (invocation.query, invocation.reply) == ("Change it,\nplease.", edit)


def test_calls_in_texts_of_hermes() -> None:
    """They stand between marks, and several may follow one another."""
    text = f'<tool_call>\n{{"name": "get", "arguments": {ARGS}}}\n</tool_call>'
    turns = [("human", ASKED["content"]), ("gpt", f"{text}\n{text}"), ("tool", "a"), ("gpt", REPLIED["content"])]
    row = {"conversations": [{"from": role, "value": value} for role, value in turns]}
    assert contents([only([row])]) == [(ASKED["content"], [CALL, CALL], REPLIED["content"])]


def test_results_of_bfcl() -> None:
    """A result as text says nothing of calls. Possible answers allow several values, and are refused in words."""
    text = only(lines({"id": "a", "result": "[get(id=1)]", "latency": 1}), "r.jsonl")
    assert text.trace.invocations[0].steps is None
    answers = only(lines({"id": "a", "ground_truth": [{"get": {"id": [1, "1"]}}]}), "r.jsonl")
    assert "possible answers" in answers.trace.broken


def analytics(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    """Return a row of ADK's analytics."""
    row = {"timestamp": "t", "event_type": kind, "agent": "a", "session_id": "s", "content": json.dumps(content)}
    return {**row, **fields}


def test_rows_of_analytics_that_were_cut_off_are_withheld() -> None:
    """A limit of the plugin cuts long contents off."""
    asked = analytics("USER_MESSAGE_RECEIVED", {"text_summary": ASKED["content"]})
    said = analytics("LLM_RESPONSE", {"response": "text: 'It left | the depot.'"}, span_id="1")
    assert contents([only(lines(asked, said), "r.jsonl")])[0][2] == "It left | the depot."
    reply = only(lines(asked, {**said, "is_truncated": True}), "r.jsonl").trace.invocations[0].final_response
    assert reply is not None
    assert (reply.text, reply.beginning) == ("", "It left | the depot.")
    failed = analytics("LLM_ERROR", None, error_message="quota")
    assert only(lines(asked, failed), "r.jsonl").trace.broken == "quota"


def test_a_failure_of_a_bedrock_agent_breaks_the_session() -> None:
    """Events of the stream hold the part one level deeper."""
    prompt = {"text": json.dumps({"messages": [{"role": "user", "content": ASKED["content"]}]})}
    parts = [{"orchestrationTrace": {"modelInvocationInput": prompt}}, {"failureTrace": {"failureReason": "throttled"}}]
    events = [{"trace": {"sessionId": "s", "agentId": "a", "trace": part}} for part in parts]
    recording = only(events)
    assert (recording.case_id, recording.trace.broken) == ("s", "throttled")
    assert recording.trace.invocations[0].query == ASKED["content"]


def test_an_error_of_a_server_of_tools_is_a_failed_result() -> None:
    """Log lines may wrap the messages."""
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get", "arguments": {"id": 1}}}
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such order"}}
    recording = only(lines({"time": 1, "message": request}, {"time": 2, "message": error}), "mcp.jsonl")
    (invocation,) = recording.trace.invocations
    assert [step.is_error for step in invocation.steps or () if isinstance(step, fairtrial.ToolResult)] == [True]


KINDS: dict[str, Callable[[], Any]] = {
    "autogen": lambda: {"messages": [{"source": "user", "type": "TextMessage", "content": ASKED["content"]}]},
    "gemini": lambda: gemini({"id": "2", "type": "gemini", "content": REPLIED["content"]}),
    "opencode": opencode,
    "events": sdk,
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_lines_of_logs_are_read_as_a_document_is(make: Callable[[], Any], tmp_path: Path) -> None:
    """A stream of lines finds the kind of a log before it looks for chat messages."""
    document = make()
    path = tmp_path / "logs.jsonl"
    path.write_text(lines(document, document))
    run = fairtrial.score(path, criteria={"tool_call_count_v1": 9})
    expected = contents(read_recordings(json.dumps(document).encode(), "log.json"))
    recordings = fairtrial.load_recordings(path)
    assert contents(recordings) == expected * 2
    assert len(run.cases) == 2


def test_the_completing_call_of_cline_is_the_reply() -> None:
    """The agent has no other way to reply, and the user's answer comes as the result of the call."""
    asked = {"role": "user", "content": [{"type": "text", "text": ASKED["content"]}]}
    used = {"type": "tool_use", "id": "t", "name": "attempt_completion", "input": {"result": REPLIED["content"]}}
    given = {"type": "tool_result", "tool_use_id": "t", "content": "The user is satisfied."}
    chat = [asked, {"role": "assistant", "content": [used]}]
    for document in (chat, [*chat, {"role": "user", "content": [given]}]):
        assert contents([only(document, "api_conversation_history.json")]) == [
            (ASKED["content"], [], REPLIED["content"])
        ]
