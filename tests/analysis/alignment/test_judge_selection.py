"""A judge is chosen on one half of the labels, and tested on the other half."""

from __future__ import annotations

import random
from collections.abc import Collection

import pytest

from fairtrial.analysis.alignment.judge_selection import (
    Candidate,
    ChoiceTerms,
    choose_judge,
    mark_frontier,
    measure_judge,
    pick_judge,
)
from fairtrial.analysis.alignment.label_split import LabelledOutcome, split_labels
from fairtrial.records.judging.judge_choice import JudgeChoice, JudgeOnLabels

OUTCOMES = [LabelledOutcome(str(n), n, n % 2 > 0) for n in range(200)]


def judge(name: str, wrong: Collection[int], cost: float | None = None, unread: Collection[int] = ()) -> Candidate:
    """Return a judge that is wrong about some outcomes."""
    verdicts = {str(n): None if n in unread else (n % 2 > 0) != (n in wrong) for n in range(200)}
    return Candidate(name, verdicts, cost, changes={"judge": name})


def choose(*candidates: Candidate, **terms: float) -> JudgeChoice:
    """Choose among judges."""
    return choose_judge("match", OUTCOMES, candidates, ChoiceTerms(**terms))  # type: ignore[arg-type]


def test_the_better_judge_is_chosen() -> None:
    """Its gain is the difference of the losses on the labels of the test."""
    choice = choose(judge("current", set(range(0, 200, 5))), judge("good", set(range(0, 200, 50))))
    assert (choice.after.name, choice.verdict, choice.changes) == ("good", "better", {"judge": "good"})
    assert choice.gain.value == pytest.approx(choice.before.loss - choice.after.loss)
    assert choice.search_labels + choice.test_labels == 200


def test_the_current_judge_stays_if_none_is_better() -> None:
    """The gain is then 0, and nothing is claimed."""
    choice = choose(judge("current", {1}), judge("bad", set(range(0, 200, 3))))
    assert (choice.after.name, choice.verdict, choice.gain.value) == ("current", "no difference shown", 0.0)


def test_a_false_pass_may_cost_more() -> None:
    """A judge that never passes wrongly is chosen, although it is wrong more often."""
    strict, lax = judge("strict", set(range(1, 41, 2))), judge("lax", set(range(0, 20, 2)))
    assert choose(lax, strict).after.name == "lax"
    assert choose(lax, strict, false_pass_cost=5.0).after.name == "strict"


def test_the_cheapest_judge_that_holds_is_chosen() -> None:
    """A dearer judge that is a little better is not needed."""
    dear, cheap = judge("dear", set(), 1.0), judge("cheap", {0, 1}, 0.1)
    bad = judge("bad", set(range(0, 200, 4)), 0.01)
    choice = choose(dear, cheap, bad, specificity=0.9, sensitivity=0.9)
    assert choice.after.name == "cheap"
    assert choice.holds == {"sensitivity": True, "specificity": True}


def test_too_few_labels_do_not_decide_a_floor() -> None:
    """The interval holds it."""
    choice = choose(judge("only", {0, 2, 4, 6}), specificity=0.97)
    assert choice.holds == {"specificity": None}
    assert not choice.holds_all


def test_a_floor_that_is_missed_is_said() -> None:
    """The upper end of the interval is below it."""
    choice = choose(judge("only", set(range(0, 200, 4))), specificity=0.9)
    assert choice.holds == {"specificity": False}


def test_a_verdict_that_cannot_be_read_is_wrong() -> None:
    """Otherwise a judge would be best that answers the easy questions only."""
    numbers = measure_judge(judge("mute", set(), unread={0, 1, 2, 3}), OUTCOMES, ChoiceTerms())
    assert numbers.unread == 4
    assert numbers.accuracy.value == pytest.approx(0.98)
    assert numbers.loss == pytest.approx(0.02)


def test_a_judge_that_rarely_answers_is_not_chosen() -> None:
    """It is a judge of nothing."""
    mute = measure_judge(judge("mute", set(), unread=set(range(20))), OUTCOMES, ChoiceTerms())
    weak = measure_judge(judge("weak", set(range(60))), OUTCOMES, ChoiceTerms())
    assert pick_judge([weak, mute], ChoiceTerms()) == 0


def test_outcomes_weigh_what_they_stand_for() -> None:
    """A sample may hold half of its outcomes from the rarer verdict."""
    outcomes = [LabelledOutcome(str(n), n, n % 2 > 0, weight=9.0 if n % 2 else 1.0) for n in range(200)]
    fails_wrongly = judge("one", set(range(1, 41, 2)))
    assert measure_judge(fails_wrongly, outcomes, ChoiceTerms()).loss == pytest.approx(0.18)


def test_the_frontier_has_no_judge_that_another_beats() -> None:
    """Of equal judges the first is on it. A judge without a price is there only if it is the best."""
    rows = [("a", 1.0, 0.1), ("b", 2.0, 0.1), ("c", 0.5, 0.2), ("d", 0.5, 0.2), ("e", None, 0.05), ("f", None, 0.3)]
    judges = [JudgeOnLabels(name, 10, loss, cost=cost) for name, cost, loss in rows]
    assert [own.name for own in mark_frontier(judges) if own.on_frontier] == ["a", "c", "e"]


def test_changed_verdicts_are_listed() -> None:
    """Only those of the test, with the verdict of people."""
    choice = choose(judge("current", set(range(0, 200, 5))), judge("good", set()))
    assert {own.after for own in choice.changed} <= {own.people for own in choice.changed}
    assert len(choice.changed) == sum(own.before is not own.people for own in choice.changed) > 0


def test_languages_are_shown_apart() -> None:
    """A judge may be better in one of them only."""
    outcomes = [LabelledOutcome(str(n), n, n % 2 > 0, "ko" if n % 4 < 2 else "en") for n in range(200)]
    current, good = judge("current", set(range(0, 200, 4))), judge("good", set())
    choice = choose_judge("match", outcomes, [current, good], ChoiceTerms())
    before, after = choice.languages["ko"]
    assert (before.labels, after.loss) == (50, 0.0)
    assert before.loss > choice.languages["en"][0].loss


@pytest.mark.long
def test_equal_judges_are_rarely_called_better() -> None:
    """In at most 5 % of the draws: both are wrong about a fifth, independently."""
    dice = random.Random(1)
    claims = 0
    for seed in range(400):
        judges = [judge(name, {n for n in range(200) if dice.random() < 0.2}) for name in ("a", "b")]
        claims += choose_judge("match", OUTCOMES, judges, ChoiceTerms(seed=seed)).is_better
    assert claims <= 20


@pytest.mark.long
def test_the_gain_is_unbiased_and_its_interval_holds() -> None:
    """The best of eight judges flatters on the labels that chose it, and not on those of the test."""
    dice, errors, held, flattered = random.Random(2), [], 0, []
    rates = [0.3, 0.25, 0.22, 0.2, 0.2, 0.2, 0.19, 0.18]
    for seed in range(300):
        judges = [judge(str(n), {item for item in range(200) if dice.random() < rate}) for n, rate in enumerate(rates)]
        choice = choose_judge("match", OUTCOMES, judges, ChoiceTerms(seed=seed))
        truth = rates[0] - rates[int(choice.after.name)]
        assert choice.gain.value is not None
        assert choice.gain.low is not None
        assert choice.gain.high is not None
        errors.append(choice.gain.value - truth)
        held += choice.gain.low <= truth <= choice.gain.high
        numbers = {own.name: own.loss for own in choice.searched}
        flattered.append(numbers["0"] - numbers[choice.after.name] - truth)
    assert abs(sum(errors) / 300) < 0.012  # three standard errors of the mean
    assert held >= 0.93 * 300
    assert sum(flattered) / 300 > 0.02


def test_a_gain_of_weighted_attempts_is_that_of_the_whole_they_stand_for() -> None:
    """An outcome of weight 3 counts as three outcomes, and the attempts of a case are one observation."""
    rows = [
        LabelledOutcome(f"{n} {attempt}", n, n % 2 > 0, weight=3.0 if n % 2 else 1.0)
        for n in range(80)
        for attempt in range(3)
    ]
    wrong = {own.key for own in rows if int(own.case) % 5 == 0}  # type: ignore[call-overload]
    current = Candidate("current", {own.key: own.passed != (own.key in wrong) for own in rows})
    right = Candidate("right", {own.key: own.passed for own in rows}, changes={"judge": "right"})
    choice = choose_judge("match", rows, [current, right], ChoiceTerms())
    tested = [own for own in rows if own.key in {changed.key for changed in choice.changed}]
    _, half = split_labels(rows, 1)
    repeated = [own.key in wrong for own in half for _ in range(int(own.weight))]
    assert choice.gain.value == pytest.approx(sum(repeated) / len(repeated))
    assert {own.key for own in tested} == wrong & {own.key for own in half}

    single = [own for own in rows if own.key.endswith(" 0")]
    alone = choose_judge("match", single, [current, right], ChoiceTerms())
    ends = (alone.gain.low, alone.gain.high)
    assert (choice.gain.low, choice.gain.high) == pytest.approx(ends)  # equal attempts tell nothing new
