"""Logs of benchmarks and coding agents are read, apart from the parts that no user and no agent wrote."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from builders import load
from fairtrial import api, loading
from fairtrial.errors import FormatError
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.formats.loaded import Loaded
from fairtrial.loading import streams
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult

if sys.version_info >= (3, 14):
    archives = zipfile
else:
    from backports.zstd import zipfile as archives

USAGE = {"input_tokens": 2, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 7}
META = {"type": "session_meta", "payload": {"id": "s-1", "base_instructions": {"text": "Be brief."}}}


def lines(*values: Any, path: str = "session.jsonl") -> Loaded:
    """The content of a file of JSON lines."""
    return load("\n".join(json.dumps(value) for value in values), path)


def alone(loaded: Loaded) -> Recording:
    """The only recording of a file."""
    (recording,) = loaded.recordings
    return recording


def names(invocation: Invocation) -> list[str]:
    """The calls of an invocation by their names."""
    return [call.name for call in invocation.tool_calls]


# Claude Code


def line(uuid: str, parent: str | None, content: Any, kind: str = "user", **more: Any) -> dict[str, Any]:
    """A line of a session of Claude Code. A message of the model has the id of the line unless `message` names one."""
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": more.pop("message", uuid), "model": "claude", "usage": USAGE}
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s-1",
        "isSidechain": False,
        "type": kind,
        "timestamp": "2026-01-01T00:00:00Z",
        "message": message,
        **more,
    }


def text(words: str) -> list[dict[str, Any]]:
    """A content of one text."""
    return [{"type": "text", "text": words}]


def use(call_id: str, name: str = "Bash", **args: Any) -> dict[str, Any]:
    """A part that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def answer(call_id: str, words: str, **more: Any) -> dict[str, Any]:
    """A part that answers a call."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": words, **more}


def test_lines_of_one_message_are_one_model_call() -> None:
    """Claude Code writes a line for each block of a message, each with the usage of the whole message."""
    found = alone(
        lines(
            line("a", None, "hi"),
            line("b", "a", [use("1")], kind="assistant", message="m-1"),
            line("c", "b", [use("2")], kind="assistant", message="m-1"),
            line("d", "b", [answer("1", "one")]),
            line("e", "c", [answer("2", "two", is_error=True)]),
            line("f", "d", text("done"), kind="assistant"),
        )
    )
    (invocation,) = found.trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(step.response, step.is_error) for step in results] == [("one", False), ("two", True)]
    assert (names(invocation), invocation.reply, found.case_id) == (["Bash", "Bash"], "done", "s-1")
    assert [usage.input_tokens for usage in invocation.usages or ()] == [17, 17]


def test_notes_of_claude_code_are_no_turns() -> None:
    """Commands, their output, summaries of a compaction, and notes have the role of the user."""
    found = alone(
        lines(
            {"type": "summary", "summary": "A talk.", "leafUuid": "z"},
            line("a", None, "Caveat: ...", isMeta=True),
            line("b", "a", "<command-name>/clear</command-name>"),
            line("c", "b", "<local-command-stdout>done</local-command-stdout>"),
            line("d", "c", "What was said before: ...", isCompactSummary=True),
            line("e", "d", [*text("<ide_opened_file>a.py</ide_opened_file>"), *text("hi")]),
            line("f", "e", text("hello"), kind="assistant"),
        )
    )
    assert [(each.query, each.reply) for each in found.trace.invocations] == [("hi", "hello")]


def test_the_branch_of_the_last_line_is_the_conversation() -> None:
    """A user who goes back to an earlier message leaves a branch. It is counted, and can be read too."""
    loaded = lines(
        line("a", None, "hi"),
        line("b", "a", text("hello"), kind="assistant"),
        line("c", "b", "left"),
        line("d", "c", text("gone"), kind="assistant"),
        line("e", "b", "right"),
        line("f", "e", text("here"), kind="assistant"),
    )
    assert [each.query for each in alone(loaded).trace.invocations] == ["hi", "right"]
    (branch,) = loaded.branches
    assert ([each.query for each in branch.trace.invocations], branch.case_id) == (["hi", "left"], "s-1-branch-1")
    (warning,) = loaded.warnings
    assert "1 abandoned branch with 1 invocation outside of the conversation; with --branches all" in warning


def test_an_agent_that_is_a_tool_is_inside_its_result() -> None:
    """Its lines are a sidechain. They belong to the call that names the agent, or that has its prompt."""
    named: dict[str, Any] = {"toolUseResult": {"agentId": "x"}}
    for more, agent in ((named, {"agentId": "x"}), ({}, {})):
        side: dict[str, Any] = {"isSidechain": True, **agent}
        found = alone(
            lines(
                line("a", None, "hi"),
                line("b", "a", [use("1", "Task", prompt="look")], kind="assistant"),
                line("s", None, "look", **side),
                line("t", "s", [use("2", "Grep")], kind="assistant", **side),
                line("u", "t", [answer("2", "found")], **side),
                line("c", "b", [answer("1", "It is there.")], **more),
            )
        )
        (invocation,) = found.trace.invocations
        (result,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
        assert names(invocation) == ["Task"]
        assert result.inner is not None
        assert [names(each) for each in result.inner.invocations] == [["Grep"]]


def test_an_error_of_the_api_breaks_the_session() -> None:
    """The model did not answer, which is not the agent's fault."""
    failed = line("b", "a", text("API Error: 529 overloaded"), kind="assistant", isApiErrorMessage=True)
    failed["message"]["model"] = "<synthetic>"
    found = alone(lines(line("a", None, "hi"), failed))
    assert found.failure is not None
    assert (found.failure.side, found.failure.cause) == ("infrastructure", "API Error: 529 overloaded")
    assert found.trace.invocations[0].usages is None


def test_a_cycle_of_lines_ends() -> None:
    """A hostile session names itself as its parent."""
    assert alone(lines(line("a", "b", "hi"), line("b", "a", text("hello"), kind="assistant"))).trace.invocations


# Codex


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """A response item of a session of Codex."""
    return {"type": "response_item", "timestamp": "2026-01-01T00:00:00Z", "payload": {"type": kind, **fields}}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    """An event of a session of Codex."""
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


def said(role: str, words: str) -> dict[str, Any]:
    """A message of a session of Codex."""
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": words}])


def context(turn: str) -> dict[str, Any]:
    """The context of a turn."""
    return {"type": "turn_context", "payload": {"turn_id": turn, "model": "codex"}}


def test_turns_of_codex_are_invocations() -> None:
    """What the user writes during a turn belongs to the turn, and what Codex writes before it does not."""
    count = {"last_token_usage": {"input_tokens": 5}, "total_token_usage": {"input_tokens": 5}}
    found = alone(
        lines(
            META,
            said("developer", "Stay in the folder."),
            said("user", "<environment_context>...</environment_context>"),
            context("t-1"),
            said("user", "list"),
            item("function_call", name="shell", arguments='{"command": ["ls"]}', call_id="1"),
            item("function_call_output", call_id="1", output="Process exited with code 2\nOutput:\n"),
            event("token_count", info=count),
            event("token_count", info=count),
            said("user", "and hurry"),
            said("assistant", "Nothing."),
            event("task_started", turn_id="t-2"),
            said("user", "a note about the folder"),
            context("t-2"),
            said("user", "thanks"),
        )
    )
    first, second = found.trace.invocations
    assert (first.id, first.query, first.reply) == ("t-1", "list\n\nand hurry", "Nothing.")
    assert (second.id, second.query, second.final_response) == ("t-2", "thanks", None)
    assert [usage.model for usage in first.usages or ()] == ["codex"]
    assert [step.is_error for step in first.steps or () if isinstance(step, ToolResult)] == [True]
    assert first.about is not None
    assert first.about.agents[0].instructions == "Be brief.\nStay in the folder."


def test_an_unknown_item_of_codex_is_named() -> None:
    """Its content would be lost."""
    with pytest.raises(FormatError, match="type 'hologram', which is not read"):
        lines(META, context("t-1"), item("hologram"))


def test_the_prompt_of_codex_exec_is_withheld() -> None:
    """A call that never ended has no result, and a turn that failed broke."""
    found = alone(
        lines(
            {"type": "thread.started", "thread_id": "s-1"},
            {"type": "turn.started"},
            {
                "type": "item.started",
                "item": {"id": "1", "type": "command_execution", "command": "ls", "status": "in_progress"},
            },
            {
                "type": "item.completed",
                "item": {"id": "1", "type": "command_execution", "command": "ls", "status": "failed"},
            },
            {
                "type": "item.completed",
                "item": {
                    "id": "2",
                    "type": "mcp_tool_call",
                    "tool": "get",
                    "arguments": {"x": 1},
                    "result": {"content": [{"type": "text", "text": '{"y": 2}'}]},
                    "status": "completed",
                },
            },
            {"type": "item.started", "item": {"id": "3", "type": "web_search", "query": "shops"}},
            {"type": "turn.failed", "error": {"message": "the stream broke"}},
        )
    )
    (invocation,) = found.trace.invocations
    assert invocation.user.withheld.startswith("codex exec --json does not write the prompt")
    assert names(invocation) == ["command_execution", "get", "web_search"]
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(step.response, step.is_error) for step in results] == [("", True), ({"y": 2}, False)]
    assert found.failure is not None
    assert found.failure.cause == "the stream broke"


# SWE-agent


def test_a_trajectory_without_function_calls_is_read() -> None:
    """A demonstration is no turn, the observation of a command has the role of the user."""
    found = alone(
        load(
            {
                "history": [
                    {"role": "system", "content": "You fix bugs.", "agent": "main"},
                    {"role": "user", "content": "A demonstration.", "is_demo": True},
                    {"role": "user", "content": "The issue."},
                    {"role": "assistant", "content": "All of it.", "thought": "I look.", "action": "ls -F\n"},
                    {"role": "user", "content": [{"type": "text", "text": "a.py"}]},
                    {"role": "assistant", "content": "", "thought": "Done.", "action": "submit"},
                ],
                "trajectory": [{"action": "ls -F", "execution_time": 0.5}, {"action": "submit", "observation": "diff"}],
                "info": {"exit_status": "submitted (exit_cost)", "submission": "diff"},
            },
            "issue-1.traj",
        )
    )
    (invocation,) = found.trace.invocations
    assert invocation.query == "The issue."
    assert [type(step) for step in invocation.steps or ()] == [Thought, ToolCall, ToolResult] * 2
    assert [(call.name, call.args) for call in invocation.tool_calls] == [
        ("ls", {"command": "ls -F\n"}),
        ("submit", {"command": "submit"}),
    ]
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(step.response, step.seconds) for step in results] == [("a.py", 0.5), ("diff", None)]
    assert (found.case_id, found.ended_by) == ("issue-1", "cap")
    assert found.trace.extra == {"exit_status": "submitted (exit_cost)", "submission": "diff"}


def test_a_trajectory_without_a_history_has_no_issue() -> None:
    """Its steps are known, and the user's message is not."""
    found = alone(load({"trajectory": [{"action": "ls", "observation": "a.py", "thought": "I look."}]}, "a.traj"))
    (invocation,) = found.trace.invocations
    assert (bool(invocation.user.withheld), names(invocation)) == (True, ["ls"])


# tau2-bench


def tau2(*messages: dict[str, Any], **more: Any) -> Loaded:
    """Results of one dialogue about one task."""
    actions = [
        {"name": "create", "arguments": {"title": "x"}, "requestor": "assistant"},
        {"name": "restart", "arguments": {}, "requestor": "user"},
    ]
    task = {"id": "t-1", "user_scenario": {}, "evaluation_criteria": {"actions": actions}}
    return load(
        {
            "tasks": [task],
            "simulations": [{"id": "s", "task_id": "t-1", "trial": 1, "messages": list(messages), **more}],
        },
        "results.json",
    )


def test_actions_of_the_simulated_user_are_not_the_agents() -> None:
    """Neither the expected actions of the user, nor the user's calls and their results."""
    loaded = tau2(
        {"role": "assistant", "content": "Hi!"},
        {"role": "user", "content": "Create x."},
        {"role": "assistant", "content": "One moment."},
        {"role": "user", "content": None, "tool_calls": [{"id": "u", "name": "restart", "arguments": {}}]},
        {"role": "tool", "id": "u", "content": "restarted", "requestor": "user"},
        {"role": "assistant", "tool_calls": [{"id": "a", "name": "create", "arguments": {"title": "x"}}]},
        {"role": "tool", "id": "a", "content": "no", "requestor": "assistant", "error": True},
        {"role": "assistant", "content": "It failed."},
        {"role": "user", "content": "Goodbye ###TRANSFER###"},
        termination_reason="user_stop",
        reward_info={"reward": 0.0},
    )
    assert loaded.eval_set is not None
    assert loaded.eval_set.cases[0].expected_calls == (ToolCall("create", {"title": "x"}),)
    found = alone(loaded)
    (invocation,) = found.trace.invocations
    assert (names(invocation), invocation.reply) == (["create"], "It failed.")
    assert [step.is_error for step in invocation.steps or () if isinstance(step, ToolResult)] == [True]
    assert found.trace.opening == (Message("Hi!"),)
    assert (found.attempt, found.ended_by, found.trace.reward) == (2, "stop", 0.0)


@pytest.mark.parametrize(
    ("reason", "ended_by", "side"),
    [("max_steps", "cap", None), ("too_many_errors", "failure", "agent"), ("user_error", "failure", "simulator")],
)
def test_a_dialogue_that_was_broken_off_has_a_side(reason: str, ended_by: str, side: str | None) -> None:
    """tau2-bench names the reason."""
    found = alone(tau2({"role": "user", "content": "hi"}, termination_reason=reason))
    assert (found.ended_by, found.failure and found.failure.side) == (ended_by, side)


def test_a_greeting_is_no_step_of_the_first_invocation() -> None:
    """In lists of messages of any provider, too."""
    greeting, hi = {"role": "assistant", "content": "Welcome!"}, {"role": "user", "content": "hi"}
    for messages in ([greeting, hi], [greeting, {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]):
        found = alone(load(messages, "chat.json"))
        assert [(each.query, each.steps) for each in found.trace.invocations] in ([("hi", ())], [("hi", None)])
        assert [each.text for each in found.trace.opening] == ["Welcome!"]


# Inspect

SAMPLE = {
    "id": 1,
    "epoch": 2,
    "target": "x",
    "messages": [
        {"role": "system", "content": "attachment://a1"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "hi"}, {"type": "image", "image": "data:image/png;base64,AA=="}],
        },
        {
            "role": "assistant",
            "id": "m-1",
            "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I look."}],
            "tool_calls": [{"id": "c", "function": "get", "arguments": {"x": 1}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c",
            "function": "get",
            "content": "",
            "error": {"type": "timeout", "message": "slow"},
        },
        {"role": "assistant", "id": "m-2", "content": "ok", "source": "generate", "model": "m"},
    ],
    "events": [
        {
            "event": "model",
            "tools": [{"name": "get"}],
            "output": {"choices": [{"message": {"id": "m-1"}}], "usage": {"input_tokens": 3}, "model": "m"},
        },
        {"event": "tool", "id": "c", "timestamp": "2026-01-01T00:00:00Z", "working_time": 0.5},
    ],
    "attachments": {"a1": "Be brief."},
    "scores": {"includes": {"value": "C", "answer": "attachment://a1"}},
    "limit": {"type": "message"},
}


def archive(compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A log of two samples as an archive."""
    file = io.BytesIO()
    with archives.ZipFile(file, "w", compression) as packed:
        packed.writestr("samples/b_epoch_1.json", json.dumps({**SAMPLE, "id": "b", "epoch": 1}))
        packed.writestr("samples/a_epoch_1.json", json.dumps({**SAMPLE, "id": "a", "epoch": 1}))
        packed.writestr("header.json", json.dumps({"eval": {"dataset": {"sample_ids": ["b", "a"]}}}))
    return file.getvalue()


def test_a_log_of_inspect_in_json_is_read() -> None:
    """Attachments are put back, times and usages come from events, scores and target stay in `extra`."""
    found = alone(load({"version": 2, "status": "success", "eval": {}, "samples": [SAMPLE]}, "log.json"))
    (invocation,) = found.trace.invocations
    assert (found.case_id, found.attempt, found.ended_by, found.trace.outcome) == ("1", 2, "cap", "success")
    assert found.trace.extra == {"target": "x", "scores": {"includes": {"value": "C", "answer": "Be brief."}}}
    assert (invocation.query, len(invocation.user.parts), invocation.reply) == ("hi", 1, "ok")
    thought, message, call, result = invocation.steps or ()
    assert (thought, message) == (Thought("hm"), Message("I look."))
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (result.response, result.is_error, result.seconds) == ({"error": "slow"}, True, 0.5)
    assert [usage.input_tokens for usage in invocation.usages or ()] == [3, None]
    assert invocation.about is not None
    assert invocation.about.agents[0].instructions == "Be brief."
    assert invocation.about.agents[0].tool_names == ("get",)


def test_an_archive_of_inspect_is_read_in_the_order_of_its_data_set() -> None:
    """Whatever its name. Python reads entries that are compressed in the usual way."""
    assert [each.case_id for each in load(archive(), "log").recordings] == ["b", "a"]


def test_an_archive_with_zstandard_is_read() -> None:
    """Inspect writes its archives so, and Python before 3.14 does not read them."""
    assert [each.case_id for each in load(archive(compression=93), "log").recordings] == ["b", "a"]


@pytest.mark.parametrize("data", [b"PK\x03\x04", archive()[:-30], archive()[:60] + b"x" + archive()[61:]])
def test_a_damaged_archive_is_refused(data: bytes) -> None:
    """With a message, wherever it is damaged."""
    with pytest.raises(FormatError, match="damaged archive"):
        load(data, "log.eval")


def test_a_damaged_entry_with_zstandard_is_refused() -> None:
    """The error of its decompressor is none of ours."""
    file = io.BytesIO()
    with archives.ZipFile(file, "w", compression=93) as packed:
        packed.writestr("samples/a_epoch_1.json", "{}" * 100)
    data = file.getvalue()
    start = data.index(b"\x28\xb5\x2f\xfd")
    with pytest.raises(FormatError, match="damaged archive"):
        load(data[: start + 4] + b"\xff" * 4 + data[start + 8 :], "log.eval")


def test_an_archive_of_something_else_is_refused() -> None:
    """A zip archive may hold anything."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("a.txt", "hi")
    with pytest.raises(FormatError, match="not a log of Inspect"):
        load(file.getvalue(), "log.eval")


# Files


def write(path: Path, *values: Any) -> Path:
    """Write a file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return path


def test_the_files_of_agents_beside_a_session_are_read_with_it(tmp_path: Path) -> None:
    """They are in a folder with the name of the session. If a folder is scored, they are not sessions of their own."""
    side: dict[str, Any] = {"isSidechain": True, "agentId": "x"}
    write(
        tmp_path / "s-1.jsonl",
        line("a", None, "hi"),
        line("b", "a", [use("1", "Task")], kind="assistant"),
        line("c", "b", [answer("1", "It is there.")], toolUseResult={"agentId": "x"}),
    )
    agent = write(tmp_path / "s-1/subagents/agent-x.jsonl", line("s", None, "look", **side))
    for path in (tmp_path / "s-1.jsonl", tmp_path):
        (source,) = loading.sources([path], recorded=True)
        (invocation,) = source.loaded.recordings[0].trace.invocations
        (step,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
        assert step.inner is not None
        assert [each.query for each in step.inner.invocations] == ["look"]
    (alone_source,) = loading.sources([agent], recorded=True)
    assert [each.query for each in alone_source.loaded.recordings[0].trace.invocations] == ["look"]


def test_all_branches_are_recordings_on_request(tmp_path: Path) -> None:
    """Each is a case of its own. While files are streamed, too."""
    path = write(
        tmp_path / "s-1.jsonl",
        line("a", None, "hi"),
        line("b", "a", text("left"), kind="assistant"),
        line("c", "a", text("right"), kind="assistant"),
    )
    every = TraceOptions(branches="all")
    (source,) = loading.sources([path], recorded=True, traces=every)
    (streamed,), index = streams.scan_sources([path], traces=every)
    assert index is None
    for loaded in (source.loaded, streamed.loaded):
        assert [each.trace.invocations[0].reply for each in loaded.recordings] == ["right", "left"]


def test_an_archive_is_scored_sample_by_sample(tmp_path: Path) -> None:
    """The file is read twice: to check it, and to score it."""
    path = tmp_path / "log.eval"
    path.write_bytes(archive())
    (source,), index = streams.scan_sources([path])
    assert index is not None
    assert ([case.id for case in index], source.loaded.recordings) == (["b", "a"], ())
    run = api.score(path, None, {"tool_call_count_v1": 1.0})
    assert [(result.case_id, result.verdict) for result in run.cases] == [("b", "passed"), ("a", "passed")]


def test_an_entry_that_unpacks_to_any_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive may be a bomb. It is cut while it unpacks."""
    monkeypatch.setattr("fairtrial.formats.benchmarks.inspect_logs._LARGEST", 100)
    with pytest.raises(FormatError, match="is larger than 0 MiB when it is unpacked"):
        load(archive(), "log.eval")


SCAFFOLDED = [
    {"role": "user", "content": "Count.", "source": "input"},
    {"role": "assistant", "content": "One."},
    {"role": "user", "content": "[usage] Tokens used: 5"},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "Please proceed."},
    {"role": "assistant", "content": "Three."},
]


@pytest.mark.parametrize(
    "given", ["Count.", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Count."}]]
)
@pytest.mark.parametrize("source", ["input", None])
def test_a_message_of_a_scaffold_is_no_turn(given: Any, source: str | None) -> None:
    """The input of the sample says which messages are the user's. All other words are the agent's run."""
    first = {**SCAFFOLDED[0], "source": source}
    sample = {**SAMPLE, "input": given, "messages": [first, *SCAFFOLDED[1:]]}
    found = alone(load({"version": 2, "status": "success", "eval": {}, "samples": [sample]}, "log.json"))
    assert [(each.query, each.reply) for each in found.trace.invocations] == [("Count.", "Three.")]


def test_a_person_who_takes_part_speaks_in_turns() -> None:
    """Inspect marks the messages of an operator. If the input has no message of the sample, all of them count."""
    spoken = {"role": "user", "content": "And four?", "source": "operator"}
    for given, first in (("Count.", "input"), ("something else", None)):
        messages = [
            {**SCAFFOLDED[0], "source": first},
            SCAFFOLDED[1],
            {**spoken, "source": "operator" if first else None},
        ]
        sample = {**SAMPLE, "input": given, "messages": messages}
        found = alone(load({"version": 2, "status": "success", "eval": {}, "samples": [sample]}, "log.json"))
        assert [each.query for each in found.trace.invocations] == ["Count.", "And four?"]


def test_a_bomb_of_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry is small enough, and all of them together are not."""
    monkeypatch.setattr("fairtrial.formats.packed._SMALL", 1000)
    monkeypatch.setattr("fairtrial.formats.packed._MOST_RATIO", 1)
    with pytest.raises(FormatError, match="more than 1 times larger when it is unpacked"):
        load(archive(), "log.eval")


ENDED = {"turn_id": "t-1", "last_agent_message": None}
ERROR = {"message": "We had an issue.", "codex_error_info": "internal_server_error"}


@pytest.mark.parametrize(
    "events",
    [
        [event("task_complete", **ENDED, error=ERROR)],
        [event("task_complete", **ENDED, error="internal_server_error: We had an issue.")],
        [event("error", **ERROR), event("task_complete", **ENDED)],
        [event("error", **ERROR)],
    ],
    ids=["an object", "a text", "before the end", "without an end"],
)
def test_an_error_of_codex_breaks_the_turn(events: list[Any]) -> None:
    """Nobody knows what the agent would have replied. The words before the error are not the reply."""
    begun = [META, context("t-1"), said("user", "list"), said("assistant", "I look.")]
    found = alone(lines(*begun, *events))
    (invocation,) = found.trace.invocations
    assert found.failure is not None
    assert (found.failure.side, found.failure.cause) == ("infrastructure", "internal_server_error: We had an issue.")
    assert (found.trace.broken, invocation.final_response) == (found.failure.cause, None)
    assert [step.text for step in invocation.steps or () if isinstance(step, Message)] == ["I look."]


def test_a_turn_of_codex_after_an_error_goes_on() -> None:
    """The reply of the broken turn is withheld, and the next turn counts. A retry that succeeds is no error."""
    broken = [context("t-1"), said("user", "list"), event("task_complete", **ENDED, error=ERROR)]
    retried = [event("error", **ERROR), said("assistant", "Hi."), event("task_complete", last_agent_message="Hi.")]
    found = alone(lines(META, *broken, context("t-2"), said("user", "hello"), *retried))
    first, second = found.trace.invocations
    assert first.final_response is not None
    assert "internal_server_error" in first.final_response.withheld
    assert (second.reply, found.failure, found.trace.broken) == ("Hi.", None, "")
