"""Spans of OpenInference that do not show the calls of an agent are said, and are no other calls."""

from __future__ import annotations

import json
from typing import Any

from builders import load
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import ToolResult, Usage

TRACE = "0af7651916cd43dd8448eb211c80319c"
TOOL = {"openinference.span.kind": "TOOL", "tool.parameters": "{'query': 'Tourism'}"}
AGENT = {"openinference.span.kind": "AGENT", "input.value": "Where to?", "beeai.version": "0.1.33"}
EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("agent.react.start-4", {"openinference.span.kind": "AGENT"}),
    (
        "backend.openai.chat.start-14",
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Message: Where to?",
        },
    ),
    ("tool.search.wikipedia.start-12", TOOL),
    ("tool.search.wikipedia.success-12", {**TOOL, "output.value": "[]"}),
    ("agent.react.partial_update-263", {"openinference.span.kind": "AGENT", "tool.name": "Wikipedia"}),
    (
        "backend.openai.chat.success-16",
        {
            "openinference.span.kind": "LLM",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "!",
        },
    ),
]


def observation(number: int, name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return a span as Langfuse keeps it."""
    return {
        "id": f"{number:016x}",
        "traceId": TRACE,
        "parentObservationId": f"{1:016x}" if number > 1 else None,
        "type": "GENERATION" if name.startswith("backend") else "SPAN",
        "name": name,
        "startTime": f"2026-01-01T00:00:0{number}.000Z",
        "endTime": f"2026-01-01T00:00:0{number + 1}.000Z",
        "metadata": {"attributes": attributes},
    }


def read(answer: str) -> tuple[Recording, list[str]]:
    """Return the recording of a download of BeeAI's spans, and the warnings."""
    root = ("beeai-framework-main", {**AGENT, "output.value": answer})
    observations = [observation(number, *span) for number, span in enumerate([root, *EVENTS], start=1)]
    reading = Diagnostics("trace.json")
    loaded = load(json.dumps({"trace": {"id": TRACE}, "observations": observations}), "trace.json")
    (recording,) = collect_recordings(loaded.spans, reading)
    return recording, reading.warnings


def test_a_span_for_each_event_is_no_call() -> None:
    """BeeAI's older instrumentation writes three spans for a call, names each by its event, and loses some."""
    recording, (warning,) = read("{'role': 'assistant', 'text': \"Barcelona.\"}")
    (invocation,) = recording.trace.invocations
    assert (invocation.query, invocation.tool_calls) == ("Where to?", ())
    assert "BeeAI wrote a span for each event" in recording.trace.incomplete
    assert "openinference-instrumentation-beeai" in warning


def test_functions_that_the_sdk_of_google_calls_are_calls() -> None:
    """One span holds both requests of `generate_content`, with the tokens of the last. Its answer repeats the first."""
    question = {"parts": [{"text": "What is the weather?"}]}
    call = {"parts": [{"function_call": {"name": "get_weather", "args": {"city": "Kyoto"}}}], "role": "model"}
    result = {"parts": [{"function_response": {"name": "get_weather", "response": {"sky": "blue"}}}], "role": "user"}
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.model_name": "gemini",
        "input.value": json.dumps({"contents": [{**question, "role": "user"}]}),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "What is the weather?",
        "output.value": json.dumps({"automatic_function_calling_history": [question, call, result]}),
        "llm.output_messages.0.message.role": "model",
        "llm.output_messages.0.message.content": "The sky is blue.",
        "llm.token_count.prompt": 20,
        "llm.token_count.completion": 5,
    }
    observations = [observation(1, "GenerateContent", attributes)]
    loaded = load(json.dumps({"trace": {"id": TRACE}, "observations": observations}), "trace.json")
    (recording,) = collect_recordings(loaded.spans, Diagnostics("trace.json"))
    (invocation,) = recording.trace.invocations
    assert [(one.name, one.args) for one in invocation.tool_calls] == [("get_weather", {"city": "Kyoto"})]
    (step,) = (step for step in invocation.steps or () if isinstance(step, ToolResult))
    assert (step.response, invocation.reply) == ({"sky": "blue"}, "The sky is blue.")
    assert invocation.usages == (Usage(model="gemini"), Usage(20, 5, model="gemini"))
    assert recording.trace.incomplete == ""


def test_the_repr_of_an_answer_is_not_the_answer() -> None:
    """The text of a Python object is not what the user read. A plain text is."""
    (invocation,) = read("{'role': 'assistant', 'text': \"Barcelona.\"}")[0].trace.invocations
    assert invocation.final_response is not None
    assert "repr of a Python object" in invocation.final_response.withheld
    (invocation,) = read("Barcelona.")[0].trace.invocations
    assert invocation.reply == "Barcelona."


def count_models(output: str | None) -> int:
    """Return how many model calls a trace with one request has, if LlamaIndex prepared it with an output."""
    model: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o"}
    arguments = json.dumps({"tools": ["<FunctionTool object>"], "user_msg": None, "chat_history": [], "verbose": False})
    preparation = {**model, "input.value": arguments} | ({} if output is None else {"output.value": output})
    message = "llm.{}_messages.0.message.{}".format
    request = {
        **model,
        message("input", "role"): "user",
        message("input", "content"): "Where to?",
        message("output", "role"): "assistant",
        message("output", "content"): "Barcelona.",
        "llm.token_count.prompt": 10,
        "llm.token_count.completion": 5,
    }
    spans = [
        ("FunctionAgent.run", {"openinference.span.kind": "CHAIN"}),
        ("OpenAI._prepare_chat_with_tools", preparation),
        ("OpenAI.achat", request),
    ]
    observations = [observation(number, *span) for number, span in enumerate(spans, start=1)]
    loaded = load(json.dumps({"trace": {"id": TRACE}, "observations": observations}), "trace.json")
    (recording,) = collect_recordings(loaded.spans, Diagnostics("trace.json"))
    return sum(len(invocation.usages or ()) for invocation in recording.trace.invocations)


def test_a_request_that_llama_index_prepares_is_no_call_of_the_model() -> None:
    """Only an output that is itself a request says that no model was asked: other spans stay model calls."""
    assert count_models(json.dumps({"messages": ["ChatMessage(...)"], "tools": []})) == 1
    assert count_models(None) == 2
    assert count_models("assistant: Barcelona.") == 2
