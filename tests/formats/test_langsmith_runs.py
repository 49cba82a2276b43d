"""A LangSmith run whose start and end come apart is read whole, and a missing answer has its reason."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from builders import load
from fairtrial.formats.conversation.span_conversations import collect_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.trace import Invocation

RUN, ORDER = "7e1c0c5a-7a0e-4f0e-9a55-0d7a0ffdb001", "20260101T000000000000Z"
ENDED = "2026-01-01T00:00:01Z"
ANSWER = {"choices": [{"message": {"role": "assistant", "content": "Here."}}]}
START = {
    "id": RUN,
    "trace_id": RUN,
    "dotted_order": ORDER + RUN,
    "name": "ChatOpenAI",
    "run_type": "llm",
    "start_time": "2026-01-01T00:00:00Z",
    "inputs": {"messages": [{"role": "user", "content": "Where is it?"}]},
}
END = {"id": RUN, "trace_id": RUN, "dotted_order": ORDER + RUN, "end_time": ENDED, "outputs": ANSWER}
END_WITHOUT_ID = {key: value for key, value in END.items() if key != "id"}


def read(*values: Any) -> tuple[list[Invocation], list[str]]:
    """Return the invocations in JSON lines, with the warnings."""
    reading = Diagnostics("runs.jsonl")
    recordings = collect_recordings(load("\n".join(map(json.dumps, values)), "runs.jsonl").spans, reading)
    return [invocation for recording in recordings for invocation in recording.trace.invocations], reading.warnings


@pytest.mark.parametrize(
    "values",
    [
        *itertools.permutations([START, END]),
        *itertools.permutations([START, {**END, "inputs": {}, "run_type": None}]),
        [{**START, "end_time": ENDED, "outputs": {}}, END],
        [START, START, END, END],
        [START, END_WITHOUT_ID],
        [{"post": [START], "patch": [END]}],
        [{"post": [START], "patch": [END_WITHOUT_ID]}],
        [{"post": [START]}, {"patch": [END]}],
    ],
    ids=str,
)
def test_a_run_and_its_patch_are_one_run(values: list[Any]) -> None:
    """The SDK sends a run when it starts and the rest of it when it ends, often in two requests."""
    (invocation,), warnings = read(*values)
    assert (invocation.query, invocation.reply, warnings) == ("Where is it?", "Here.", [])


def test_two_whole_runs_that_contradict_each_other_are_said() -> None:
    """Nobody knows which of them is right."""
    _, warnings = read(START | END, {**START, **END, "outputs": {"output": "There."}})
    assert any("unequal content" in warning for warning in warnings)


def test_a_patch_without_its_run_is_said() -> None:
    """The text of the user is in the run that started."""
    invocations, (warning,) = read(END)
    assert invocations == []
    assert "ends without its start" in warning


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (START, "add the patch that ends it"),
        ({**START, "end_time": ENDED}, "add the patch that ends it"),
        ({**START, "end_time": ENDED, "outputs": {"output": None}}, "its output 'output' is null"),
        ({**START, "end_time": ENDED, "outputs": {"outputs": None}}, "its output 'outputs' is null"),
        ({**START, "end_time": ENDED, "outputs": {"blob": "x"}}, "in a form that is not read"),
        ({**START, "end_time": ENDED, "outputs": {}}, "LANGSMITH_HIDE_OUTPUTS"),
    ],
)
def test_a_run_without_an_answer_says_why(run: dict[str, Any], reason: str) -> None:
    """Only hidden contents are the matter of a setting. A reply that nobody recorded is not an empty reply."""
    (invocation,), _ = read(run)
    assert invocation.final_response is not None
    assert reason in invocation.final_response.withheld
    assert ("LANGSMITH_HIDE" in invocation.final_response.withheld) == ("LANGSMITH_HIDE" in reason)


def test_the_answer_of_a_javascript_function_is_read() -> None:
    """The SDK for JavaScript puts an answer that is no object under `outputs`, and that for Python under `output`."""
    for key in ("output", "outputs"):
        (invocation,), _ = read({**START, "end_time": ENDED, "outputs": {key: "Here."}})
        assert invocation.reply == "Here."
