"""Recordings are matched with the cases that they answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from builders import case, recording, turn
from fairtrial import api
from fairtrial.loading import match
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet, SessionInput
from fairtrial.records.trace import Trace
from loading import cases, todo


def matched(todo: list[PlannedCase], heard: list[Recording], **options: Any) -> list[tuple[str, int, bool]]:
    """The case, attempt and "was recorded" of each pair."""
    pairs, _ = match(todo, heard, **options)
    return [(work.name, one.attempt, one.failure is None) for work, one in pairs]


def test_recordings_are_matched_by_the_id_of_their_case() -> None:
    """In the order of the cases."""
    heard = [recording(turn(), name="b"), recording(turn(), name="a")]
    assert matched(todo(cases("s", "a", "b")), heard) == [("a", 1, True), ("b", 1, True)]


def test_several_recordings_of_a_case_are_its_attempts_in_order() -> None:
    """Whatever number they were given elsewhere."""
    heard = [replace(recording(turn(reply=str(i)), name="a"), attempt=7) for i in range(3)]
    pairs, _ = match(todo(cases("s", "a")), heard)
    assert [(one.attempt, one.trace.invocations[0].reply) for _, one in pairs] == [(1, "0"), (2, "1"), (3, "2")]


def test_a_case_without_recording_is_an_error_of_the_infrastructure() -> None:
    """It is not left out."""
    ((_, missing),) = match(todo(cases("s", "a")), [])[0]
    assert missing.failure is not None
    assert (missing.failure.side, missing.failure.cause) == ("infrastructure", "no recording")


def test_a_property_that_would_pair_the_recordings_is_named() -> None:
    """If no recording finds its case, the first warning says which property most of them share with a case."""
    heard = [
        recording(turn(query="Where?"), name="x"),
        recording(turn(query="When?"), name="y"),
        recording(turn(query="Who?"), name="z"),
    ]
    asked = EvalSet("s", (case(turn(query="Where?"), name="a"), case(turn(query="When?"), name="b")))
    assert match(todo(asked), heard)[1][0] == (
        "match id pairs no recording with a case; match query would pair 2 of 3 recordings"
    )
    assert not any("pairs no recording" in warning for warning in match(todo(asked), heard, by="query")[1])


def test_no_property_is_named_if_none_would_pair_a_recording() -> None:
    """The recordings are of other cases."""
    asked = EvalSet("s", (case(turn(query="Where?"), name="a"),))
    assert match(todo(asked), [recording(turn(query="Why?"), name="x")])[1] == ["recording 'x' belongs to no case"]


def test_a_recording_without_case_is_a_warning() -> None:
    """It was recorded for something."""
    assert match(todo(cases("s", "a")), [recording(name="a"), recording(name="z")])[1] == [
        "recording 'z' belongs to no case"
    ]


def test_recordings_are_matched_by_session() -> None:
    """By the session that the case pins, else by the case's id."""
    pinned = replace(case(name="a"), session_input=SessionInput(session_id="s1"))
    heard = [Recording("x", Trace(session_id="s1")), Recording("y", Trace(session_id="b"))]
    assert matched(todo(EvalSet("s", (pinned, case(name="b")))), heard, by="session") == [
        ("a", 1, True),
        ("b", 1, True),
    ]


def test_recordings_are_matched_by_order() -> None:
    """Whatever they are called."""
    heard = [recording(name="y"), recording(name="x")]
    assert matched(todo(cases("s", "a", "b", "c")), heard, by="order") == [
        ("a", 1, True),
        ("b", 1, True),
        ("c", 1, False),
    ]


def test_results_of_one_eval_set_are_attempts_at_its_cases(tmp_path: Path) -> None:
    """ADK writes a file for each run: a folder of them holds the attempts at the same cases."""
    for name in ("first", "second"):
        invocation = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": name}]}}
        expected = {"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "first"}]}}
        pair = {"actual_invocation": invocation, "expected_invocation": expected}
        case = {"eval_id": "a", "eval_metric_result_per_invocation": [pair]}
        body = {"eval_set_id": "s", "eval_case_results": [case]}
        (tmp_path / f"{name}.evalset_result.json").write_text(json.dumps(body))
    run = api.score(tmp_path, criteria={"response_match_score": 1.0})
    assert [(one.case_id, one.attempt, one.verdict) for one in run.cases] == [("a", 1, "passed"), ("a", 2, "failed")]


def test_an_id_that_is_a_number_is_no_place_in_the_order() -> None:
    """The case called "1" stands first, and is answered by what was recorded first."""
    heard = [recording(turn(reply=str(i)), name="x") for i in range(2)]
    pairs, _ = match(todo(cases("s", "1", "0")), heard, by="order")
    assert [(work.name, one.trace.invocations[0].reply) for work, one in pairs] == [("1", "0"), ("0", "1")]


def test_what_answers_some_of_the_cases_keeps_its_attempts() -> None:
    """A run of a few cases scores all that was recorded of them."""
    works = todo(cases("s", "a", "b"))
    recorded, _ = match(works, [recording(name="b"), recording(name="a"), recording(name="b")])
    assert len(recorded) == 3
    assert [(work.name, one.attempt) for work, one in recorded.for_cases(works[1:])] == [("b", 1), ("b", 2)]
