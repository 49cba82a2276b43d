"""OpenAI chat messages are read as what happened."""

from __future__ import annotations

from typing import Any

from builders import load
from fairtrial.records.trace import AgentDetails, Invocation, Message, Part, Thought, ToolCall, ToolResult, Trace


def only_trace(document: Any) -> Trace:
    """The one conversation in a document."""
    (found,) = load(document, "chat.json").recordings
    return found.trace


def assistant_call(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    """A message of the assistant that calls a tool."""
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def test_messages_become_invocations() -> None:
    """A user's message starts an invocation; calls and results are its steps; the last text is its reply."""
    document = [
        {"role": "user", "content": "hi"},
        assistant_call("f", '{"x": 1}'),
        {"role": "tool", "tool_call_id": "c1", "content": '{"y": 2}'},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "bye!"},
    ]
    assert only_trace(document).invocations == (
        Invocation(Message("hi"), (ToolCall("f", {"x": 1}, "c1"), ToolResult("f", {"y": 2}, "c1")), Message("hello")),
        Invocation(Message("bye"), (), Message("bye!")),
    )


def test_messages_of_the_user_that_follow_one_another_are_one_turn() -> None:
    """Their texts are joined by a blank line. The same text after a reply is a turn of its own."""
    document = [
        {"role": "user", "content": "Where is my order?"},
        {"role": "user", "content": "It is A-17."},
        {"role": "assistant", "content": "On its way."},
        {"role": "user", "content": "It is A-17."},
    ]
    turns = [(own.query, own.reply) for own in only_trace(document).invocations]
    assert turns == [("Where is my order?\n\nIt is A-17.", "On its way."), ("It is A-17.", "")]


def test_system_message_and_tools_are_about_the_agent() -> None:
    """Instructions and declared tools are known of the agent."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    document = {
        "id": "chat-7",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}],
        "tools": [tool],
    }
    (found,) = load(document, "chat.json").recordings
    assert found.case_id == "chat-7"
    assert found.trace.agents == (AgentDetails("assistant", "Be kind.", ({"name": "f", "parameters": {}},)),)


def test_content_in_parts() -> None:
    """Content may be an array of parts, of which the texts count."""
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    assert only_trace([{"role": "user", "content": parts}]).invocations[0].query == "a\nb"


def test_reasoning_is_a_thought() -> None:
    """Reasoning beside the text is no part of the reply."""
    document = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "reasoning_content": "hm", "content": "hello"},
    ]
    (one,) = only_trace(document).invocations
    assert (one.steps, one.reply) == ((Thought("hm"),), "hello")


def test_old_function_call() -> None:
    """The deprecated `function_call` is a call as well."""
    document = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    ]
    assert only_trace(document).invocations[0].tool_calls == (ToolCall("f"),)


def test_arguments_that_are_no_object_equal_no_expected_ones() -> None:
    """Broken arguments are kept as they are, with a warning, and never taken for an empty object."""
    found = load([{"role": "user", "content": "hi"}, assistant_call("f", '{"x": 1')], "chat.json")
    (call,) = found.recordings[0].trace.invocations[0].tool_calls
    assert call.args == {"arguments": '{"x": 1'}
    assert "arguments are not a JSON object" in found.warnings[0]


def test_json_lines() -> None:
    """One conversation a line is several recordings."""
    text = '{"messages": [{"role": "user", "content": "a"}]}\n{"messages": [{"role": "user", "content": "b"}]}\n'
    found = load(text, "chats.jsonl")
    assert [one.case_id for one in found.recordings] == ["chats-1", "chats-2"]


def test_an_array_of_conversations() -> None:
    """Arrays of messages in an array are several recordings."""
    found = load([[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]], "chats.json")
    assert [one.trace.invocations[0].query for one in found.recordings] == ["a", "b"]


def test_null_id_and_null_tools_are_none() -> None:
    """A null where a name or a list could stand means that there is none."""
    (found,) = load({"id": None, "tools": None, "messages": [{"role": "user", "content": "a"}]}, "chat.json").recordings
    assert found.case_id == "chat"


def test_tau_bench() -> None:
    """A result of tau-bench is a task with gold actions and a recording with its reward; trial 0 is attempt 1."""
    task = {"actions": [{"name": "book", "kwargs": {"seat": 1}}], "instruction": "Book."}
    traj = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "###STOP###"},
    ]
    document = [
        {"task_id": 3, "reward": 1.0, "trial": trial, "info": {"task": task}, "traj": traj} for trial in range(2)
    ]
    found = load(document, "tau.json")
    assert found.eval_set is not None
    (case,) = found.eval_set.cases
    assert (case.id, case.expected_calls) == ("3", (ToolCall("book", {"seat": 1}),))
    assert [(one.case_id, one.attempt, one.ended_by) for one in found.recordings] == [
        ("3", 1, "stop"),
        ("3", 2, "stop"),
    ]
    assert found.recordings[0].trace.reward == 1.0
    assert len(found.recordings[0].trace.invocations) == 1, "the stop is not a message"


def test_images_sounds_and_files_are_parts_of_a_message() -> None:
    """At a URL or in base64."""
    content = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "AQ==", "format": "wav"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,Ag==", "filename": "a.pdf"}},
    ]
    media = (
        Part("image/png", data="AA=="),
        Part(uri="https://example.com/a.png"),
        Part("audio/wav", data="AQ=="),
        Part("application/pdf", data="Ag==", name="a.pdf"),
    )
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": content}]
    (invocation,) = load(messages).recordings[0].trace.invocations
    assert (invocation.user, invocation.final_response) == (Message("see", parts=media),) * 2


def test_a_conversation_may_have_a_reward() -> None:
    """As the results of benchmarks do; keys that nobody knows are kept beside it."""
    trace = load({"messages": [{"role": "user", "content": "hi"}], "reward": 1, "note": "x"}).recordings[0].trace
    assert (trace.reward, trace.extra) == (1.0, {"note": "x"})


def test_texts_alone_say_nothing_of_calls() -> None:
    """A single message that has calls, or lacks them expressly, shows that calls are recorded; and so do tools."""
    texts = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ok"}]
    assert only_trace(texts).invocations[0].steps is None
    assert only_trace([texts[0], {**texts[1], "tool_calls": None}]).invocations[0].steps == ()
    assert only_trace({"messages": texts, "tools": [{"name": "f"}]}).invocations[0].steps == ()
