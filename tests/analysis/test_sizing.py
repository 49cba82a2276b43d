"""Plans and lists of flaky cases report what a run shows, and no more."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fairtrial import (
    EvalCase,
    EvalSet,
    Invocation,
    Message,
    Recording,
    Run,
    SizePlan,
    Trace,
    UsageError,
    flaky,
    plan,
    score,
)
from fairtrial.stats.sample_size import cases_to_detect, detectable
from graded_runs import Value, graded, graded_run, recording

MIXED: dict[str, list[Value]] = {
    "always": [1, 1, 1, 1],
    "never": [0, 0, 0, 0],
    "even": [1, 0, 1, 0],
    "rare": [1, 0, 0, 0],
    "once": [1],
}


def coins(cases: int = 20, attempts: int = 4) -> Run:
    """A run whose cases pass in every second attempt: all noise is that of attempts."""
    return graded_run({f"case {number}": [float(index % 2) for index in range(attempts)] for number in range(cases)})


def yield_cases(size_plan: SizePlan) -> list[int | None]:
    """The numbers of cases with 1, 2, 4 and 8 attempts."""
    return [row.cases for row in size_plan.rows]


def test_flaky_cases_come_with_the_most_uncertain_first() -> None:
    """Half of the attempts, then one of four. Cases that always or never pass are counted."""
    found = flaky(graded_run(MIXED))
    assert [(case.case, case.passed, case.attempts) for case in found.cases] == [("even", 2, 4), ("rare", 1, 4)]
    assert (found.always, found.never, found.single) == (1, 1, 1)


def test_the_expected_number_of_changes_by_hand() -> None:
    """One case, 1 of 2 passed: (1 + 0.5) / 3 = 1/2, and two further runs differ with 2 x 1/2 x 1/2."""
    assert flaky(graded_run({"a": [1, 0]})).expected_changes == pytest.approx(0.5)


def test_the_agent_is_the_cause_if_the_traces_differ() -> None:
    """Its replies were not the same."""
    assert [case.cause for case in flaky(graded_run({"a": [1, 0], "b": [1, 1]})).cases] == ["agent"]


def test_the_judge_is_the_cause_if_equal_traces_differ() -> None:
    """A metric that gives the same reply another value each time."""
    from fairtrial import Criterion

    values = iter([1.0, 0.0])

    def moody(trace: Trace, case: EvalCase) -> float:
        del trace, case
        return next(values)

    invocation = Invocation(Message("Hi"), (), Message("Hello"))
    recordings = [Recording("a", Trace((invocation,)), attempt) for attempt in (1, 2)]
    run = score(recordings, EvalSet("s", (EvalCase("a", (invocation,)),)), [Criterion("moody", moody, 0.5)])
    assert [case.cause for case in flaky(run).cases] == ["judge"]


def test_a_run_without_any_case_that_counts_has_no_flaky_cases() -> None:
    """Nothing changes either."""
    found = flaky(graded_run({"a": [None]}))
    assert (found.cases, found.expected_changes) == ((), 0)


def test_attempts_help_if_all_noise_is_theirs() -> None:
    """The cases are all alike: V = 2 x (1/3) / m, and the plan is that of the formula."""
    rows = yield_cases(plan(coins(), detect=0.1))
    assert rows == [cases_to_detect(0.1, 2 / 3 / attempts, 1) for attempts in (1, 2, 4, 8)]


def test_attempts_do_not_help_if_cases_differ() -> None:
    """Each case always does the same: eight attempts need as many cases as one."""
    run = graded_run({f"case {number}": [float(number % 2)] * 2 for number in range(20)})
    assert len(set(yield_cases(plan(run, detect=0.1)))) == 1


@pytest.mark.long
def test_a_base_shows_the_noise_of_the_difference() -> None:
    """Both runs agree in every case: no case difference is left, whatever the cases do."""
    values = {f"case {number}": [float(number % 2)] * 2 for number in range(20)}
    with_base = plan(graded_run(values), graded_run(values), detect=0.1)
    assert with_base.correlation is None
    assert with_base.variance.lasting == 0
    assert (yield_cases(with_base)[0] or 0) < (yield_cases(plan(graded_run(values), detect=0.1))[0] or 0)


def test_not_worse_needs_fewer_cases_than_a_difference() -> None:
    """One side instead of two."""
    run = coins()
    assert (yield_cases(plan(run, not_worse_by=0.1))[0] or 0) < (yield_cases(plan(run, detect=0.1))[0] or 0)


def test_the_present_design_finds_what_the_formula_says() -> None:
    """20 cases with 4 attempts."""
    assert plan(coins(), detect=0.1).detectable == pytest.approx(detectable(20, 2 / 3 / 4, 1))


def test_these_cases_need_attempts_only() -> None:
    """One row: the attempts of each case."""
    (row,) = plan(coins(), detect=0.1, about="these-cases").rows
    assert row.cases == 20
    assert row.attempts > 8
    (tighter,) = plan(coins(), detect=0.05, about="these-cases").rows
    assert 3 < tighter.attempts / row.attempts < 5, "half the difference needs four times the attempts"


def test_one_attempt_a_case_cannot_plan_attempts() -> None:
    """The plan has one row, and a note says why."""
    size_plan = plan(graded_run({f"case {number}": [float(number % 2)] for number in range(20)}), detect=0.1)
    assert [row.attempts for row in size_plan.rows] == [1]
    assert size_plan.variance.attempt is None
    assert "cannot be told apart" in size_plan.notes[0]


def test_the_cheapest_design_is_marked() -> None:
    """Without prices, the design with the fewest attempts in all."""
    rows = plan(coins(), detect=0.1).rows
    (cheapest,) = [row for row in rows if row.cheapest]
    assert cheapest.attempts * (cheapest.cases or 0) == min(row.attempts * (row.cases or 0) for row in rows)


@pytest.mark.long
def test_a_width_of_the_runs_own_interval() -> None:
    """Half as wide needs about four times as many cases."""
    wide, narrow = (yield_cases(plan(coins(), half_width=width))[0] or 0 for width in (0.1, 0.05))
    assert 3.5 < narrow / wide < 4.5


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ({}, "must ask one of detect, not_worse_by, half_width, got none"),
        ({"detect": 0.1, "half_width": 0.1}, "got detect, half_width"),
        ({"detect": 1.5}, "detect: must be above 0 and below 1, got 1.5"),
        ({"detect": 0.1, "power": 0.5}, "power: must be above 0.5 and below 1, got 0.5"),
        ({"detect": 0.1, "measure": "case"}, "did you mean 'cases'"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(question: dict[str, float], problem: str) -> None:
    """The message says which values are allowed."""
    with pytest.raises(UsageError, match=problem):
        plan(coins(), **question)  # type: ignore[arg-type]


def test_flaky_counts_each_conversation_of_a_sample_once() -> None:
    """An unequal sample is described by itself: weights of 1 and 100 change neither the changes nor the variances."""
    recordings = [
        replace(recording(name, value, number), probability=0.01 if name == "rare" else 1.0)
        for name, values in MIXED.items()
        for number, value in enumerate(values, 1)
    ]
    cases = tuple(EvalCase(name, (Invocation(Message("Grade?")),)) for name in MIXED)
    sampled = score(recordings, EvalSet("grades", cases), [graded()])
    found, alone = flaky(sampled), flaky(graded_run(MIXED))
    assert any("sampled with 2 probabilities" in note for note in sampled.summary.notes)
    assert replace(found, runs=()) == replace(alone, runs=())
