"""Message lists of every provider and framework are read as events, and never as messages of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import load
from fairtrial import api
from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read
from fairtrial.records.result import Verdict
from fairtrial.records.trace import Invocation, Message, Part, Thought, ToolCall, ToolResult, Trace

KINDS = {
    "anthropic-messages/two_turns.request.json": "Anthropic messages",
    "bedrock-messages/new_two_turns.messages.json": "Bedrock messages",
    "gemini-contents/two_turns.contents_snake.json": "Gemini contents",
    "gemini-contents/two_turns.request.json": "Gemini contents",
    "langchain-messages/two_turns.dumps.json": "LangChain messages",
    "langchain-messages/two_turns.messages_to_dict.json": "LangChain messages",
    "openai-agents/two_turns.session_items.json": "OpenAI Responses items",
    "openai-responses/two_turns.items.json": "OpenAI Responses items",
    "pydantic-ai-messages/two_turns.messages.json": "Pydantic AI messages",
}
"""The real files of message lists that are read, with their kinds."""
OPENAI = "openai-messages/two_turns.messages.json"


def facts(invocation: Invocation) -> dict[str, Any]:
    """The facts that `expected.json` states about an invocation, but for the number of model calls."""
    steps = invocation.steps or ()
    return {
        "user": invocation.query,
        "calls": [[call.name, call.args] for call in invocation.tool_calls],
        "results": sum(isinstance(step, ToolResult) for step in steps),
        "reply": invocation.reply,
        "thoughts": sum(isinstance(step, Thought) for step in steps),
        "messages_before_reply": sum(isinstance(step, Message) for step in steps),
    }


def only_trace(document: Any) -> Trace:
    """The one conversation in a document."""
    (found,) = load(document, "chat.json").recordings
    return found.trace


def problem(document: Any) -> str:
    """The one problem of a document."""
    with pytest.raises(FormatError) as raised:
        load(document, "chat.json")
    (only,) = raised.value.problems
    return only


@pytest.mark.shared
@pytest.mark.parametrize("name", KINDS)
def test_a_real_file_holds_the_stated_facts(name: str, shared: Path) -> None:
    """The same dialogue in each dialect, field by field as people wrote them down. A usage is one model call."""
    folder = shared / "data" / "traces"
    entries = json.loads((folder / "expected.json").read_bytes())
    (stated,) = [entry["recordings"][0]["invocations"] for entry in entries if entry["files"] == [name]]
    loaded = read((folder / name).read_bytes(), name)
    (recording,) = loaded.recordings
    invocations = recording.trace.invocations
    assert loaded.kind == KINDS[name]
    assert loaded.warnings == ()
    assert [facts(one) for one in invocations] == [{key: turn[key] for key in facts(invocations[0])} for turn in stated]
    for invocation, turn in zip(invocations, stated, strict=True):
        assert turn["model_calls"] in (None, len(invocation.usages or ()))


@pytest.mark.shared
@pytest.mark.parametrize("name", [*KINDS, OPENAI])
def test_a_real_file_passes_the_eval_set_of_its_dialogue(name: str, shared: Path) -> None:
    """The calls and the replies are all there, so that both criteria give 1.00."""
    folder = shared / "data" / "traces"
    plan = api.plan_score(
        [folder / name],
        [folder / "two_turns.evalset.json"],
        folder / "exact.config.json",
        api.ReadOptions(match="order"),
    )
    run = api.execute(plan)
    assert run.verdict is Verdict.PASSED
    assert [outcome.score.value for case in run.cases for outcome in case.outcomes if outcome.threshold] == [1.0, 1.0]


@pytest.mark.long
@pytest.mark.shared
def test_no_other_real_file_passes_as_messages(shared: Path) -> None:
    """A trace of another kind is refused in words."""
    folder = shared / "data" / "traces"
    files = [file for file in sorted(folder.rglob("*.json*")) if str(file.relative_to(folder)) not in (*KINDS, OPENAI)]
    for file in files:
        try:
            kind = read(file.read_bytes(), file.name).kind
        except FormatError:
            continue
        assert "messages" not in kind, file
        assert "items" not in kind, file


ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "Where?"}, {"type": "image", "source": {"data": "AA=="}}]},
    {
        "role": "assistant",
        "content": [
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "I "},
            {"type": "text", "text": "look."},
            {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": [{"type": "text", "text": "no"}]},
            {"type": "text", "text": "And?"},
        ],
    },
    {"role": "assistant", "content": "Done."},
]


def test_results_in_the_name_of_the_user_are_no_message_of_the_user() -> None:
    """A text beside the result is; texts that the provider split are one."""
    first, second = only_trace({"system": "Be kind.", "messages": ANTHROPIC}).invocations
    assert first.user == Message("Where?", parts=(Part(data="AA=="),))
    assert first.steps == (Message("I look."), ToolCall("f", {"x": 1}, "1"), ToolResult("f", "no", "1", is_error=True))
    assert (second.query, second.reply) == ("And?", "Done.")


@pytest.mark.parametrize("key", ["system", "systemInstruction", "instructions"])
@pytest.mark.parametrize("text", ["Be kind.", [{"text": "Be kind."}], {"parts": [{"text": "Be kind."}]}])
def test_instructions_of_a_request(key: str, text: Any) -> None:
    """Each provider has a key of its own for them."""
    (agent,) = only_trace({key: text, "messages": [{"role": "user", "content": "hi"}]}).agents
    assert agent.instructions == "Be kind."


@pytest.mark.parametrize(
    "tools",
    [
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"tools": [{"name": "f"}]},
        {"tools": [{"functionDeclarations": [{"name": "f"}]}]},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "f"}}]}},
    ],
)
def test_tools_of_a_request(tools: dict[str, Any]) -> None:
    """Each provider wraps their declarations differently."""
    (agent,) = only_trace({**tools, "messages": [{"role": "user", "content": "hi"}]}).agents
    assert agent.tool_names == ("f",)


def test_bedrock_marks_a_failed_tool() -> None:
    """By its status; JSON beside texts is the response."""
    result = {"toolUseId": "1", "status": "error", "content": [{"json": {"code": 7}}]}
    document = [
        {"role": "user", "content": [{"text": "Where?"}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": result}]},
        {"role": "assistant", "content": [{"text": "Sorry."}, {"cachePoint": {"type": "default"}}]},
    ]
    (invocation,) = only_trace(document).invocations
    assert invocation.steps == (ToolCall("f", {}, "1"), ToolResult("f", {"code": 7}, "1", is_error=True))
    assert invocation.reply == "Sorry."


def test_a_tool_of_the_provider_holds_its_own_result() -> None:
    """Items of the Responses API: a built-in tool, a tool of MCP that failed, and a refusal."""
    document = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "x"}},
        {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": None, "error": "down"},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ]
    (invocation,) = only_trace(document).invocations
    search = ToolCall("web_search", {"action": {"query": "x"}}, "w")
    assert invocation.steps == (search, ToolCall("f", {}, "m"), ToolResult("f", "down", "m", is_error=True))
    assert invocation.reply == "No."


def test_old_messages_of_langchain_have_calls_of_openai() -> None:
    """Calls that cannot be read are calls all the same; a dump without an envelope is read, too."""
    call = {"id": "1", "function": {"name": "f", "arguments": '{"x": 1}'}}
    document = [
        {"type": "human", "content": "hi"},
        {
            "type": "ai",
            "content": [{"type": "reasoning", "reasoning": "hm"}],
            "additional_kwargs": {"tool_calls": [call]},
        },
        {"type": "tool", "content": "2", "tool_call_id": "1", "status": "error"},
        {"type": "ai", "content": "", "invalid_tool_calls": [{"name": "g", "args": "{", "id": "2"}]},
    ]
    (invocation,) = only_trace(document).invocations
    assert invocation.steps == (
        Thought("hm"),
        ToolCall("f", {"x": 1}, "1"),
        ToolResult("f", "2", "1", is_error=True),
        ToolCall("g", {"arguments": "{"}, "2"),
    )


def test_a_structured_reply_of_pydantic_ai_is_the_reply() -> None:
    """Its output tool is no tool of the agent; several prompts are one message; a retry is a failed result."""
    document = [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "user-prompt", "content": "a"},
                {"part_kind": "user-prompt", "content": ["b", {"url": "https://x.example/i.png", "kind": "image-url"}]},
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": {}, "tool_call_id": "1"}]},
        {
            "kind": "request",
            "parts": [{"part_kind": "retry-prompt", "tool_name": "f", "content": "again", "tool_call_id": "1"}],
        },
        {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "final_result", "args": '{"n": 1}'}]},
        {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "final_result", "content": "Done"}]},
    ]
    (invocation,) = only_trace(document).invocations
    assert invocation.user == Message("a\nb", parts=(Part(uri="https://x.example/i.png"),))
    assert invocation.steps == (ToolCall("f", {}, "1"), ToolResult("f", "again", "1", is_error=True))
    assert invocation.reply == '{"n":1}'


VERCEL_MODEL = [
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {"x": 1}}]},
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "toolCallId": "1", "toolName": "f", "output": {"type": "json", "value": {"y": 2}}}
        ],
    },
    {"role": "assistant", "content": "Done."},
]
VERCEL_UI = [
    {"id": "a", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
    {
        "id": "b",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "tool-f", "toolCallId": "1", "state": "output-available", "input": {"x": 1}, "output": {"y": 2}},
            {"type": "text", "text": "Done."},
        ],
    },
]


@pytest.mark.parametrize("document", [VERCEL_MODEL, VERCEL_UI])
def test_messages_of_the_vercel_ai_sdk(document: list[dict[str, Any]]) -> None:
    """For a model, and for a user interface, where a call and its result are one part."""
    invocation = Invocation(
        Message("hi"), (ToolCall("f", {"x": 1}, "1"), ToolResult("f", {"y": 2}, "1")), Message("Done.")
    )
    assert only_trace(document).invocations == (invocation,)


def test_code_that_gemini_runs_is_a_call() -> None:
    """With its outcome as the result."""
    document = [
        {"parts": [{"text": "2+2?"}]},
        {
            "role": "model",
            "parts": [
                {"executableCode": {"language": "PYTHON", "code": "2+2"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "4"}},
                {"text": "4"},
            ],
        },
    ]
    (invocation,) = only_trace(document).invocations
    call, outcome = invocation.steps or ()
    assert call == ToolCall("executable_code", {"language": "PYTHON", "code": "2+2"})
    assert isinstance(outcome, ToolResult)
    assert (outcome.is_error, invocation.reply) == (True, "4")


def test_a_content_that_quotes_other_agents_is_no_turn_of_the_user() -> None:
    """google-adk tells an agent so what other agents did. The turn after it is a turn of its own."""
    quote = {"role": "user", "parts": [{"text": "For context:"}, {"text": "[shop] said: Refunds pays."}]}
    texts = [{"role": "user", "parts": [{"text": "pay"}]}, {"role": "model", "parts": [{"text": "paid"}]}]
    invocations = only_trace([texts[0], quote, *texts, quote, {"role": "model", "parts": [{"text": "!"}]}]).invocations
    assert [(each.query, each.reply) for each in invocations] == [("pay", ""), ("pay", "!")]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": [{"type": "hologram"}]}, "'hologram', which OpenAI chat messages do not have"),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, 5]}, "which OpenAI chat messages do not have"),
        (
            {"role": "user", "content": [{"type": "tool_result"}, {"type": "hologram"}]},
            "/0/content/1: is a part of the type 'hologram', which is not read in Anthropic messages; known are text,",
        ),
        (
            {"role": "user", "content": [{"toolResult": {}}, {"hologram": {}}]},
            "/0/content/1: is a part with the keys 'hologram', which is not read in Bedrock messages; known are text,",
        ),
        ({"role": "user", "parts": [{"hologram": 1}]}, "/0/parts/0/hologram: is not a known key"),
        ({"type": "message", "role": "user", "content": [{"type": "hologram"}]}, "not read in OpenAI Responses items"),
        ({"type": "human", "content": [{"type": "hologram"}]}, "not read in LangChain messages"),
        ({"kind": "request", "parts": [{"part_kind": "hologram"}]}, "not read in Pydantic AI messages"),
        ({"role": "user", "parts": [{"type": "hologram"}]}, "not read in Vercel AI SDK messages"),
        ({"role": "narrator", "parts": [{"type": "text"}]}, "/0/role: must be one of system, user, assistant, tool in"),
    ],
)
def test_a_part_that_no_reader_knows_is_an_error(message: dict[str, Any], text: str) -> None:
    """It may hold a call; a conversation without it would blame the agent."""
    assert text in problem([message])


def test_a_message_of_another_dialect_is_an_error() -> None:
    """A list has one dialect, the dialect of the first message with a mark."""
    assert "must be one of user, assistant, system in Anthropic messages, got 'tool'" in problem(
        [*ANTHROPIC, {"role": "tool", "content": "x"}]
    )


def test_responses_alone_are_chained() -> None:
    """Neither the user's messages nor the results of tools are in them. A response without a call ends a turn."""

    def response(name: str, previous: str | None, *output: dict[str, Any]) -> dict[str, Any]:
        return {"object": "response", "id": name, "previous_response_id": previous, "output": list(output)}

    call = {"type": "function_call", "name": "get", "arguments": "{}", "call_id": "c"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    chain = [response("2", "1", said), response("1", None, call), response("3", "2", said), response("x", "gone", said)]
    first, second = load(chain, "log.json").recordings
    assert [len(each.trace.invocations) for each in (first, second)] == [2, 1]
    turn, _ = first.trace.invocations
    (_, result) = turn.steps or ()
    assert turn.user.withheld.startswith("a response object does not hold its input")
    assert isinstance(result, ToolResult)
    assert (result.name, bool(result.withheld), turn.reply) == ("get", True, "ok")
    assert load(response("1", None, said), "log.json").recordings[0].trace.invocations[0].reply == "ok"


def test_lines_of_requests_are_conversations() -> None:
    """JSON lines, each a request of any provider, are read one at a time."""
    gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "yo"}]}]}
    lines = "\n".join(json.dumps(one) for one in ({"messages": ANTHROPIC, "id": "a"}, gemini))
    first, second = load(lines, "chats.jsonl").recordings
    assert (first.case_id, second.case_id) == ("a", "chats-2")
    assert [one.trace.invocations[-1].reply for one in (first, second)] == ["Done.", "yo"]


def test_what_a_tool_of_the_provider_gave_is_no_argument() -> None:
    """Each tool of the Responses API has another key for it. The input of a custom tool is a text."""
    document = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "code_interpreter_call", "id": "a", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
        {"type": "file_search_call", "id": "b", "queries": ["q"], "results": [{"text": "x"}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "count", "input": "1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "one"},
        {"type": "local_shell_call", "id": "d", "call_id": "d", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "d", "output": "a.txt"},
    ]
    (invocation,) = only_trace(document).invocations
    steps = invocation.steps or ()
    assert [(step.name, step.args) for step in steps if isinstance(step, ToolCall)] == [
        ("code_interpreter", {"code": "1+1"}),
        ("file_search", {"queries": ["q"]}),
        ("count", {"input": "1"}),
        ("local_shell", {"action": {"command": ["ls"]}}),
    ]
    assert [(step.name, step.response) for step in steps if isinstance(step, ToolResult)] == [
        ("code_interpreter", [{"type": "logs", "logs": "2"}]),
        ("file_search", [{"text": "x"}]),
        ("count", "one"),
        ("local_shell", "a.txt"),
    ]


def response_object(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A response of the Responses API, which somebody kept without the request."""
    return {"object": "response", "id": "r-1", "output": list(output), **fields}


SEARCHED = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "x"}}
FOUND = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found."}]}


@pytest.mark.parametrize(
    "called",
    [
        SEARCHED,
        {"type": "file_search_call", "id": "fs", "queries": ["x"], "results": None},
        {"type": "code_interpreter_call", "id": "ci", "code": "1+1", "outputs": None},
        {"type": "mcp_call", "id": "m", "name": "get", "arguments": "{}", "output": "x"},
    ],
    ids=lambda item: str(item["type"]),
)
def test_a_tool_of_the_provider_does_not_take_the_reply(called: dict[str, Any]) -> None:
    """The provider runs it within the response, so that the message behind it is the reply, and the turn is over."""
    (recording,) = load(
        [response_object(called, FOUND), response_object(FOUND, id="r-2", previous_response_id="r-1")]
    ).recordings
    first, second = recording.trace.invocations
    assert (first.reply, second.reply) == ("Found.", "Found.")
    assert len(first.tool_calls) == 1


def test_a_function_that_the_client_runs_has_a_withheld_result() -> None:
    """It stands behind its call, also if the response goes on with a message."""
    call = {"type": "function_call", "name": "get", "arguments": "{}", "call_id": "c"}
    (recording,) = load(response_object(call, FOUND), "log.json").recordings
    (invocation,) = recording.trace.invocations
    assert [type(step).__name__ for step in invocation.steps or ()] == ["ToolCall", "ToolResult"]
    assert invocation.reply == "Found."


def test_a_response_that_failed_breaks_the_recording() -> None:
    """The error is the provider's, and not an empty reply of the agent."""
    failed = response_object(status="failed", error={"code": "server_error", "message": "try again"})
    (recording,) = load(failed, "log.json").recordings
    assert recording.failure is not None
    assert (recording.failure.side, recording.trace.broken) == ("infrastructure", "server_error: try again")
