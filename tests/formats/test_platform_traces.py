"""The same dialogue gives the same recording, whichever platform kept its trace."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import SHARED
from hypothesis import given
from hypothesis import strategies as st

from builders import load
from fairtrial import loading
from fairtrial.config.spelling import snake
from fairtrial.errors import FormatError
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import ToolResult
from renamed_keys import (
    STRUCTURE,
    changes_in_silence,
    keys,
    read_documents,
    read_recordings,
    rename,
    write_documents,
)

TRACE, ROOT, FIRST, TOOL, SECOND = "0af7651916cd43dd8448eb211c80319c", "a" * 16, "b" * 16, "c" * 16, "d" * 16
IDS = {"root": ROOT, "first": FIRST, "tool": TOOL, "second": SECOND}
USER = {"role": "user", "content": "Where is it?"}
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "get", "arguments": '{"id": 1}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": '{"state": "here"}'}
REPLY = {"role": "assistant", "content": "Here."}
REQUEST = {"model": "m", "messages": [SYSTEM, USER], "tools": [{"type": "function", "function": {"name": "get"}}]}
LATER = {**REQUEST, "messages": [SYSTEM, USER, CALL, RESULT]}
SPANS: list[tuple[str, int, Any, Any]] = [
    ("root", 0, USER["content"], "Here."),
    ("first", 1, REQUEST, CALL),
    ("tool", 2, {"id": 1}, {"state": "here"}),
    ("second", 3, LATER, REPLY),
]
USAGE = {"input_tokens": 5, "output_tokens": 2}


def time(second: int) -> str:
    """A time in ISO 8601."""
    return f"2026-01-01T00:00:0{second}.000Z"


def openai_answer(message: Any) -> dict[str, Any]:
    """A response of OpenAI around a message."""
    return {"id": "r", "model": "m-1", "choices": [{"message": message}], "usage": USAGE}


def langfuse() -> list[Any]:
    """A download from the user interface."""
    types = {"root": "AGENT", "first": "GENERATION", "tool": "TOOL", "second": "GENERATION"}
    observations = [
        {
            "id": IDS[name],
            "traceId": TRACE,
            "type": types[name],
            "name": "get" if name == "tool" else name,
            "parentObservationId": None if name == "root" else ROOT,
            "startTime": time(second),
            "endTime": time(second + 1),
            "input": json.dumps(inputs["messages"]) if "messages" in inputs else inputs,
            "output": reply,
            "model": "m-1",
            "usageDetails": {"input": 5, "output": 2},
        }
        for name, second, inputs, reply in SPANS
    ]
    return [{"trace": {"id": TRACE, "sessionId": "s-1"}, "observations": observations}]


def as_parts(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the GenAI conventions, whose content is parts."""
    if message["role"] == "tool":
        part = {"type": "tool_call_response", "id": "c", "response": json.loads(message["content"])}
    elif message.get("tool_calls"):
        part = {"type": "tool_call", "id": "c", "name": "get", "arguments": {"id": 1}}
    else:
        part = {"type": "text", "content": message["content"]}
    return {"role": message["role"], "parts": [part]}


def langfuse_parts() -> list[Any]:
    """A download of spans of Pydantic AI, whose tools are named by an attribute and not by the name of the span."""
    (document,) = langfuse()
    for observation in document["observations"][1:]:
        if observation["type"] == "TOOL":
            observation["name"] = "running tool: get"
            continue
        observation["input"] = list(map(as_parts, json.loads(observation["input"])))
        observation["output"] = [as_parts(observation["output"])]
    return [document]


def langfuse_koog(*, as_list: bool = True) -> list[Any]:
    """A download of spans of koog, which writes calls as the content and calls a tool a mere span."""
    (document,) = langfuse()
    call = {"id": "c", "type": "function", "function": {"name": "get", "arguments": {"id": 1}}}
    content = [call] if as_list else call
    for observation in document["observations"][1:]:
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
        if observation["type"] == "TOOL":
            attributes = {"gen_ai.tool.name": "get", "gen_ai.tool.call.id": "c"}
            observation |= {"name": "tool.get", "type": "SPAN"}
        elif observation["id"] == FIRST:
            observation["output"] = [{"role": "assistant", "content": content, "finish_reason": "tool_calls"}]
        else:
            result = {"role": "tool", "content": RESULT["content"]}
            observation["input"] = [SYSTEM, USER, {"role": "tool", "content": content}, result]
        observation["metadata"] = {"attributes": attributes}
    return [document]


def koog() -> list[Any]:
    """Spans of koog with numbered messages. The content of a call is an object there, or the text of one."""
    raw = langfuse_koog(as_list=False)
    first = raw[0]["observations"][1]
    numbered = {"role": "assistant", "content": json.dumps(first["output"][0]["content"])}
    prompt = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": USER["content"]}
    completion = {f"gen_ai.completion.0.{key}": value for key, value in numbered.items()}
    first["metadata"] = {"attributes": {"gen_ai.operation.name": "chat", **prompt, **completion}}
    return raw


def langfuse_api() -> list[Any]:
    """A trace of the API, with its observations inside."""
    (document,) = langfuse()
    return [{**document["trace"], "observations": document["observations"]}]


def langfuse_blob() -> list[Any]:
    """The observations of an export to a blob storage, a row each. Inputs and outputs are JSON text."""
    (document,) = langfuse()
    return [
        {
            **{snake(key): value for key, value in observation.items() if key not in ("model", "input", "output")},
            "parent_observation_id": observation["parentObservationId"],
            "provided_model_name": observation["model"],
            "session_id": "s-1",
            **{key: as_text(observation[key]) for key in ("input", "output")},
        }
        for observation in document["observations"]
    ]


def as_text(value: Any) -> str:
    """A value as the text of JSON, unless it is a text."""
    return value if isinstance(value, str) else json.dumps(value)


def langsmith() -> list[Any]:
    """A batch in which runs are posted when they start and patched when they end."""
    kinds = {"root": "chain", "first": "llm", "tool": "tool", "second": "llm"}
    about = {"trace_id": TRACE, "dotted_order": "1"}
    post = [
        {
            "id": IDS[name],
            **about,
            "run_type": kinds[name],
            "name": "get" if name == "tool" else name,
            "parent_run_id": None if name == "root" else ROOT,
            "start_time": time(second),
            "inputs": inputs if isinstance(inputs, dict) else {"input": inputs},
            "extra": {"metadata": {"thread_id": "s-1"}},
        }
        for name, second, inputs, _ in SPANS
    ]
    patch = [
        {
            "id": IDS[name],
            **about,
            "end_time": time(second + 1),
            "outputs": openai_answer(reply) if name in ("first", "second") else {"output": reply},
        }
        for name, second, _, reply in SPANS
    ]
    return [{"post": post, "patch": patch}]


def langchain_runs() -> list[Any]:
    """Runs of LangChain, which writes envelopes."""

    def envelope(kind: str, **fields: Any) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": ["langchain", kind], "kwargs": {"type": kind, **fields}}

    system, user = envelope("system", content="Be brief."), envelope("human", content="Where is it?")
    call = envelope("ai", content="", tool_calls=[{"name": "get", "args": {"id": 1}, "id": "c"}], usage_metadata=USAGE)
    reply = envelope("ai", content="Here.", usage_metadata=USAGE)
    answer = envelope("tool", content='{"state": "here"}', tool_call_id="c", name="get", status="success")
    inputs = {"first": [system, user], "second": [system, user, call, answer]}
    (batch,) = langsmith()
    runs = [{**post, **patch} for post, patch in zip(batch["post"], batch["patch"], strict=True)]
    for run, name in zip(runs, IDS, strict=True):
        if name in inputs:
            run["inputs"] = {"messages": [inputs[name]]}
            run["outputs"] = {
                "generations": [[{"type": "ChatGeneration", "message": call if name == "first" else reply}]],
                "llm_output": {"model_name": "m-1"},
            }
    return runs


def mlflow() -> list[Any]:
    """A trace with JSON in JSON, and ids in base64."""
    kinds = {"root": "AGENT", "first": "CHAT_MODEL", "tool": "TOOL", "second": "CHAT_MODEL"}
    base64 = {"root": "qqqqqqqqqqo=", "first": "u7u7u7u7u7s=", "tool": "zMzMzMzMzMw=", "second": "3d3d3d3d3d0="}
    spans = [
        {
            "trace_id": TRACE,
            "span_id": base64[name],
            "parent_span_id": None if name == "root" else base64["root"],
            "name": "get" if name == "tool" else name,
            "start_time_unix_nano": (1767225600 + second) * 10**9,
            "end_time_unix_nano": (1767225601 + second) * 10**9,
            "attributes": {
                "mlflow.spanType": json.dumps(kinds[name]),
                "mlflow.spanInputs": json.dumps(inputs),
                "mlflow.spanOutputs": json.dumps(openai_answer(reply) if name in ("first", "second") else reply),
            },
        }
        for name, second, inputs, reply in SPANS
    ]
    return [{"info": {"trace_metadata": {"mlflow.trace.session": "s-1"}}, "data": {"spans": spans}}]


def weave() -> list[Any]:
    """Calls of operations. The client of a provider is known by the shape of its arguments."""
    return [
        {
            "id": IDS[name],
            "trace_id": TRACE,
            "parent_id": None if name == "root" else ROOT,
            "thread_id": "s-1",
            "op_name": f"weave:///acme/shop/op/{'get' if name == 'tool' else name}:x1",
            "started_at": time(second),
            "ended_at": time(second + 1),
            "attributes": {"weave": {"kind": "tool"}} if name == "tool" else {},
            "inputs": inputs if isinstance(inputs, dict) else {"question": inputs},
            "output": openai_answer(reply) if name in ("first", "second") else reply,
        }
        for name, second, inputs, reply in SPANS
    ]


def jaeger() -> list[Any]:
    """A trace of Jaeger, in GenAI conventions."""
    operations = {"root": "invoke_agent", "first": "chat", "tool": "execute_tool", "second": "chat"}

    def messages(inputs: Any) -> str:
        return json.dumps(inputs if isinstance(inputs, list) else [inputs])

    spans = []
    for name, second, inputs, reply in SPANS:
        tags: dict[str, Any] = {"gen_ai.operation.name": operations[name], "gen_ai.tool.name": "get"}
        if "messages" in inputs:
            tags |= {
                "gen_ai.input.messages": messages(inputs["messages"]),
                "gen_ai.output.messages": messages(reply),
                "gen_ai.response.model": "m-1",
                "gen_ai.usage.input_tokens": 5,
                "gen_ai.usage.output_tokens": 2,
            }
        spans.append(
            {
                "traceID": TRACE,
                "spanID": IDS[name],
                "operationName": name,
                "references": [] if name == "root" else [{"refType": "CHILD_OF", "spanID": ROOT}],
                "startTime": (1767225600 + second) * 10**6,
                "duration": 10**6,
                "processID": "p1",
                "tags": [{"key": key, "value": value} for key, value in tags.items()],
            }
        )
    processes = {"p1": {"serviceName": "shop", "tags": [{"key": "session.id", "value": "s-1"}]}}
    return [{"data": [{"traceID": TRACE, "spans": spans, "processes": processes}]}]


def phoenix_frame() -> list[Any]:
    """Rows of a data frame of Phoenix."""
    kinds = {"root": "AGENT", "first": "LLM", "tool": "TOOL", "second": "LLM"}

    def rows(messages: list[Any]) -> list[Any]:
        named = []
        for message in messages:
            row = {f"message.{key}": value for key, value in message.items() if value and key != "tool_calls"}
            if "tool_calls" in message:
                row["message.tool_calls"] = [
                    {
                        "tool_call.id": "c",
                        "tool_call.function.name": "get",
                        "tool_call.function.arguments": '{"id": 1}',
                    }
                ]
            named.append(row)
        return named

    frame = []
    for name, second, inputs, reply in SPANS:
        row: dict[str, Any] = {
            "name": "get" if name == "tool" else name,
            "span_kind": kinds[name],
            "parent_id": None if name == "root" else ROOT,
            "start_time": time(second),
            "end_time": time(second + 1),
            "context.trace_id": TRACE,
            "context.span_id": IDS[name],
            "attributes.session.id": "s-1",
            "attributes.llm.model_name": None,
        }
        if "messages" in inputs:
            row |= {
                "attributes.llm.input_messages": rows(inputs["messages"]),
                "attributes.llm.output_messages": rows([reply]),
                "attributes.llm.token_count.prompt": 5.0,
                "attributes.llm.token_count.completion": 2.0,
                "attributes.llm.model_name": "m-1",
            }
        elif name == "tool":
            row |= {"attributes.input.value": json.dumps(inputs), "attributes.output.value": json.dumps(reply)}
        frame.append(row)
    return frame


def phoenix_nested() -> list[Any]:
    """Spans of Phoenix as its database keeps them: attributes are nested objects, and arguments of tools are data."""
    rows = []
    for row in phoenix_frame():
        attributes: dict[str, Any] = {}
        for name, value in row.items():
            if name.startswith("attributes.") and value is not None:
                *path, last = name.split(".")[1:]
                holder = attributes
                for part in path:
                    holder = holder.setdefault(part, {})
                holder[last] = nested(value) if isinstance(value, list) else value
        if row["span_kind"] == "TOOL":
            attributes["tool"] = {"name": "get", "parameters": {"id": 1}}
            del attributes["input"]
        own = {name: row[name] for name in ("name", "span_kind", "parent_id", "start_time", "end_time")}
        context = {"trace_id": row["context.trace_id"], "span_id": row["context.span_id"]}
        rows.append({**own, "context": context, "attributes": attributes})
    return rows


def nested(messages: list[Any]) -> list[Any]:
    """Messages of OpenInference without dots in their names."""
    whole = []
    for row in messages:
        inner = {name.removeprefix("message."): value for name, value in row.items()}
        if "tool_calls" in inner:
            function = {"name": "get", "arguments": '{"id": 1}'}
            inner["tool_calls"] = [{"tool_call": {"id": "c", "function": function}}]
        whole.append({"message": inner})
    return whole


def phoenix_text() -> list[Any]:
    """Spans of Phoenix whose attributes are the text of a nested object, for example in rows of a table."""
    return [{**row, "attributes": json.dumps(row["attributes"])} for row in phoenix_nested()]


PLATFORMS = [
    langfuse_blob,
    koog,
    langfuse_koog,
    langfuse_parts,
    langfuse,
    langfuse_api,
    langsmith,
    langchain_runs,
    mlflow,
    weave,
    jaeger,
    phoenix_frame,
    phoenix_nested,
    phoenix_text,
]


def recordings(tmp_path: Path, values: list[Any]) -> list[Recording]:
    """The recordings in a file of JSON lines, or in a document."""
    path = tmp_path / "trace.json"
    path.write_text("\n".join(json.dumps(value) for value in values), encoding="utf-8")
    return [each for source in loading.sources([path], recorded=True) for each in source.loaded.recordings]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_same_dialogue_gives_the_same_recording(platform: Any, tmp_path: Path) -> None:
    """User, call with arguments, result, reply, tokens, session and time agree."""
    (recording,) = recordings(tmp_path, platform())
    (invocation,) = recording.trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert recording.trace.session_id == "s-1"
    assert (invocation.query, invocation.reply) == ("Where is it?", "Here.")
    assert [(call.name, call.args, call.withheld) for call in invocation.tool_calls] == [("get", {"id": 1}, "")]
    assert [(result.name, result.response) for result in results] == [("get", {"state": "here"})]
    assert [(usage.input_tokens, usage.output_tokens) for usage in invocation.usages or ()] == [(5, 2), (5, 2)]
    assert {usage.model for usage in invocation.usages or ()} == {"m-1"}
    assert invocation.created == 1767225600.0
    assert invocation.durations is not None
    assert invocation.durations.total == pytest.approx(4.0)


def test_rows_of_parquet_are_read_as_lines_are(tmp_path: Path) -> None:
    """Times are times there, and all rows have all columns."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {name: None for row in phoenix_frame() for name in row}
    path = tmp_path / "spans.parquet"
    pq.write_table(pa.Table.from_pylist([columns | row for row in phoenix_frame()]), path)
    (source,) = loading.sources([path], recorded=True)
    assert source.loaded.recordings == tuple(recordings(tmp_path, phoenix_frame()))


def test_a_damaged_table_is_refused() -> None:
    """With a message that says what it is."""
    pytest.importorskip("pyarrow")
    with pytest.raises(FormatError, match="damaged file of Parquet"):
        load(b"PAR1 and nothing else", "spans.parquet")


def test_the_export_of_the_agents_sdk_has_no_texts(tmp_path: Path) -> None:
    """Its functions have arguments and results. A handoff is a call of the giving agent."""

    def span(span_id: str, parent: str | None, second: int, **data: Any) -> dict[str, Any]:
        error = data.pop("error", None)
        return {
            "object": "trace.span",
            "id": span_id,
            "trace_id": "trace_1",
            "parent_id": parent,
            "started_at": time(second),
            "ended_at": time(second + 1),
            "span_data": data,
            "error": error,
        }

    batch = [
        {"object": "trace", "id": "trace_1", "workflow_name": "shop", "group_id": "s-1"},
        span("span_a", None, 0, type="agent", name="shop"),
        span("span_b", "span_a", 1, type="response", response_id="r-1", usage=USAGE),
        span("span_c", "span_a", 2, type="function", name="get", input='{"id": 1}', output="here"),
        span("span_d", "span_a", 3, type="function", name="get", input="{}", error={"message": "no id"}),
        span("span_e", "span_a", 4, type="handoff", from_agent="shop", to_agent="Refund Desk"),
    ]
    (recording,) = recordings(tmp_path, [{"data": batch}])
    (invocation,) = recording.trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert recording.trace.session_id == "s-1"
    assert [(call.name, call.args) for call in invocation.tool_calls] == [
        ("get", {"id": 1}),
        ("get", {}),
        ("transfer_to_refund_desk", {}),
    ]
    assert [(result.response, result.is_error) for result in results[:2]] == [
        ("here", False),
        ({"error": "no id"}, True),
    ]
    assert "never holds texts" in invocation.user.withheld
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in invocation.user.withheld
    assert [usage.input_tokens for usage in invocation.usages or ()] == [5]


@pytest.mark.parametrize(
    "data", [{"type": "function", "name": "get"}, {"type": "generation", "model": "m", "usage": USAGE}]
)
def test_the_reason_names_the_variable_of_the_agents_sdk(data: dict[str, Any], tmp_path: Path) -> None:
    """Functions and chat completions have contents unless a variable hides them."""
    span = {"object": "trace.span", "id": "span_a", "trace_id": "trace_1", "span_data": data}
    (recording,) = recordings(tmp_path, [{"data": [span]}])
    (invocation,) = recording.trace.invocations
    hidden = [*(invocation.steps or ()), *filter(None, [invocation.final_response])]
    assert hidden
    assert all("OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA" in step.withheld for step in hidden)


def test_a_prompt_in_one_text_is_cut_into_its_messages(tmp_path: Path) -> None:
    """Langfuse keeps some prompts so. The user's text may have several lines."""
    (document,) = langfuse()
    document["observations"] = document["observations"][3:]
    document["observations"][0] |= {"input": "system: Be brief.\nuser: Where\nis it?", "parentObservationId": None}
    (recording,) = recordings(tmp_path, [document])
    assert [each.query for each in recording.trace.invocations] == ["Where\nis it?"]


CUT_OFF = {
    "OpenAI": {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": "It is"}}]},
    "Anthropic": {"role": "assistant", "stop_reason": "max_tokens", "content": [{"type": "text", "text": "It is"}]},
    "Gemini": {
        "candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model", "parts": [{"text": "It is"}]}}]
    },
    "LangChain": {"generations": [[{"generation_info": {"finish_reason": "length"}, "text": "It is"}]]},
}


@pytest.mark.parametrize("answered", CUT_OFF.values(), ids=CUT_OFF)
def test_a_reply_that_was_cut_off_says_so(answered: Any, tmp_path: Path) -> None:
    """A platform keeps the response of the provider, which says why the model stopped."""
    (document,) = langfuse()
    document["observations"][3]["output"] = answered
    (recording,) = recordings(tmp_path, [document])
    reply = recording.trace.invocations[0].final_response
    assert reply is not None
    assert (reply.text, (reply.extra or {}).get("finish_reason", "").lower()) in [
        ("It is", "length"),
        ("It is", "max_tokens"),
    ]


def test_an_observation_that_failed_breaks_the_trace(tmp_path: Path) -> None:
    """Langfuse says so with a level, LangSmith with an error, Weave with an exception."""
    (document,) = langfuse()
    document["observations"][3] |= {"level": "ERROR", "statusMessage": "quota", "output": None}
    runs, calls = langchain_runs(), weave()
    runs[3] |= {"error": "quota", "outputs": None}
    calls[3] |= {"exception": "quota", "output": None}
    for values in ([document], runs, calls):
        (recording,) = recordings(tmp_path, values)
        assert "quota" in recording.trace.broken
        assert recording.failure is not None


def test_hidden_contents_of_langsmith_are_withheld(tmp_path: Path) -> None:
    """With LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS, both are empty objects."""
    runs = [{**run, "inputs": {}, "outputs": {}} for run in langchain_runs()]
    (recording,) = recordings(tmp_path, runs)
    (invocation,) = recording.trace.invocations
    assert [(call.name, "LANGSMITH_HIDE_INPUTS" in call.withheld) for call in invocation.tool_calls] == [("get", True)]
    assert "LANGSMITH_HIDE_INPUTS" in invocation.user.withheld


def test_instructions_with_the_role_of_the_user_are_no_turn(tmp_path: Path) -> None:
    """Langfuse writes them so for LangGraph, whose own spans tell which texts are the user's."""
    (document,) = langfuse()
    root, first, _, second = document["observations"]
    root |= {"type": "SPAN", "input": {"messages": [{"type": "human", "content": "Where is it?"}]}}
    declared = {"role": "tool", "content": {"type": "function", "function": {"name": "get"}}}
    instructions = {"role": "user", "content": "Be brief."}
    first["input"] = [instructions, USER, declared]
    second["input"] = [instructions, USER, CALL, {**RESULT, "content": [{"state": "here"}]}, declared]
    (recording,) = recordings(tmp_path, [document])
    (invocation,) = recording.trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert (invocation.query, invocation.reply) == ("Where is it?", "Here.")
    assert [result.response for result in results] in ([[{"state": "here"}]], [{"state": "here"}])


@pytest.mark.parametrize("key", ["messages", "conversation", "our_dialogue"])
def test_a_state_of_langgraph_may_hold_its_messages_under_any_key(key: str, tmp_path: Path) -> None:
    """The user's text is known by the types of LangChain's messages, and not by the key."""
    (document,) = langfuse()
    root, first, _, second = document["observations"]
    root |= {"type": "SPAN", "input": {"turn": 1, key: [{"type": "human", "content": "Where is it?"}]}}
    instructions = {"role": "user", "content": "Be brief."}
    first["input"] = [instructions, USER]
    second["input"] = [instructions, USER, CALL, RESULT]
    (recording,) = recordings(tmp_path, [document])
    assert [(turn.query, turn.reply) for turn in recording.trace.invocations] == [("Where is it?", "Here.")]
    assert recording.trace.agents[0].instructions == "Be brief."


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("name", ["autogen-2025-06-06", "google-adk-2025-08-28", "langgraph-2025-08-22"])
def test_a_renamed_key_of_a_real_trace_of_langfuse_is_never_silent(name: str) -> None:
    """Ids, names of tools, arguments and texts of arguments are no keys of Langfuse."""
    path = SHARED / "data/traces/langfuse" / f"{name}.json"
    whole = read_recordings(path.read_bytes(), path.name)
    document = read_documents(path.read_text(encoding="utf-8"), is_lines=False)
    calls = [call for recording in whole for turn in recording.trace.invocations for call in turn.tool_calls]
    of_models = {word for call in calls for word in (call.name, *keys(call.args), *map(str, call.args.values()))}
    silent = [
        key
        for key in sorted({*keys(document)} - STRUCTURE - of_models)
        if changes_in_silence(whole, write_documents(rename(document, key, f"{key}_of_us"), is_lines=False), path.name)
    ]
    assert whole
    assert silent == []


ANYTHING: list[Any] = [None, True, -1, 1.5, 10**25, "x", "{", [], [[]], {}, ["x"], [None], [{}], {"role": 5}]
TRAJECTORY = {
    "history": [
        {"role": "user", "content": "The issue.", "agent": "main"},
        {"role": "assistant", "thought": "hm", "action": "ls", "tool_calls": [{"id": "1", "function": {"name": "ls"}}]},
        {"role": "tool", "content": "a.py", "tool_call_ids": ["1"]},
    ],
    "trajectory": [{"action": "ls", "observation": "a.py", "execution_time": 1}],
    "info": {"exit_status": "submitted"},
}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Everything inside a document, as its holder and its key."""
    inner = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [(value, key) for key, _ in inner] + [place for _, item in inner for place in places(item)]


@pytest.mark.long
@given(st.sampled_from([*PLATFORMS, lambda: [TRAJECTORY]]), st.data())
def test_anything_in_any_place_is_read_or_refused(platform: Any, data: st.DataObject) -> None:
    """A hostile file never ends in a traceback."""
    document = json.loads(json.dumps(platform()))
    for holder, key in data.draw(st.lists(st.sampled_from(places(document)), min_size=1, max_size=3)):
        holder[key] = data.draw(st.sampled_from(ANYTHING))
    with suppress(FormatError):
        loaded = load("\n".join(map(json.dumps, document)), "trace.json")
        collect_recordings(loaded.spans, Diagnostics("trace.json"))
