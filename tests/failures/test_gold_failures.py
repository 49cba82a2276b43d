"""Gold of others: steps that people named in failed conversations, and the known differences of tau-bench."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import load
from fairtrial import EvalCase, Trace, score
from fairtrial.analysis.failures.events import Conversation
from fairtrial.records.failure_mode import Failures

pytestmark = pytest.mark.shared


def solved(trace: Trace, case: EvalCase) -> bool:
    """Whether the benchmark rewarded the attempt."""
    del case
    return trace.reward == 1


def message_numbers(trace: Trace, messages: list[dict[str, Any]]) -> list[int]:
    """The number of the message of each event, counted from 1. A message with a text and a call is two events."""
    numbers: list[int] = []
    place = 0
    for event in Conversation(trace).events:
        while not _is_in(event.kind, messages[place]):
            place += 1
        numbers.append(place + 1)
        place += event.kind != "message"
    return numbers


def _is_in(kind: str, message: dict[str, Any]) -> bool:
    role = message["role"]
    if kind in ("user", "result"):
        return bool(role == {"user": "user", "result": "tool"}[kind])
    return role == "assistant" and bool(message.get("tool_calls" if kind == "call" else "content"))


def distances(shared: Path) -> Iterator[int]:
    """The distance of each decisive step from the nearest step that a person named, in messages."""
    document = json.loads((shared / "data" / "agentrx" / "tau-retail.json").read_text(encoding="utf-8"))
    loaded = load(json.dumps(document["failed"]).encode(), "agentrx.json")
    assert loaded.eval_set is not None
    run = score(list(loaded.recordings), loaded.eval_set, {"solved": solved})
    places = {own.case: own.step for own in run.failures().failed}
    traces = {recording.case_id: recording.trace for recording in loaded.recordings}
    messages = {str(own["task_id"]): own["traj"] for own in document["failed"]}
    for truth in document["truth"]:
        name = str(truth["trajectory_id"])
        step = places[name]
        assert step is not None
        number = message_numbers(traces[name], messages[name])[step.ordinal - 1]
        yield min(abs(number - failure["step_number"]) for failure in truth["failures"])


def test_steps_that_people_named(shared: Path) -> None:
    """Of 15 conversations of AgentRx, at least half have the very step that a person named, and 60 % one beside it."""
    own = list(distances(shared))
    assert len(own) == 15
    assert sum(distance == 0 for distance in own) / 15 >= 0.5
    assert sum(distance <= 1 for distance in own) / 15 >= 0.6


@pytest.fixture(scope="module")
def airline(shared: Path) -> Failures:
    """The failures of 200 dialogues of tau-bench."""
    return score(shared / "data" / "tau-bench" / "gpt-4o-airline.json", criteria={"solved": solved}).failures()


@pytest.mark.long
def test_modes_of_the_first_screen_cover_most_failures(airline: Failures) -> None:
    """Of 116 failed dialogues, the eight largest modes cover at least 70 %, and nearly all have a decisive step."""
    assert airline.failed_attempts == 116
    largest = sorted((mode.attempts for mode in airline.modes), reverse=True)[:8]
    assert sum(largest) / 116 >= 0.7
    assert airline.unplaced == 0


@pytest.mark.parametrize(
    "name",
    [
        "cancel_reservation is called and was not expected",
        "update_reservation_flights is called and was not expected",
        "update_reservation_flights is not called",
        "cancel_reservation is not called",
        "book_reservation is called and was not expected",
    ],
)
def test_known_differences_are_modes(airline: Failures, name: str) -> None:
    """Differences that a count by hand finds are modes of at least five attempts."""
    assert any(mode.name == name and mode.attempts >= 5 for mode in airline.modes)
