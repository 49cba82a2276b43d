"""Planted failures in four languages: their steps are found, and their kinds become modes."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from fairtrial import Run, score
from fairtrial.api.failure_modes.run_modes import failures
from fairtrial.records.failure_mode import Failures
from planted_failures import KINDS, Planted, perfect, world

CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}


@pytest.fixture(scope="module")
def planted() -> tuple[list[Planted], Run, Failures]:
    """220 conversations with a planted failure each, ten of each of 22 kinds, and what is found in them."""
    eval_set, own = world(10)
    run = score([one.recording for one in own], eval_set, CRITERIA)
    return own, run, failures(run)


def test_perfect_recordings_pass() -> None:
    """Without a planted failure, every booking passes, so that each failure below is the planted one."""
    eval_set, _ = world(1)
    run = score([perfect(case) for case in eval_set.cases], eval_set, CRITERIA)
    assert run.summary.cases == {"passed": len(KINDS)}
    assert failures(run).modes == ()


def test_the_planted_step_is_found(planted: tuple[list[Planted], Run, Failures]) -> None:
    """The decisive step of at least 95 % of the conversations is the step at which the failure was planted."""
    own, _, found = planted
    steps = {one.case: one.step for one in found.failed}
    hits = [
        (step := steps[one.recording.case_id]) is not None
        and (step.invocation, step.step) == (one.invocation, one.step)
        for one in own
    ]
    assert len(found.failed) == len(own) == 220
    assert sum(hits) / len(hits) >= 0.95


def test_each_kind_is_a_mode_of_its_own(planted: tuple[list[Planted], Run, Failures]) -> None:
    """Modes have a purity of at least 0.95 and kinds a completeness of at least 0.9."""
    own, _, found = planted
    mode_of = {one.case: one.mode for one in found.failed}
    by_mode: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
    by_kind: defaultdict[str, Counter[int | None]] = defaultdict(Counter)
    for one in own:
        by_mode[mode_of[one.recording.case_id]][one.kind] += 1
        by_kind[one.kind][mode_of[one.recording.case_id]] += 1
    by_mode.pop(None, None)
    assert sum(max(kinds.values()) for kinds in by_mode.values()) / 220 >= 0.95
    assert sum(max(modes.values()) for modes in by_kind.values()) / 220 >= 0.9


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("a refund is made", "refund is called and was not expected"),
        ("the booking is missing", "book_room is not called"),
        ("the nights are wrong", "book_room: argument nights differs"),
        ("the receipt comes too early", "send_receipt is called before pay"),
        ("the room is booked twice", "book_room is called again with equal arguments"),
        ("the state is wrong", "the final state differs at status"),
        ("the price is wrong", "a reply states another amount than expected"),
        ("the price is missing", "a reply does not state an expected amount"),
        ("the language is wrong", "the reply is in another language"),
        ("the agent refuses", "the agent refuses"),
        ("the reply is empty", "the reply is empty"),
        ("the search fails", "find_rooms answers with an error: Error: no rooms table for … (code #)"),
        ("the conversation stops", "the conversation ends before all messages of the user"),
        ("the agent breaks", "the attempt fails: KeyError: …"),
    ],
)
def test_modes_have_plain_names(planted: tuple[list[Planted], Run, Failures], kind: str, name: str) -> None:
    """A mode is named by what a person would say of it."""
    own, _, found = planted
    case = next(one.recording.case_id for one in own if one.kind == kind)
    number = next(one.mode for one in found.failed if one.case == case)
    assert number is not None
    assert found.mode(number).name == name


def test_two_readings_of_a_run_are_equal(planted: tuple[list[Planted], Run, Failures]) -> None:
    """The same run gives the same modes, names and order."""
    _, run, found = planted
    assert failures(run) == found


@pytest.mark.long
def test_the_order_of_cases_changes_no_mode(planted: tuple[list[Planted], Run, Failures]) -> None:
    """A run whose cases come in the reverse order has the same modes with the same names and counts."""
    own, _, found = planted
    eval_set, _ = world(10)
    backwards = type(eval_set)(eval_set.id, tuple(reversed(eval_set.cases)))
    again = failures(score([one.recording for one in own], backwards, CRITERIA))
    assert {(mode.name, mode.cases, mode.attempts) for mode in again.modes} == {
        (mode.name, mode.cases, mode.attempts) for mode in found.modes
    }
