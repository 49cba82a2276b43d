"""Two runs are compared case by case, and everything that is left out is reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

import pytest

from fairtrial import Comparison, Range, UsageError, compare
from fairtrial.api import compare_all
from fairtrial.reports.decisions.comparison_table import comparison_report
from fairtrial.reports.terminal_text import plain_text
from graded_runs import graded, graded_run

TEN = [f"case {number}" for number in range(10)]


def contrast(base: Sequence[float], candidate: Sequence[float]) -> Comparison:
    """A comparison of runs with one attempt of each case."""
    names = [f"case {number}" for number in range(len(base))]
    return compare(
        graded_run({name: [value] for name, value in zip(names, base, strict=True)}),
        graded_run({name: [value] for name, value in zip(names, candidate, strict=True)}),
    )


def test_every_measure_has_a_row() -> None:
    """`cases` comes first, then each criterion with its mean."""
    assert [row.measure for row in contrast([1, 0], [1, 1]).rows][:2] == ["cases", "quality"]


def test_a_value_is_the_mean_of_its_case() -> None:
    """Attempts 1, 0 and 1 of a case are worth 2/3, beside a case that was tried once."""
    found = compare(graded_run({"a": [1, 0, 1], "b": [0]}), graded_run({"a": [1, 1, 1], "b": [0]}))
    row = found.row("cases")
    assert row.base == pytest.approx(1 / 3)
    assert row.candidate == 0.5
    assert isclose(row.difference or 0, 1 / 6)
    assert (row.better, row.worse, row.equal) == (1, 0, 1)


def test_a_large_difference_is_better_or_worse() -> None:
    """Ten of ten cases change: p is far below 0.05."""
    assert contrast([0] * 10, [1] * 10).row("cases").verdict == "better"
    assert contrast([1] * 10, [0] * 10).row("cases").verdict == "worse"


def test_fewer_is_better_for_some_criteria() -> None:
    """A mean that falls is an improvement if lower values are better. It is shown as it is."""
    criteria = [graded(0.5, lower_is_better=True)]
    base, candidate = (graded_run({name: [value] for name in TEN}, criteria=criteria) for value in (1, 0.2))
    row = compare(base, candidate).row("quality")
    assert row.verdict == "better"
    assert row.difference == pytest.approx(-0.8)
    assert row.better == 10


def test_a_small_difference_is_not_shown() -> None:
    """One case of ten says nothing."""
    assert contrast([0] * 10, [1] + [0] * 9).row("cases").verdict == "no difference shown"


@pytest.mark.long
def test_equal_runs_are_equal_within_a_margin_that_they_can_show() -> None:
    """Two hundred cases without a difference: the 90 % interval lies within 0.05, but not within 0.001."""
    runs = [graded_run({f"case {number}": [1] for number in range(200)}) for _ in range(2)]
    assert compare(*runs, margin=0.05).row("cases").verdict == "equal within the margin"
    assert compare(*runs, margin=0.001).row("cases").verdict == "no difference shown"


@pytest.mark.long
def test_exchanging_the_runs_negates_the_row() -> None:
    """Base and candidate are treated alike."""
    there, back = (
        contrast([0, 1, 1, 0.7], [1, 1, 0, 0.9]).row("quality"),
        contrast([1, 1, 0, 0.9], [0, 1, 1, 0.7]).row("quality"),
    )
    assert there.p == back.p
    assert (there.low, there.high) == (-(back.high or 0), -(back.low or 0))


def test_the_order_of_cases_does_not_matter() -> None:
    """Runs are paired by id."""
    base = graded_run({"a": [1], "b": [0], "c": [1]})
    rows = [
        compare(base, graded_run({name: [value] for name, value in order})).row("cases")
        for order in ([("a", 1), ("b", 1), ("c", 0)], [("c", 0), ("b", 1), ("a", 1)])
    ]
    assert rows[0] == rows[1]


def test_a_changed_case_is_left_out_and_listed() -> None:
    """Its digest differs, so both runs answered other questions."""
    base = graded_run({"a": [1], "b": [0], "c": [0]})
    pairs = compare(base, graded_run({"a": [1], "b": [1], "d": [0]}, queries={"b": "Another question?"})).pairs
    assert (pairs.cases, pairs.changed, pairs.only_base, pairs.only_candidate) == (1, ("b",), ("c",), ("d",))


def test_an_eval_set_may_change_its_name() -> None:
    """A case whose id is unique is paired by it."""
    assert compare(graded_run({"a": [1]}, eval_set="old"), graded_run({"a": [1]}, eval_set="new")).pairs.cases == 1


def test_broken_and_fixed_cases_come_first() -> None:
    """The rule of the attempts decides: by default all have to pass. Then the largest moves."""
    base = graded_run({"steady": [1, 1], "worse": [1, 0], "broken": [1, 1], "fixed": [0, 1]})
    moved = compare(base, graded_run({"steady": [1, 1], "worse": [0, 0], "broken": [1, 0], "fixed": [1, 1]})).moved
    assert [(move.case, move.flipped, move.base, move.candidate) for move in moved] == [
        ("broken", "broken", (2, 2), (1, 2)),
        ("fixed", "fixed", (1, 2), (2, 2)),
        ("worse", None, (1, 2), (0, 2)),
    ]


def test_an_error_of_the_agent_is_a_failed_attempt() -> None:
    """An error of anybody else is missing: it is left out, and counted."""
    row = compare(
        graded_run({"a": [1, 1], "b": [1, 1]}), graded_run({"a": [1, "agent"], "b": [1, "infrastructure"]})
    ).row("cases")
    assert row.candidate == 0.75
    assert row.missing == (0, 1)


def test_an_attempt_without_a_score_is_missing() -> None:
    """It is in neither mean."""
    row = compare(graded_run({"a": [1], "b": [0.2]}), graded_run({"a": [None], "b": [0.4]})).row("quality")
    assert (row.cases, row.base, row.candidate, row.missing) == (1, 0.2, 0.4, (0, 1))
    assert row.why == "one case says nothing about others"


def test_a_criterion_with_other_options_is_not_compared() -> None:
    """The row has no p value and no verdict, and says which option differs."""
    base, candidate = (
        graded_run({name: [1] for name in TEN}, criteria=[graded(threshold)]) for threshold in (0.5, 0.6)
    )
    row = compare(base, candidate).row("quality")
    assert (row.comparable, row.p, row.verdict) == (False, None, None)
    assert row.why == "not comparable: threshold changed from 0.5 to 0.6"
    assert compare(base, candidate, even_so=True).row("quality").comparable


def test_informational_criteria_have_intervals_only() -> None:
    """Nobody said which value is good enough."""
    base, candidate = (graded_run({"a": [value], "b": [1]}, criteria=[graded(None)]) for value in (0, 1))
    row = compare(base, candidate).row("quality")
    assert row.informational
    assert row.low is not None
    assert (row.p, row.verdict) == (None, None)


def test_several_candidates_are_corrected_together() -> None:
    """Twice the p value of `cases`, since two candidates had a chance."""
    base = graded_run({name: [0] for name in TEN})
    better = graded_run({name: [float(index < 6)] for index, name in enumerate(TEN)})
    alone = compare(base, better).row("cases")
    first, _ = compare_all(base, [better, graded_run({name: [0] for name in TEN})])
    assert alone.p_holm is None
    assert first.row("cases").p_holm == pytest.approx(2 * (alone.p or 0))


def test_about_these_cases_the_interval_is_narrower() -> None:
    """Attempts that agree say much about fixed cases, and less about other cases."""
    base, candidate = (
        graded_run({name: [float(index % 2 or high)] * 4 for index, name in enumerate(TEN)}) for high in (0, 1)
    )
    like, these = (compare(base, candidate, about=about).row("cases") for about in ("cases-like-these", "these-cases"))
    assert like.difference == these.difference == 0.5
    assert (these.high or 0) - (these.low or 0) < ((like.high or 0) - (like.low or 0)) / 2


def test_about_these_cases_needs_two_attempts() -> None:
    """The message names the cases that have fewer."""
    runs = [graded_run({"a": [1, 1], "b": [1]}) for _ in range(2)]
    with pytest.raises(UsageError, match="2 or more scored attempts of every case in both runs, got fewer of b"):
        compare(*runs, about="these-cases")


def test_pass_k_of_both_runs() -> None:
    """Two of two and one of two: pass^2 is 1/2, and pass@2 is 1."""
    table, _ = compare(graded_run({"a": [1, 1], "b": [1, 0]}), graded_run({"a": [1, 1], "b": [1, 0]})).pass_k
    assert [(entry.k, entry.pass_hat.value, entry.pass_at.value) for entry in table] == [(1, 0.75, 0.75), (2, 0.5, 1)]


def test_mcnemar_is_there_for_readers() -> None:
    """Three cases changed, all to the better: exact p 2 / 2^3, mid-p half of it."""
    mcnemar = contrast([0, 0, 0, 1], [1, 1, 1, 1]).row("cases").mcnemar
    assert mcnemar is not None
    assert (mcnemar.fixed, mcnemar.broken, mcnemar.exact, mcnemar.mid_p) == (3, 0, 0.25, 0.125)


def test_runs_without_a_threshold_are_compared_too() -> None:
    """No case can pass, so `cases` has no value; the attempts are counted all the same."""
    found = compare(*(graded_run({"a": [1, 0], "b": [1, 1]}, criteria=[graded(None)]) for _ in range(2)))
    assert found.pairs.attempts == ("2", "2")
    assert (found.row("cases").base, found.row("cases").verdict) == (None, None)
    assert found.row("quality").base == 0.75


def test_unbounded_measures_are_compared_in_their_unit() -> None:
    """Calls have no highest value: the interval is not clipped."""
    criteria = [graded(None, span=Range(0, None))]
    base, candidate = (graded_run({"a": [value], "b": [value + 3], "c": [4]}, criteria=criteria) for value in (10, 2))
    row = compare(base, candidate).row("quality")
    assert row.difference == pytest.approx(-16 / 3)
    assert (row.low or 0) < -8


def test_the_signature_names_what_determines_the_numbers() -> None:
    """Cases, attempts, method, level, correction, missing attempts and version."""
    from fairtrial import __version__

    runs = [graded_run({"a": [1, 1], "b": [0, None]}) for _ in range(2)]
    expected = "cases:2|attempts:2,2|about:like|ci:two-extra-cases-sign-flips|level:0.95|holm:1|missing:2"
    assert compare(*runs).signature == f"{expected}|fairtrial:{__version__}"


def test_a_run_is_not_compared_with_itself() -> None:
    """That would always show no difference."""
    run = graded_run({"a": [1]})
    with pytest.raises(UsageError, match="cannot be compared with itself"):
        compare(run, run)


def test_runs_without_a_common_case_say_which_they_have() -> None:
    """The ids of both."""
    with pytest.raises(UsageError, match="share no case: the first has a, b, the second c"):
        compare(graded_run({"a": [1], "b": [1]}), graded_run({"c": [1]}))


def make_report(base: Mapping[str, Sequence[float]], candidate: Mapping[str, Sequence[float]], **more: object) -> str:
    """The report of a comparison in one line."""
    found = compare(graded_run(base), graded_run(candidate), **more)  # type: ignore[arg-type]
    return " ".join(plain_text(comparison_report(found), 200).split())


@pytest.mark.long
def test_the_outcome_is_said_in_words() -> None:
    """Better, worse, or how much better and worse the candidate may be."""
    ones, zeros = ({name: [value] for name in TEN} for value in (1.0, 0.0))
    assert "The candidate passes more often: by +100 points (" in make_report(zeros, ones)
    assert "The candidate passes less often: by -100 points (" in make_report(ones, zeros)
    assert "Neither run is shown to be better: the candidate may be worse by" in make_report(ones, ones)


@pytest.mark.long
def test_repeated_cases_get_the_hint_at_these_cases() -> None:
    """Only if every case was repeated, and the question was another one."""
    twice = {name: [1.0, 0.0] for name in TEN}
    hint = "--about these-cases asks about exactly these cases"
    assert hint in make_report(twice, twice)
    assert hint not in make_report(twice, twice, about="these-cases")
    assert hint not in make_report(twice, {**twice, "case 3": [1.0]})


def test_one_criterion_is_not_said_to_be_corrected() -> None:
    """There is nothing to correct for a single p value, and the signature has a label."""
    ones = {name: [1.0] for name in TEN}
    text = make_report(ones, ones)
    assert "Holm" not in text
    assert " *" not in text
    assert "signature: cases:10|" in text


def test_pass_k_has_few_rows() -> None:
    """The powers of two, and the number of attempts."""
    runs = [graded_run({name: [1.0] * 11 for name in TEN[:3]}) for _ in range(2)]
    assert [entry.k for entry in compare(*runs).pass_k[0]] == [1, 2, 4, 8, 11]


@pytest.mark.parametrize("end", [float("-inf"), float("nan")])
def test_a_range_without_an_end_has_none(end: float) -> None:
    """An infinite end is refused in words, with what to write."""
    with pytest.raises(UsageError, match="an end must be a number, or None if there is no end"):
        graded_run({"a": [1]}, criteria=[graded(0.5, span=Range(end, 1))])
