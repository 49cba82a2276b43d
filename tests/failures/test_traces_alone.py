"""Traces without any expectation, in four languages: symptoms have their steps, and each kind is a mode."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from msgspec.structs import replace

from fairtrial import EvalCase, EvalSet, Recording, Trace, score
from fairtrial.records.failure_mode import Failures
from fairtrial.records.trace import ToolResult
from planted_failures import LANGUAGES, Planted, booking, perfect, plant

KINDS = (
    "a hand-over is made",
    "the search is a loop",
    "the price is wrong",
    "the language is wrong",
    "the agent refuses",
    "the reply is empty",
    "the search fails",
    "the agent breaks",
)
"""The planted failures that show without an expectation."""


def priced(recording: Recording, case: EvalCase) -> Recording:
    """A recording in which the search for rooms tells the price, so that the right replies have support."""
    amount = next(
        call.args["amount"] for turn in case.conversation or () for call in turn.tool_calls if call.name == "pay"
    )
    first, *others = recording.trace.invocations
    steps = tuple(
        replace(step, response={"price": amount})
        if isinstance(step, ToolResult) and step.name == "find_rooms" and not step.is_error
        else step
        for step in first.steps or ()
    )
    turns = (replace(first, steps=steps), *others)
    return replace(recording, trace=replace(recording.trace, invocations=turns))


@pytest.fixture(scope="module")
def alone() -> tuple[list[Planted], Failures]:
    """Ten failures of each kind, and twenty passes, of which only the verdict is known."""
    planted: list[Planted] = []
    passed: list[Recording] = []
    for number in range(len(KINDS) * 10 + 20):
        case = booking(number, LANGUAGES[(number // len(KINDS) + number) % 4])
        if number < len(KINDS) * 10:
            own = plant(KINDS[number % len(KINDS)], case)
            planted.append(own._replace(recording=priced(own.recording, case)))
        else:
            passed.append(priced(perfect(case), case))
    failed = {own.recording.case_id for own in planted}

    def solved(trace: Trace, case: EvalCase) -> bool:
        del trace
        return case.id not in failed

    recordings = [*(own.recording for own in planted), *passed]
    cases = tuple(EvalCase(own.case_id) for own in recordings)
    return planted, score(recordings, EvalSet("traces", cases), {"solved": solved}).failures()


def test_the_planted_step_is_found_without_an_expectation(alone: tuple[list[Planted], Failures]) -> None:
    """At least 95 % of the steps are found, by symptoms or by the error of the agent alone."""
    planted, found = alone
    by_case = {own.case: own for own in found.failed}
    assert len(by_case) == len(planted) == 80
    assert {own.evidence for own in found.failed} <= {"symptom", "break", None}
    hits = [
        (step := by_case[own.recording.case_id].step) is not None
        and (step.invocation, step.step) == (own.invocation, own.step)
        for own in planted
    ]
    assert sum(hits) / len(hits) >= 0.95


def test_each_symptom_is_a_mode_in_four_languages(alone: tuple[list[Planted], Failures]) -> None:
    """Modes have a purity of at least 0.95, and each kind is complete whatever the language."""
    planted, found = alone
    mode_of = {own.case: own.mode for own in found.failed}
    by_mode: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
    by_kind: defaultdict[str, Counter[int | None]] = defaultdict(Counter)
    for own in planted:
        by_mode[mode_of[own.recording.case_id]][own.kind] += 1
        by_kind[own.kind][mode_of[own.recording.case_id]] += 1
    by_mode.pop(None, None)
    assert sum(max(kinds.values()) for kinds in by_mode.values()) / 80 >= 0.95
    assert sum(max(modes.values()) for modes in by_kind.values()) / 80 >= 0.9
