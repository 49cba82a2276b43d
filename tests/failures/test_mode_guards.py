"""From a mode to a guard: a criterion that notices the mode, and an eval set of its cases. Both load."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from commands import enter, fairtrial
from fairtrial import EvalSet, Recording, load_eval_set, score
from fairtrial.analysis.failures.guard_config import ToolUse, make_guard
from fairtrial.api import check
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import FailureMode, Signature
from fairtrial.records.summary import Estimate
from fairtrial.store import DEFAULT_URL
from planted_failures import booking, perfect, plant

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
TOOLS = ToolUse(("book_room", "pay", "refund"), ("book_room", "pay"), "invocation")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an empty store."""
    enter(tmp_path, monkeypatch)


def stored(kind: str, other: str = "the agent refuses") -> str:
    """The id of a run with six failures of a kind, three of another kind, and six passes."""
    cases = [booking(number, "en") for number in range(15)]
    recordings: list[Recording] = [plant(kind, case).recording for case in cases[:6]]
    recordings += [plant(other, case).recording for case in cases[6:9]]
    recordings += [perfect(case) for case in cases[9:]]
    return score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=DEFAULT_URL).info.id


def mode(*signatures: Signature) -> FailureMode:
    """A mode of signatures."""
    return FailureMode(1, "a mode", signatures, "agent", 1, 1, 1, Estimate(), Estimate())


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [
        "the booking is missing",
        "the customer is not looked up",
        "a refund is made",
        "a hand-over is made",
        "the nights are wrong",
        "the method is wrong",
        "a suite is booked",
        "the receipt comes too early",
        "the room is booked twice",
        "the state is wrong",
    ],
)
def test_the_guard_catches_its_mode_alone(kind: str) -> None:
    """The criterion loads, fails all six attempts of its mode, and no attempt that passed, nor one of another kind."""
    run = stored(kind)
    done = fairtrial("failures", run, "--mode", "1", "--to-criterion", "guard.json")
    assert done.code == 0, done.err
    assert "catches 6 of 6 attempts of the mode" in done.out
    assert "fails 0 of 6 attempts that passed" in done.out
    cases = [booking(number, "en") for number in range(15)]
    refusals = [plant("the agent refuses", case).recording for case in cases[6:9]]
    kept = fairtrial("check", "guard.json")
    assert kept.code == 0
    again = score(refusals, EvalSet("bookings", tuple(cases[6:9])), "guard.json")
    assert again.summary.cases == {"passed": 3}


@pytest.mark.parametrize("kind", ["the price is wrong", "the price is missing"])
def test_a_mode_about_facts_needs_no_judge(kind: str) -> None:
    """The criterion on facts fails all six attempts of its mode, and no attempt that passed."""
    done = fairtrial("failures", stored(kind), "--mode", "1", "--to-criterion", "guard.json")
    assert done.code == 0, done.err
    assert "facts_match_v1 catches 6 of 6 attempts of the mode" in done.out
    assert "fails 0 of 6 attempts that passed" in done.out
    content = json.loads(Path("guard.json").read_text(encoding="utf-8"))
    assert content["criteria"]["facts_match_v1"]["kinds"] == ["amount"]


def test_a_claim_becomes_a_criterion_on_grounding(tmp_path: Path) -> None:
    """A mode of facts without support is noticed by the criterion that looks for their support, without a judge."""
    guard = make_guard(mode(Signature("claim", field="amount")), TOOLS)
    assert (guard.criterion, guard.judged) == ("facts_grounded_v1", False)
    (tmp_path / "guard.json").write_text(json.dumps(guard.config))
    (checked,) = check([str(tmp_path / "guard.json")])
    assert checked.problems == ()


def test_a_mode_about_words_becomes_a_rubric() -> None:
    """A criterion that needs a judge is written, loads, and is not tried."""
    done = fairtrial("failures", stored("the language is wrong"), "--mode", "1", "--to-criterion", "guard.json")
    assert "rubric_based_final_response_quality_v1" in done.out
    assert "needs a judge, so it was not tried" in " ".join(done.out.split())
    (checked,) = check(["guard.json"])
    assert checked.problems == ()
    content = json.loads(Path("guard.json").read_text(encoding="utf-8"))
    (rubric,) = content["criteria"]["rubric_based_final_response_quality_v1"]["rubrics"]
    assert rubric["rubric_content"]["text_property"] == "The reply is in the language of the user's message."


def test_the_cases_of_a_mode_become_an_eval_set() -> None:
    """The file holds the six cases of the mode with their expectations."""
    done = fairtrial("failures", stored("a refund is made"), "--mode", "1", "--to-cases", "regression.evalset.json")
    assert "6 cases" in done.out
    eval_set = load_eval_set("regression.evalset.json")
    assert [case.id for case in eval_set.cases] == [f"en-{number:03}" for number in range(6)]
    assert eval_set.cases[0].conversation == booking(0, "en").conversation


NOTE_OF_A_TOOL = "The customer of this ticket wants a room with a view, and nothing else."


@pytest.mark.long
def test_a_regression_set_loads_scores_and_is_written_again() -> None:
    """Keys of another tool stand in the metadata, once, however often the set of a run becomes the set of the next."""
    eval_set = EvalSet("tickets", tuple(replace(booking(n, "en"), extra={"ticket": NOTE_OF_A_TOOL}) for n in range(3)))
    for _ in range(3):
        recordings = [plant("a refund is made", case).recording for case in eval_set.cases]
        run = score(recordings, eval_set, CRITERIA, store=DEFAULT_URL)
        done = fairtrial("failures", run.info.id, "--mode", "1", "--to-cases", "again.evalset.json")
        assert done.code == 0, done.err
        eval_set = load_eval_set("again.evalset.json")
        assert [case.extra for case in eval_set.cases] == [{"metadata": {"ticket": NOTE_OF_A_TOOL}}] * 3
        assert score(recordings, "again.evalset.json", CRITERIA).summary.cases == {"failed": 3}
    passing = score([perfect(case) for case in eval_set.cases], "again.evalset.json", CRITERIA)
    assert passing.summary.cases == {"passed": 3}


def test_a_guard_needs_a_mode() -> None:
    """Both options ask for --mode."""
    run = stored("a refund is made")
    for option in ("--to-criterion", "--to-cases"):
        done = fairtrial("failures", run, option, "x.json")
        assert (done.code, "needs --mode" in done.err) == (2, True)


def test_a_mode_of_another_side_has_no_guard() -> None:
    """No criterion on the agent could notice a failure of the infrastructure."""
    with pytest.raises(UsageError, match="no criterion on the agent could notice it"):
        make_guard(mode(Signature("side", field="infrastructure", template="HTTP 503")), TOOLS)


def test_an_expected_tool_is_compared_and_another_one_is_forbidden() -> None:
    """A surplus call of a tool that some case expects needs a comparison, because the tool cannot be forbidden."""
    compared = make_guard(mode(Signature("unexpected", tool="pay")), TOOLS).options
    assert compared == {
        "threshold": 1.0,
        "scope": "invocation",
        "match_type": "EXACT",
        "optional_tools": ["book_room", "refund"],
    }
    forbidden = make_guard(mode(Signature("unexpected", tool="refund")), TOOLS).options
    assert (forbidden["match_type"], forbidden["forbidden_tools"]) == ("ANY_ORDER", ["refund"])


def test_other_arguments_are_ignored() -> None:
    """A guard of one argument compares that argument only."""
    options = make_guard(mode(Signature("changed", tool="pay", field="amount")), TOOLS).options
    assert options["match"] == {"pay": {"amount": "exact", "*": "ignore"}}
