"""Spans become the conversation that happened."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial import Invocation, Recording, ToolCall, ToolResult
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from span_files import START, below, call, failed, lasting, messages, otlp, request, span, tool

Raw = dict[str, Any]


def read_spans(*spans: Raw, **options: Any) -> tuple[tuple[Recording, ...], list[str]]:
    """Return the recordings in spans, and the warnings."""
    reading = Diagnostics("a")
    items = read(json.dumps(otlp(*spans)).encode(), "a").spans
    return collect_recordings(items, reading, TraceOptions(**options)), reading.warnings


def read_recording(*spans: Raw, **options: Any) -> Recording:
    """Return the only recording in spans."""
    (recording,), _ = read_spans(*spans, **options)
    return recording


def read_invocation(*spans: Raw, **options: Any) -> Invocation:
    """Return the only invocation in spans."""
    (invocation,) = read_recording(*spans, **options).trace.invocations
    return invocation


def calling(number: int, *names: str, texts: tuple[str, ...] = ("hi",)) -> Raw:
    """Return a model call that answers with calls of tools, the ids are the names."""
    parts = [{"type": "tool_call", "id": name, "name": name, "arguments": {}} for name in names]
    output = json.dumps([{"role": "assistant", "parts": parts}])
    return span(number, **{"gen_ai.input.messages": messages(*texts), "gen_ai.output.messages": output})


def agent(number: int, name: str, seconds: float) -> Raw:
    """Return an agent at work."""
    return lasting(span(number, **{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}), seconds)


def names(invocation: Invocation) -> list[str]:
    """Return the names of the calls and of the results, in their order."""
    return [
        step.name if isinstance(step, ToolCall) else f"={step.name}"
        for step in invocation.steps or ()
        if isinstance(step, ToolCall | ToolResult)
    ]


def test_parallel_calls_keep_the_order_of_the_model() -> None:
    """Spans of tools that ran at once may start in any order."""
    root = agent(1, "shop", 9)
    spans = [calling(2, "b", "a"), tool(3, "a"), tool(4, "b"), call(5, ["hi"], "done")]
    assert names(read_invocation(root, *(below(raw, root) for raw in spans))) == ["b", "a", "=b", "=a"]


def test_a_tool_that_no_answer_called_is_a_call_of_its_own() -> None:
    """Code agents call tools in programs. The call stands where it happened."""
    root = agent(1, "shop", 9)
    spans = [calling(2, "b"), tool(3, "b"), tool(4, "extra"), call(5, ["hi"], "done")]
    assert names(read_invocation(root, *(below(raw, root) for raw in spans))) == ["b", "=b", "extra", "=extra"]


def test_the_reply_of_an_agent_comes_after_the_tools_that_it_ran() -> None:
    """Only the agent and its tools are recorded. Its answer is its last word, and stands there once."""
    root = call(1, ["hi"], "done", **{"gen_ai.operation.name": "invoke_agent"})
    spans = [below(tool(2, "a", **{"gen_ai.tool.call.result": "1"}), root), below(tool(3, "b"), root)]
    invocation = read_invocation(lasting(root, 9), *spans)
    assert names(invocation) == ["a", "=a", "b", "=b"]
    assert len(invocation.steps or ()) == 4
    assert invocation.reply == "done"


def test_two_spans_of_one_model_call_count_once() -> None:
    """A framework and a provider report the same call: one below the other, or with the same response id."""
    outer = lasting(call(2, ["hi"], "hello", **{"gen_ai.usage.input_tokens": "5"}), 1)
    inner = below(span(3, **{"gen_ai.usage.input_tokens": "5"}), outer)
    assert len(read_invocation(outer, inner).usages or ()) == 1
    first = lasting(call(2, ["hi"], "hello", **{"gen_ai.response.id": "r"}), 2)
    second = {**lasting(span(3, **{"gen_ai.response.id": "r"}), 1), "traceId": first["traceId"]}
    assert len(read_invocation(first, second).usages or ()) == 1


def test_an_agent_that_answers_as_a_tool_is_inside_its_result() -> None:
    """Its calls are not among the calls of the caller, unless the user wants it so."""
    root = agent(1, "shop", 20)
    asked = lasting(tool(3, "ask"), 8)
    inner = agent(4, "expert", 5)
    spans = [
        below(calling(2, "ask"), root),
        below(asked, root),
        below(inner, {**asked, "traceId": root["traceId"]}),
        below(calling(5, "look", texts=("what?",)), {**inner, "traceId": root["traceId"]}),
        below(tool(6, "look"), {**inner, "traceId": root["traceId"]}),
        below(call(7, ["what?"], "that"), {**inner, "traceId": root["traceId"]}),
        below(call(12, ["hi"], "done"), root),
    ]
    invocation = read_invocation(root, *spans)
    assert names(invocation) == ["ask", "=ask"]
    (result,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert result.inner is not None
    assert [names(each) for each in result.inner.invocations] == [["look", "=look"]]
    assert result.inner.invocations[0].reply == "that"
    assert (len(invocation.usages or ()), len(invocation.all_usages or ())) == (2, 4)
    assert names(read_invocation(root, *spans, nested=True)) == ["ask", "look", "=look", "=ask"]


def test_a_handover_goes_on_in_the_same_invocation() -> None:
    """Also if the spans of the target hang below the call that hands over. The steps name their agent."""
    root = agent(1, "shop", 20)
    transfer = lasting(tool(3, "transfer_to_refunds"), 8)
    target = agent(4, "refunds", 5)
    spans = [
        below(calling(2, "transfer_to_refunds"), root),
        below(transfer, root),
        below(target, {**transfer, "traceId": root["traceId"]}),
        below(calling(5, "pay"), {**target, "traceId": root["traceId"]}),
        below(call(7, ["hi"], "paid"), {**target, "traceId": root["traceId"]}),
    ]
    invocation = read_invocation(root, *spans)
    assert names(invocation) == ["transfer_to_refunds", "=transfer_to_refunds", "pay"]
    assert [step.author for step in invocation.tool_calls] == ["shop", "refunds"]


def quoting(number: int, *texts: str, reply: str) -> Raw:
    """Return a model call whose input holds messages of the user, some of which only quote other agents."""
    sent = [
        {"role": "user", "parts": [{"type": "text", "content": part} for part in text.split("|")]} for text in texts
    ]
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": reply}]}])
    return span(number, **{"gen_ai.input.messages": json.dumps(sent), "gen_ai.output.messages": output})


def test_a_message_that_quotes_other_agents_is_no_turn_of_the_user() -> None:
    """google-adk writes such messages, whichever instrumentation records them. An equal turn may follow."""
    root = agent(1, "shop", 20)
    spans = [
        quoting(2, "pay", reply="Refunds pays."),
        quoting(3, "pay", "For context:|[shop] said: Refunds pays.", reply="paid"),
        quoting(5, "pay", "For context:|[refunds] said: paid", "pay", reply="paid again"),
    ]
    recording = read_recording(root, *(below(raw, root) for raw in spans))
    replies = [(invocation.query, invocation.reply) for invocation in recording.trace.invocations]
    assert replies == [("pay", "paid"), ("pay", "paid again")]


def test_a_message_of_the_user_may_begin_like_a_quote() -> None:
    """Only google-adk puts the name of an agent on the next line."""
    assert (
        read_invocation(quoting(1, "For context: I paid twice.", reply="Sorry.")).query == "For context: I paid twice."
    )


def test_a_model_that_failed_breaks_the_conversation() -> None:
    """The agent did not go on. The failed invocation has no reply."""
    recording = read_recording(failed(span(1, **{"gen_ai.input.messages": messages("hi")}), "no quota"))
    assert recording.failure is not None
    assert (recording.failure.side, recording.failure.cause) == ("agent", "no quota")
    assert recording.trace.invocations[0].final_response is None


def test_a_retry_that_succeeds_breaks_nothing() -> None:
    """A later call in the same invocation answered."""
    root = agent(1, "shop", 9)
    spans = [failed(span(2, **{"gen_ai.input.messages": messages("hi")}), "no quota"), call(4, ["hi"], "hello")]
    recording = read_recording(root, *(below(raw, root) for raw in spans))
    assert recording.failure is None
    assert recording.trace.invocations[0].reply == "hello"


def test_a_tool_that_failed_is_an_answer() -> None:
    """The agent went on, and the result is an error."""
    root = agent(1, "shop", 9)
    spans = [calling(2, "get"), failed(tool(3, "get"), "no such order"), call(5, ["hi"], "sorry")]
    recording = read_recording(root, *(below(raw, root) for raw in spans))
    (result,) = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert (result.is_error, result.response, recording.failure) == (True, {"error": "no such order"}, None)


def test_calls_that_no_span_has_come_from_a_later_input() -> None:
    """A span was lost. The call and its result stand in their place, and a warning says so."""
    parts = [
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "get", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "ok"}]},
    ]
    raw = call(1, ["hi"], "done", **{"gen_ai.input.messages": json.dumps(parts)})
    (recording,), warnings = read_spans(raw)
    assert names(recording.trace.invocations[0]) == ["get", "=get"]
    assert any("incomplete" in warning and "get" in warning for warning in warnings)


def test_what_happened_before_is_history() -> None:
    """The first call's last turn opens the first invocation. The turns before it are not scored."""
    trace = read_recording(call(1, ["a", "A", "b", "B", "hi"], "hello")).trace
    assert [(each.query, each.reply) for each in trace.history] == [("a", "A"), ("b", "B")]
    assert [(each.query, each.reply) for each in trace.invocations] == [("hi", "hello")]


def test_a_turn_whose_spans_are_missing_comes_from_the_history() -> None:
    """The next call tells of it. Nothing is lost, and a warning says so."""
    session = {"session.id": "s"}
    spans = [call(1, ["a"], "A", **session), call(2, ["a", "A", "b", "B", "c"], "C", **session)]
    (recording,), warnings = read_spans(*spans)
    turns = [(each.query, each.reply) for each in recording.trace.invocations]
    assert turns == [("a", "A"), ("b", "B"), ("c", "C")]
    assert any("incomplete" in warning for warning in warnings)


def test_a_shortened_history_still_tells_the_new_turn() -> None:
    """An agent that drops old messages opens a new invocation with each text of the user."""
    session = {"session.id": "s"}
    spans = [
        call(1, ["a"], "A", **session),
        call(2, ["a", "A", "b"], "B", **session),
        call(3, ["b", "B", "c"], "C", **session),
    ]
    assert [each.query for each in read_recording(*spans).trace.invocations] == ["a", "b", "c"]


def test_alternatives_count_once() -> None:
    """The first of several choices is the answer."""
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]} for text in "xy"])
    raw = call(1, ["hi"], "", **{"gen_ai.output.messages": output, "gen_ai.request.choice.count": "2"})
    assert (read_invocation(raw).reply, read_invocation(raw).steps) == ("x", ())


def test_parts_of_one_text_are_joined() -> None:
    """A stream comes as many parts."""
    parts = [{"type": "text", "content": text} for text in ("Or", "der", " A-17")]
    raw = call(1, ["hi"], "", **{"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])})
    assert read_invocation(raw).reply == "Order A-17"


CUT_OFF = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "Or"}], "finish_reason": "length"}])


def with_choice(raw: Raw, **attributes: str) -> Raw:
    """Return a model call whose answer is an event."""
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return {**raw, "events": [{"name": "gen_ai.choice", "attributes": pairs}]}


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(call(1, ["hi"], "Or", **{"gen_ai.response.finish_reasons": '["length"]'}), id="an attribute"),
        pytest.param(call(1, ["hi"], "", **{"gen_ai.output.messages": CUT_OFF}), id="the message"),
        pytest.param(
            with_choice(span(1, **{"gen_ai.input.messages": messages("hi")}), message="Or", finish_reason="length"),
            id="an event",
        ),
    ],
)
def test_a_reply_that_was_cut_off_says_so(raw: Raw) -> None:
    """The model stopped at its limit. The reason is kept."""
    (recording,), warnings = read_spans(raw)
    reply = recording.trace.invocations[0].final_response
    assert reply is not None
    assert reply.extra == {"finish_reason": "length"}
    assert any("cut off" in warning for warning in warnings)


def test_cycles_are_cut_at_the_earliest_start() -> None:
    """No parent may hold up the reading."""
    first, second = call(1, ["hi"], "hello"), agent(2, "shop", 1)
    second = {**second, "traceId": first["traceId"], "parentSpanId": first["spanId"]}
    first = {**first, "parentSpanId": second["spanId"]}
    assert read_invocation(first, second).reply == "hello"


def test_times_come_from_the_spans() -> None:
    """The invocation lasts from its first span to the end of its last. Parallel calls count once."""
    root = agent(1, "shop", 10)
    spans = [
        lasting(calling(2, "a", "b"), 1),
        lasting(tool(4, "a"), 2),
        lasting(tool(5, "b"), 2),
        lasting(call(8, ["hi"], "done"), 1),
    ]
    invocation = read_invocation(root, *(below(raw, root) for raw in spans))
    durations = invocation.durations
    assert durations is not None
    assert (durations.total, durations.model, durations.tool) == (10.0, 2.0, 3.0)
    assert invocation.created == (START + 10**9) / 10**9


def test_a_span_that_was_sent_twice_counts_as_the_later() -> None:
    """Two exporters may send it with unequal content. The span that ended later counts, with a warning."""
    early, late = call(1, ["hi"], "hel"), lasting(call(1, ["hi"], "hello"), 1)
    (recording,), warnings = read_spans(late, early)
    assert recording.trace.invocations[0].reply == "hello"
    assert any("unequal content" in warning for warning in warnings)


def test_a_span_that_never_ended_counts() -> None:
    """And says so."""
    raw = call(1, ["hi"], "hello")
    del raw["endTimeUnixNano"]
    (recording,), warnings = read_spans(raw)
    assert recording.trace.invocations[0].reply == "hello"
    assert any("never ended" in warning for warning in warnings)


def test_spans_of_no_dialect_are_only_parents() -> None:
    """A database is not part of a conversation, and names it only if it is above an agent."""
    database = span(1, **{"gen_ai.operation.name": "", "db.system": "sqlite", "session.id": "s"})
    recording = read_recording(database, below(call(2, ["hi"], "hello"), database))
    assert recording.trace.session_id == "s"
    assert not read_spans(database)[0]


def test_the_outermost_id_names_the_conversation() -> None:
    """An agent behind a tool may have an id of its own."""
    root = span(1, **{"gen_ai.operation.name": "invoke_agent", "session.id": "outer"})
    inner = below(call(2, ["hi"], "hello", **{"gen_ai.conversation.id": "inner"}), root)
    assert read_recording(root, inner).trace.session_id == "outer"


def test_a_trace_without_its_root_is_incomplete() -> None:
    """Only a sample of the spans was kept. A warning says so."""
    raw = {**call(2, ["hi"], "hello"), "parentSpanId": "00000000000000aa"}
    assert any("incomplete" in warning for warning in read_spans(raw)[1])
    assert not read_spans(call(2, ["hi"], "hello"))[1]


def test_traces_of_single_model_calls_are_joined_over_their_tools() -> None:
    """A client that is instrumented without its agent makes a trace of each call. Nothing is missing in the end."""
    spans = [request(1, ("hi",), 0), request(2, ("hi",), 1), request(3, ("hi",), 2, "done")]
    (recording,), warnings = read_spans(*spans)
    (invocation,) = recording.trace.invocations
    assert (names(invocation), invocation.reply) == (["get", "=get", "get", "=get"], "done")
    assert warnings == ["a: joined 2 traces without a conversation id to an earlier trace, by the history"]


def test_equal_conversations_are_told_apart_by_the_ids_of_their_calls() -> None:
    """Two users ask the same. Without ids, nobody knows which trace goes on with which."""
    spans = [request(1, ("hi",), 0, ids="a"), request(2, ("hi",), 0, ids="b")]
    answers = [request(3, ("hi",), 1, "to a", ids="a"), request(4, ("hi",), 1, "to b", ids="b")]
    recordings, _ = read_spans(*spans, *answers)
    assert [recording.trace.invocations[0].reply for recording in recordings] == ["to a", "to b"]
    recordings, _ = read_spans(
        request(1, ("hi",), 0), request(2, ("hi",), 0), request(3, ("hi",), 1, "to a"), request(4, ("hi",), 1, "to b")
    )
    assert len(recordings) == 4


def test_a_trace_that_ends_with_a_call_has_no_known_reply() -> None:
    """No span holds the result, so that a later call of the model is missing. The agent is not blamed."""
    reply = read_invocation(request(1, ("hi",), 0)).final_response
    assert reply is not None
    assert "the result of the last call (get)" in reply.withheld
    answered = below(tool(2, "get", **{"gen_ai.tool.call.result": "x"}), request(1, ("hi",), 0))
    assert read_invocation(request(1, ("hi",), 0), answered).final_response is None


def test_a_later_equal_conversation_takes_no_successor_away() -> None:
    """Two users begin with the same words. The first had gone on before the second came."""
    spans = [call(1, ["hi"], "Yes?"), call(2, ["hi", "Yes?", "a"], "A"), call(3, ["hi"], "Yes?")]
    recordings, _ = read_spans(*spans, call(4, ["hi", "Yes?", "b"], "B"))
    queries = [[own.query for own in recording.trace.invocations] for recording in recordings]
    assert queries == [["hi", "a"], ["hi", "b"]]


def test_an_agent_that_failed_after_its_last_call_breaks_the_conversation() -> None:
    """A tool raised, and no later call succeeded. A helper that failed before is no break."""
    root = failed(agent(1, "shop", 9), "it fell")
    assert read_recording(root, below(calling(2, "get"), root), below(tool(3, "get"), root)).trace.broken == "it fell"
    whole = agent(1, "shop", 9)
    helper = below(failed(agent(2, "helper", 0.5), "it fell"), whole)
    recording = read_recording(whole, helper, below(call(3, ["hi"], "Hello."), whole))
    assert (recording.trace.broken, recording.trace.invocations[0].reply) == ("", "Hello.")


def test_the_level_of_an_observation_of_langfuse_is_a_failure_without_a_status() -> None:
    """Not every SDK of Langfuse sets the status of OpenTelemetry beside its own level."""
    own = "langfuse.observation."
    raw = span(1, **{own + "type": "generation", own + "level": "ERROR", own + "status_message": "rate limit"})
    assert read_recording(raw).trace.broken == "rate limit"


def test_an_error_in_a_response_of_google_adk_is_a_failure_without_a_status() -> None:
    """The agent fails in the same way when it runs. A response with content is an answer all the same."""
    contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    error = {"error_code": "UNAVAILABLE", "error_message": "Try later."}
    spans = [
        {
            **span(1, **{f"gcp.vertex.agent.{name}": json.dumps(value) for name, value in values.items()}),
            "name": "call_llm",
        }
        for values in (
            {"llm_request": contents, "llm_response": error},
            {"llm_request": contents, "llm_response": {**error, "content": {"parts": [{"text": "Well."}]}}},
        )
    ]
    assert read_recording(spans[0]).trace.broken == "UNAVAILABLE: Try later."
    assert read_recording(spans[1]).trace.invocations[0].reply == "Well."


def test_a_type_of_error_or_an_exception_is_a_failure_without_a_status() -> None:
    """Some instrumentations set no status."""
    silent = span(1, **{"gen_ai.input.messages": messages("hi"), "error.type": "Timeout"})
    assert read_recording(silent).trace.broken == "Timeout"
    attributes = [{"key": "exception.type", "value": {"stringValue": "Boom"}}]
    event = {"name": "exception", "timeUnixNano": "1", "attributes": attributes}
    raised = {**span(1, **{"gen_ai.input.messages": messages("hi")}), "events": [event]}
    assert read_recording(raised).trace.broken == "Boom"
    assert read_recording({**call(1, ["hi"], "Hello."), "events": [event]}).trace.broken == ""
    spans = [calling(1, "get"), {**tool(2, "get"), "events": [event]}, call(3, ["hi"], "Sorry.")]
    steps = read_invocation(*(below(each, agent(9, "shop", 1)) for each in spans)).steps or ()
    assert [step.is_error for step in steps if isinstance(step, ToolResult)] == [True]


def test_the_duration_of_a_span_that_never_ended_is_not_known() -> None:
    """It is not zero. The other durations are known."""
    root = agent(1, "shop", 9)
    unended = {key: value for key, value in below(calling(2, "get"), root).items() if key != "endTimeUnixNano"}
    durations = read_invocation(root, unended, below(lasting(tool(3, "get"), 2), root)).durations
    assert durations is not None
    assert (durations.total, durations.model, durations.tool) == (None, None, 2.0)


@pytest.mark.parametrize(("server_name", "seconds", "count"), [("a", 1, 2), ("b", 1, 3), ("a", 9, 3)])
def test_the_span_of_a_server_in_the_same_process_is_no_second_call(
    server_name: str, seconds: float, count: int
) -> None:
    """An MCP server works while its client waits. Another tool, or a call that outlives the client's, is its own."""
    root = agent(1, "shop", 20)
    of_client = {"openinference.span.kind": "TOOL", "tool.name": "a", "input.value": "{}", "output.value": "1"}
    clients = [lasting(span(number, **{"gen_ai.operation.name": "", **of_client}), 3) for number in (3, 8)]
    server = lasting(tool(4, server_name, **{"mcp.method.name": "tools/call"}), seconds)
    spans = [calling(2, "a", "a"), *clients, server, call(15, ["hi"], "done")]
    invocation = read_invocation(root, *(below(one, root) for one in spans))
    assert sum(name.startswith("=") for name in names(invocation)) == count
