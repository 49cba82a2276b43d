"""The state of a judge follows from the labels, and each number is that of the labelled outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from fairtrial.analysis.judge_calibration import calibrate_criterion, make_unchecked
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, Vote, VoteResult
from fairtrial.records.judging.calibration import Agreement, Calibration
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.result import Outcome
from fairtrial.records.score import FirstDecision, Range, Score, average_parts
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.reports.judges.judge_states import describe
from fairtrial.stats.agreement import krippendorff

SUMMARY = CriterionSummary("match", Estimate(3.0), Estimate(0.5), threshold=1.0)


def label(position: int, value: float | None, author: str = "ann", weight: float = 1.0) -> Label:
    """A label of the only attempt at a case."""
    return Label(CaseKey("set", str(position), ""), 1, "match", value=value, author=author, weight=weight)


def calibrated(
    people: Sequence[Sequence[Label]],
    judge: Sequence[Outcome],
    unlabelled: Sequence[Outcome] = (),
    ballots: Mapping[str, Ballot] | None = None,
) -> Calibration:
    """The calibration of outcomes, of which the first are labelled."""
    every = [*judge, *unlabelled]
    rows = [(position, 1, outcome.score.value, outcome.verdict) for position, outcome in enumerate(every)]
    labels = {(position, 1): own for position, own in enumerate(people)}
    outcomes = {(position, 1): outcome for position, outcome in enumerate(judge)}
    return calibrate_criterion(SUMMARY, "m", labels, rows, outcomes, ballots or {})


def verdicts(*cells: tuple[int, float, float]) -> Calibration:
    """The calibration of (number, people, judge)."""
    pairs = [(people, judge) for number, people, judge in cells for _ in range(number)]
    people = [[label(position, value)] for position, (value, _) in enumerate(pairs)]
    return calibrated(people, [Outcome("match", Score(judge), 1.0) for _, judge in pairs])


def test_a_judge_that_agrees_is_good() -> None:
    """38 of 40 verdicts are those of people, and the misses go both ways."""
    calibration = verdicts((19, 1, 1), (1, 1, 0), (1, 0, 1), (19, 0, 0))
    assert calibration.state is JudgeState.GOOD
    assert calibration.labels == 40
    assert isclose(calibration.agreement.accuracy.value or 0, 0.95)
    assert isclose(calibration.agreement.kappa.value or 0, 0.9)
    assert isclose(calibration.corrected.value or 0, 0.5)
    assert (calibration.worth or 0) > 1 / 2


def decided(value: float, *, decisive: bool = True) -> Outcome:
    """An outcome of one invocation with a criterion before the judge."""
    part = Score(value, first=FirstDecision("facts", decisive=decisive))
    return Outcome("match", average_parts([part]), 1.0)


def test_people_show_the_error_of_decisions_without_the_judge() -> None:
    """Two of eight decisions are wrong. The outcomes of the judge do not count, whatever people say."""
    people = [[label(place, value)] for place, value in enumerate([1.0, 1.0, *[0.0] * 6, 1.0, 1.0])]
    outcomes = [*[decided(0.0) for _ in range(8)], decided(0.0, decisive=False), decided(1.0, decisive=False)]
    decisions = calibrated(people, outcomes).decisions
    assert decisions is not None
    assert (decisions.criterion, decisions.labels, decisions.errors) == ("facts", 8, 2)
    assert decisions.error.value == 0.25
    assert (decisions.error.low or 0) < 0.1
    assert (decisions.error.high or 0) > 0.5
    assert (
        describe(calibrated(people, outcomes))
        .partition("; of ")[2]
        .startswith("8 labelled decisions of facts without the judge, people decide 2 otherwise (25 %")
    )


def test_labels_that_were_not_drawn_alike_give_no_share_of_errors() -> None:
    """A share of a sample that prefers some outcomes says nothing about all of them."""
    people = [[label(place, 1.0, weight=weight)] for place, weight in enumerate([1.0, 4.0])]
    decisions = calibrated(people, [decided(0.0), decided(0.0)]).decisions
    assert decisions is not None
    assert (decisions.errors, decisions.error.value) == (2, None)


def test_without_a_first_criterion_nothing_was_decided_without_the_judge() -> None:
    """The judge was asked about every outcome."""
    assert verdicts((19, 1, 1), (1, 1, 0)).decisions is None


def test_attempts_at_the_same_cases_are_not_new_cases() -> None:
    """The same 40 verdicts, on 40 cases or on 4 attempts at each of 10: every interval of agreement is wider."""
    people = [float(n % 40 < 24) for n in range(40)]
    judge = [1 - value if n // 4 in (2, 8) else value for n, value in enumerate(people)]

    def agreement(attempts: int) -> Agreement:
        places = [divmod(n, attempts) for n in range(40)]
        outcomes = {
            (case, n + 1): Outcome("match", Score(value), 1.0) for (case, n), value in zip(places, judge, strict=True)
        }
        labels = {(case, n + 1): [label(case, value)] for (case, n), value in zip(places, people, strict=True)}
        rows = [(*place, own.score.value, own.verdict) for place, own in outcomes.items()]
        return calibrate_criterion(SUMMARY, "m", labels, rows, outcomes, {}).agreement

    alone, repeated = agreement(1), agreement(4)
    for name in ("accuracy", "sensitivity", "specificity", "youden", "kappa", "mcc", "judge_alpha"):
        own, wider = getattr(alone, name), getattr(repeated, name)
        assert own.value == wider.value
        assert wider.high - wider.low > 1.2 * (own.high - own.low), name


def test_a_judge_that_passes_too_much_is_biased() -> None:
    """The judge passes 12 of the 25 outcomes that people fail: it flatters by 12 / 50."""
    calibration = verdicts((25, 1, 1), (12, 0, 1), (13, 0, 0))
    assert calibration.state is JudgeState.BIASED
    assert isclose(calibration.flattery.value or 0, 0.24)
    assert isclose(calibration.corrected.value or 0, 0.5), "the mean of the labels, since all outcomes are labelled"


def test_a_judge_that_guesses_is_useless_and_does_not_correct() -> None:
    """Verdicts without a relation to people's: the corrected rate is that of the labels alone."""
    people = [[label(position, float(position % 2))] for position in range(40)]
    judge = [Outcome("match", Score(float(position % 4 < 2)), 1.0) for position in range(40)]
    calibration = calibrated(people, judge, [Outcome("match", Score(1.0), 1.0)] * 60)
    assert calibration.state is JudgeState.USELESS
    assert isclose(calibration.corrected.value or 0, 0.5)
    assert isclose(calibration.worth or 0, 1.0)


def test_19_labels_are_too_few() -> None:
    """The state needs 20 labels."""
    assert verdicts((10, 1, 1), (9, 0, 0)).state is JudgeState.TOO_FEW
    assert verdicts((10, 1, 1), (10, 0, 0)).state is JudgeState.GOOD


def test_labels_of_one_kind_are_too_few() -> None:
    """Four outcomes that people fail do not show how the judge treats failures."""
    calibration = verdicts((40, 1, 1), (4, 0, 0))
    assert calibration.state is JudgeState.TOO_FEW


def test_alpha_does_not_depend_on_the_scale_of_weights() -> None:
    """Weights of 1 and 2, or of 10 and 20, are the same sample. Krippendorff's alpha counts items."""
    values = []
    for scale in (1.0, 10.0):
        people = [[label(n, float(n % 3 > 0), weight=scale * (1 + n % 2))] for n in range(24)]
        agreement = calibrated(people, [Outcome("match", Score(float(n % 4 > 0)), 1.0) for n in range(24)]).agreement
        values.append(agreement.judge_alpha)
    assert values[0].value is not None
    assert isclose(values[0].value, values[1].value or 0)
    assert isclose(values[0].low or 0, values[1].low or 1)


def test_a_number_that_does_not_exist_has_a_reason() -> None:
    """If people pass everything, specificity, Youden's J and kappa do not exist."""
    agreement = verdicts((30, 1, 1), (2, 1, 0)).agreement
    assert agreement.specificity == agreement.youden == agreement.kappa == Estimate()
    assert {"specificity", "youden", "kappa", "mcc", "judge_alpha"} <= agreement.reasons.keys()


def test_without_labels_a_judge_is_unchecked() -> None:
    """The judged rate stands alone."""
    calibration = make_unchecked(SUMMARY, "m")
    assert calibration.state is JudgeState.UNCHECKED
    assert calibration.judged == SUMMARY.pass_rate
    assert calibration.corrected == Estimate()


def test_the_majority_of_people_counts_and_a_tie_is_left_out() -> None:
    """Two of three labels decide. One against one is a tie, and `?` is nobody's answer."""
    people = [
        [label(0, 1.0, "ann"), label(0, 0.0, "ben"), label(0, 0.0, "eve")],
        [label(1, 1.0, "ann"), label(1, 0.0, "ben")],
        [label(2, None, "ann")],
    ]
    calibration = calibrated(people, [Outcome("match", Score(0.0), 1.0)] * 3)
    table = calibration.agreement.table
    assert table is not None
    assert table.people_fail_judge_fail == calibration.labels == 1
    assert (calibration.ties, calibration.unsure, calibration.labelers) == (1, 1, 3)


def test_the_last_label_of_a_person_counts() -> None:
    """A person who changes their mind has one label."""
    calibration = calibrated([[label(0, 1.0), label(0, 0.0)]], [Outcome("match", Score(0.0), 1.0)])
    assert calibration.labels == 1
    assert calibration.agreement.table is not None
    assert calibration.agreement.table.people_fail == 1


def test_an_outcome_that_the_judge_could_not_score_is_counted() -> None:
    """A label without a value of the judge is not compared."""
    outcomes = [Outcome("match", Score(None, "no votes"), 1.0), Outcome("match", Score(1.0), 1.0)]
    calibration = calibrated([[label(0, 1.0)], [label(1, 1.0)]], outcomes)
    assert (calibration.labels, calibration.unscored) == (1, 1)


def test_grades_are_compared_on_their_own_scale() -> None:
    """Grades from 1 to 5: the median of people counts, and the corrected mean is a grade."""
    scale = Range(1.0, 5.0)
    people = [[label(n, 1.0 + n % 5, "ann"), label(n, 1.0 + n % 5, "ben"), label(n, 5.0, "eve")] for n in range(50)]
    judge = [Outcome("match", Score(min(5.0, 2.0 + n % 5)), 4.0, range=scale) for n in range(50)]
    calibration = calibrated(people, judge)
    assert calibration.graded
    assert isclose(calibration.flattery.value or 0, 0.8), "one grade for four of five outcomes"
    assert calibration.state is JudgeState.BIASED
    assert isclose(calibration.corrected.value or 0, 3.0)
    assert calibration.agreement.quadratic_kappa.value is not None
    # Krippendorff's alpha of the grades 1 .. 5 beside 2, 3, 4, 5, 5, by the squares of their differences.
    both = [(1.0 + n % 5, min(5.0, 2.0 + n % 5)) for n in range(50)]
    assert isclose(calibration.agreement.judge_alpha.value or 0, krippendorff(both, "interval") or 1)
    assert (calibration.agreement.spearman or 0) > 0.9
    table = calibration.agreement.table
    assert table is not None
    assert (table.people_pass, table.people_fail_judge_pass) == (20, 10), "with the threshold 4"


def test_fewer_is_better_does_not_turn_flattery_around() -> None:
    """A judge that counts fewer errors than people flatters, although its numbers are smaller."""
    scale = Range(0.0, 10.0)
    people = [[label(n, float(n % 5 + 2))] for n in range(30)]
    judge = [Outcome("match", Score(float(n % 5)), 3.0, lower_is_better=True, range=scale) for n in range(30)]
    assert isclose(calibrated(people, judge).flattery.value or 0, 2.0)


def test_weights_correct_a_balanced_sample() -> None:
    """10 of 90 judged passes and 10 of 10 judged fails: the weighted labels stand for all 100."""
    people = [[label(n, float(n < 9), weight=9.0)] for n in range(10)] + [[label(n, 0.0)] for n in range(10, 20)]
    judge = [Outcome("match", Score(float(n < 10)), 1.0) for n in range(20)]
    calibration = calibrated(people, judge, [Outcome("match", Score(1.0), 1.0)] * 80)
    assert isclose(calibration.corrected.value or 0, 0.81)
    assert isclose(calibration.agreement.specificity.value or 0, 10 / 19), "a missed failure weighs 9"


def test_the_first_votes_of_the_judge_have_an_alpha() -> None:
    """Three first votes on each of two items: later votes, which are asked only in doubt, do not count."""
    votes = [
        Vote(draw, "m", 1 if draw < 4 else 2, {item: JudgeAnswer(answer) for item, answer in answers.items()})
        for draw, answers in enumerate(
            ({"a": "yes", "b": "no"}, {"a": "yes", "b": "no"}, {"a": "yes", "b": "yes"}, {"a": "no"}), 1
        )
    ]
    decisions = {item: Decision(VoteResult(1.0), draws=(1, 2, 3, 4)) for item in "ab"}
    outcome = Outcome("match", Score(1.0, ballots=("b-1",)), 1.0)
    calibration = calibrated(
        [[label(0, 1.0)]], [outcome], ballots={"b-1": Ballot("b-1", "p", 5, 3, tuple(votes), decisions)}
    )
    # 4 yes and 2 no; b disagrees in 2 of 3 pairs: observed 2 x 2 / 2 = 2, expected 2 x 4 x 2 / 5 = 3.2.
    assert isclose(calibration.agreement.votes_alpha or 0, 1 - 2 / 3.2)
