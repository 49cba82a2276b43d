"""A failure that people call none proposes another expectation: what the attempt did."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from commands import enter, fairtrial
from fairtrial import EvalSet, load_eval_set, open_run, score
from fairtrial.records.keys import case_key
from fairtrial.records.label import FAILURES, Label
from fairtrial.store import DEFAULT_URL
from planted_failures import booking, plant

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
KINDS = ("a refund is made", "the price is wrong", "the state is wrong", "the booking is missing")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an empty store."""
    enter(tmp_path, monkeypatch)


def stored(*answers: tuple[int, str, float]) -> str:
    """The id of a run with a failure of each kind, and what people say about some cases: whether the agent failed."""
    cases = [booking(number, "en") for number in range(4)]
    recordings = [plant(kind, case).recording for kind, case in zip(KINDS, cases, strict=True)]
    run = score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=DEFAULT_URL)
    own = open_run(run.info.id, store=DEFAULT_URL)
    for number, author, value in answers:
        key = case_key("bookings", cases[number])
        own.add_label(Label(key, 1, FAILURES, value=value, author=author, side="" if value else "expectation"))
    return run.info.id


def test_accepted_attempts_become_expectations() -> None:
    """With the repaired eval set, the three accepted attempts pass, and the fourth fails as before."""
    run = stored((0, "ann", 0.0), (1, "ann", 0.0), (2, "ann", 0.0), (2, "ben", 0.0), (3, "ann", 1.0))
    done = fairtrial("labels", run, "--references", "better.evalset.json")
    assert done.code == 0, done.err
    assert "3 cases with what an attempt did that people call no failure" in done.out
    recordings = [plant(kind, booking(number, "en")).recording for number, kind in enumerate(KINDS)]
    again = score(recordings, load_eval_set("better.evalset.json"), CRITERIA)
    assert [result.verdict for result in again.cases] == ["passed", "passed", "passed", "failed"]


def test_people_who_disagree_repair_nothing() -> None:
    """If a person says that the agent failed, the expectation stays. A later label of the same person counts."""
    run = stored((0, "ann", 0.0), (0, "ben", 1.0))
    refused = fairtrial("labels", run, "--references", "better.evalset.json")
    assert refused.code == 2
    assert "no label has one" in refused.err
    key = case_key("bookings", booking(0, "en"))
    open_run(run, store=DEFAULT_URL).add_label(Label(key, 1, FAILURES, value=0.0, author="ben", side="expectation"))
    done = fairtrial("labels", run, "--references", "better.evalset.json")
    assert "1 case with what" in done.out
    calls = (load_eval_set("better.evalset.json").cases[0].conversation or ())[-1].tool_calls
    assert "refund" in [call.name for call in calls]


def test_a_repaired_set_with_keys_of_another_tool_loads() -> None:
    """They stand in the metadata of the case, because a reader of eval sets refuses texts under unknown keys."""
    text = "The customer of this ticket wants a room with a view, and nothing else."
    case = replace(booking(0, "en"), extra={"ticket": text})
    run = score([plant("a refund is made", case).recording], EvalSet("t", (case,)), CRITERIA, store=DEFAULT_URL)
    own = open_run(run.info.id, store=DEFAULT_URL)
    own.add_label(Label(case_key("t", case), 1, FAILURES, value=0.0, author="ann", side="expectation"))
    done = fairtrial("labels", run.info.id, "--references", "better.evalset.json")
    assert done.code == 0, done.err
    assert load_eval_set("better.evalset.json").cases[0].extra == {"metadata": {"ticket": text}}
