"""Invocations that are missing, broken or too many are paired and scored."""

from __future__ import annotations

import pytest

from builders import call, case, trace, turn, values
from fairtrial.metrics.efficiency import ToolCallCount
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.case import EvalCase
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace
from judged import Bench, score

A = turn(call("A"), reply="a")


def test_a_missing_invocation_is_never_reached() -> None:
    """In a recording without failure it has the worst value, and says so."""
    found = ToolTrajectory()(trace(A), case(A, A))
    assert (found.value, values(found)) == (0.5, [1, 0])
    assert found.parts[1].reason.startswith("never reached")


def test_a_recording_of_nothing_has_the_worst_value() -> None:
    """None of the invocations was reached."""
    assert ToolTrajectory()(trace(), case(A, A)).value == 0


def test_a_surplus_invocation_is_not_applicable() -> None:
    """It is reported, and leaves the mean."""
    found = ToolTrajectory(match_type="IN_ORDER")(trace(A, turn(call("B"))), case(A))
    assert (found.value, values(found)) == (1, [1, None])
    assert "surplus" in found.parts[1].reason


def test_a_surplus_invocation_without_calls_is_not_applicable_to_an_exact_match() -> None:
    """There is no call that the case does not expect."""
    assert values(ToolTrajectory()(trace(A, turn(reply="b")), case(A))) == [1, None]


def test_a_call_in_a_surplus_invocation_breaks_an_exact_match() -> None:
    """EXACT allows no call that is not expected, in whichever invocation."""
    found = ToolTrajectory()(trace(A, turn(call("B"))), case(A))
    assert (found.value, values(found)) == (0.5, [1, 0])


def test_a_forbidden_tool_in_a_surplus_invocation_counts() -> None:
    """The tool was called, whether or not the case goes so far; an optional tool may be forbidden, too."""
    metric = ToolTrajectory(match_type="ANY_ORDER", forbidden_tools=("B",), optional_tools=("B",))
    found = metric(trace(A, turn(call("B"))), case(A))
    assert (found.value, values(found)) == (0.5, [1, 0])
    assert "forbidden tool called: B" in found.parts[1].reason


def test_completed_invocations_of_a_broken_recording_are_scored() -> None:
    """The broken one and those not reached are unscored, and the reason names the failure."""
    found = ToolTrajectory()(trace(A, turn(call("A")), broken="timeout"), case(A, A, A))
    assert values(found) == [1, None, None]
    assert all(part.applicable for part in found.parts)
    assert found.parts[1].reason == "broke here: timeout"
    assert found.parts[2].reason == "not reached: timeout"


def test_a_broken_recording_may_already_fail_by_bounds() -> None:
    """One of two invocations failed: the other cannot make 0.6 of it."""
    failed = ResponseMatch()(trace(turn(reply="x"), turn(), broken="timeout"), case(A, A))
    assert Outcome("m", failed, 0.6).verdict is Verdict.FAILED
    assert Outcome("m", failed, 0.5).verdict is Verdict.UNSCORED


def test_a_break_between_invocations_leaves_the_last_one_whole() -> None:
    """A conversation that broke after a reply lost what came after it only."""
    assert values(ResponseMatch()(trace(A, broken="timeout"), case(A, A))) == [1, None]


def test_what_has_no_reference_is_not_applicable_also_where_it_broke() -> None:
    """What the case alone excludes stays excluded, whether or not it was reached."""
    found = ResponseMatch()(trace(turn(), broken="timeout"), case(turn(), turn()))
    assert not found.applicable


def test_criteria_without_reference_have_no_part_for_a_missing_invocation() -> None:
    """Calls are counted where there was an invocation."""
    assert values(ToolCallCount()(trace(A), case(A, A))) == [1]


def test_criteria_without_reference_leave_the_broken_invocation_unscored() -> None:
    """What it would have taken nobody knows."""
    found = ToolCallCount()(trace(A, turn(call("A")), broken="timeout"), case())
    assert values(found) == [1, None]
    assert ToolCallCount()(trace(broken="timeout"), case()) == Score(None, "broke before a reply: timeout")


def test_criteria_without_reference_are_unscored_where_nothing_is_recorded() -> None:
    """There should have been something to count."""
    assert ToolCallCount()(trace(), case(A)) == Score(None, "no invocation is recorded")


def test_invocations_are_paired_by_position() -> None:
    """Not by what the user said."""
    found = ResponseMatch()(trace(turn(query="b", reply="a")), case(turn(query="a", reply="a")))
    assert found.value == 1


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (trace(A), case(A, A)),
        (trace(), case(A)),
        (trace(A, A), case(A)),
        (trace(A, A), case(turn(), A)),
        (trace(A, turn(), broken="timeout"), case(A, A, A)),
        (trace(turn(), broken="timeout"), case(turn(), turn())),
        (trace(A), case()),
    ],
)
def test_a_judge_and_a_comparison_pair_invocations_in_one_way(recorded: Trace, expected: EvalCase) -> None:
    """Each position has the same value and the same reason, and the judge is asked only where texts are compared."""
    judged = score(FinalResponseMatch(Bench(lambda *_: "valid").judge), recorded, expected)
    compared = ResponseMatch()(recorded, expected)

    def pairs(found: Score) -> list[tuple[float | None, bool, str]]:
        return [(part.value, part.applicable, part.reason if part.value != 1 else "") for part in found.parts]

    assert pairs(judged) == pairs(compared)
    assert (judged.value, judged.applicable) == (compared.value, compared.applicable)
    assert [bool(part.ballots) for part in judged.parts] == [value == 1 for value in values(compared)]
