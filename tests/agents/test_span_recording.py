"""Conversations are recorded by the spans that an agent writes, also if its adapter reports only replies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from down_servers import NEEDS_RESULT, OrdersError, by_httpx, overloaded
from shop import CRITERIA, EVAL_SET, saying

import fairtrial
from fairtrial import Holding
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.trace import Trace

pytest.importorskip("opentelemetry.sdk")
pytest.importorskip("opentelemetry.proto")

from span_programs import answer, contradicting, in_thread, traced

HERE = Path(__file__).parent


def record(agent: Any, *queries: str) -> Recording:
    """Return the recording of one conversation."""
    run = fairtrial.evaluate(saying(*queries), agent, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure
    return recording


def test_a_function_that_returns_its_reply_only_is_recorded_whole() -> None:
    """Calls, results and tokens come from the spans, so that the trajectory can be scored."""
    run = fairtrial.evaluate(EVAL_SET, traced, CRITERIA, record="spans")
    assert run.summary.verdict == "passed"
    ((_, recording),) = run.recordings
    first, second = recording.trace.invocations
    assert [call.name for call in (*first.tool_calls, *second.tool_calls)] == [
        "get_order",
        "get_order",
        "cancel_order",
    ]
    assert [usage.total_tokens for usage in first.usages or ()] == [15, 15]
    assert recording.trace.incomplete == ""


def test_the_time_to_the_first_token_comes_from_the_spans() -> None:
    """It counts from the message of the user."""
    durations = record(traced, "Where is A-17?").trace.invocations[0].durations
    assert durations is not None
    assert durations.first_token is not None
    assert durations.total is not None
    assert 0 <= durations.first_token < durations.total


def test_an_agent_in_a_process_of_its_own_is_recorded_by_its_spans() -> None:
    """The spans are read in its process, and the calls come back."""
    run = fairtrial.evaluate(EVAL_SET, traced, CRITERIA, record="spans", holding=Holding("process"))
    assert run.summary.verdict == "passed"
    ((_, recording),) = run.recordings
    assert [len(turn.tool_calls) for turn in recording.trace.invocations] == [1, 2]
    assert recording.trace.incomplete == ""


def test_without_the_option_spans_are_not_read() -> None:
    """A run that does not ask for spans stays as it is."""
    ((_, recording),) = fairtrial.evaluate(saying("Where is A-17?"), traced, CRITERIA).recordings
    assert recording.trace.invocations[0].tool_calls == ()


def test_conversations_at_once_do_not_share_spans() -> None:
    """Each conversation has the calls of its own agent."""
    queries = ["Where is A-17?", "Cancel B-42, please.", "hello"] * 4
    cases = tuple(saying(query, name=f"case {number}").cases[0] for number, query in enumerate(queries))
    run = fairtrial.evaluate(fairtrial.EvalSet("many", cases), traced, CRITERIA, concurrency=12, record="spans")
    counts = {one.case_id: len(one.trace.invocations[0].tool_calls) for _, one in run.recordings}
    assert counts == {f"case {number}": [1, 2, 0][number % 3] for number in range(12)}


def test_a_thread_without_the_context_is_found_by_its_trace() -> None:
    """Frameworks start threads that have the current span and nothing else."""
    assert [call.name for call in record(in_thread, "Where is A-17?").trace.invocations[0].tool_calls] == ["get_order"]


def test_calls_that_only_one_source_holds_make_the_recording_incomplete() -> None:
    """Neither source is then known to be whole, and the reason names a call of each."""
    trace = record(contradicting, "Where is A-17?").trace
    assert "'get_order'" in trace.incomplete
    assert "'refund'" in trace.incomplete


def test_what_came_before_an_error_is_kept() -> None:
    """The spans of a turn that broke are steps of its invocation."""

    def breaking(query: str) -> str:
        answer(query)
        raise ValueError("too late")

    run = fairtrial.evaluate(saying("Where is A-17?"), breaking, CRITERIA, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is not None
    assert [call.name for call in recording.trace.invocations[0].tool_calls] == ["get_order"]


def test_the_failure_of_a_tool_stands_beside_what_the_model_got() -> None:
    """The text for the model does not tell that a server was down, and the span of the tool does."""
    trace = record(lambda query: answer(query, failure="Connection refused"), "Where is A-17?").trace
    (result,) = (step for step in trace.invocations[0].steps or () if isinstance(step, fairtrial.ToolResult))
    told = {"item": "teapot", "state": "shipped"}
    assert (result.is_error, result.response) == (True, {"error": "Connection refused", "result": told})


def refused() -> None:
    """A client of a tool that reached nobody."""
    raise ConnectionRefusedError(111, "Connection refused")


def refused_with_a_note() -> None:
    """As before, and a note stands behind the error."""
    error = ConnectionRefusedError(111, "Connection refused")
    error.add_note("Try again later.")
    raise error


def refused_below_a_client() -> None:
    """The client raises an error of its own."""
    try:
        refused()
    except ConnectionRefusedError as error:
        raise LookupError("the client failed") from error


def overloaded_server() -> None:
    """The error of httpx about a status has two lines."""
    with overloaded() as url:
        by_httpx(url)


def unknown_order() -> None:
    """No server is down."""
    raise KeyError("A-17")


def unknown_order_after_a_retry() -> None:
    """The first server was down, and the second one answered."""
    try:
        refused()
    except ConnectionRefusedError:
        unknown_order()


@pytest.mark.parametrize("repeats_results", [True, False], ids=["the model's span", "only the tool's span"])
@pytest.mark.parametrize(
    ("look_up", "sides"),
    [
        (refused, {"infrastructure"}),
        (refused_with_a_note, {"infrastructure"}),
        (refused_below_a_client, {"infrastructure"}),
        (overloaded_server, {"infrastructure"}),
        (unknown_order, set()),
        (unknown_order_after_a_retry, set()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_causes_in_a_span_tell_that_a_server_was_down(
    look_up: Callable[[], None], sides: set[str], repeats_results: bool
) -> None:
    """The model got a text, and the status tells only the error of the tool."""
    try:
        try:
            look_up()
        except Exception as cause:
            raise OrdersError("no order") from cause
    except OrdersError as error:
        failure = error
    ask = partial(answer, failure=failure, repeats_results=repeats_results)
    (result,) = fairtrial.evaluate(
        fairtrial.EvalSet("shop", (NEEDS_RESULT,)),
        ask,
        {"response_match_score": 0.9},
        record="spans",
    ).cases
    assert {fault.side for fault in result.invalidations or ()} == sides


def test_the_calls_of_a_simulated_user_are_not_the_agents() -> None:
    """A user that writes spans of models in the same process speaks between the turns."""

    class User:
        """Asks once."""

        async def next_message(self, so_far: Trace) -> str | None:
            """Return the question, with spans of its own."""
            answer("Cancel B-42, please.")
            return None if so_far.invocations else "Where is A-17?"

    case = EvalCase("played", scenario=Scenario("Hello", "Ask."))
    run = fairtrial.evaluate(
        fairtrial.EvalSet("played", (case,)), traced, CRITERIA, users=lambda *_: User(), record="spans"
    )
    ((_, recording),) = run.recordings
    assert [call.name for call in recording.trace.invocations[0].tool_calls] == ["get_order"]


@pytest.mark.long
def test_a_program_that_exports_otlp_is_recorded() -> None:
    """The program gets the address of the run's receiver, and writes only its replies."""
    target = f"process:{sys.executable} {HERE / 'span_programs.py'}"
    trace = record(target, "Where is A-17?", "Cancel B-42, please.").trace
    calls = [[call.name for call in own.tool_calls] for own in trace.invocations]
    assert calls == [["get_order"], ["get_order", "cancel_order"]]
    assert [len(own.usages or ()) for own in trace.invocations] == [2, 3]


@pytest.mark.long
def test_the_exporters_of_the_user_go_on() -> None:
    """A provider that the user has set stays the global one, and its exporter gets every span."""
    program = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from test_span_recording import record
from span_programs import answer, traced
recording = record(traced, "Where is A-17?")
assert trace.get_tracer_provider() is provider
inside = len(exporter.get_finished_spans())
answer("Where is A-17?")
print([call.name for call in recording.trace.invocations[0].tool_calls], inside, len(exporter.get_finished_spans()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=HERE, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "['get_order'] 4 8\n", done.stderr


def test_another_source_is_refused() -> None:
    """Before anything runs, with the sources that there are."""
    with pytest.raises(UsageError, match="record must be 'messages' or 'spans', got 'logs'"):
        fairtrial.evaluate(saying("hello"), traced, CRITERIA, record="logs")  # type: ignore[arg-type]
