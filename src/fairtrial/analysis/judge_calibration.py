"""Calibrate judges: human labels beside judge outcomes give the agreement and the corrected numbers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from fairtrial.analysis.criterion_tally import CaseMeans, rate_estimate
from fairtrial.judge.ballot_costs import collect_ballot_ids
from fairtrial.records.average import mean
from fairtrial.records.judging.calibration import (
    FEWEST_LABELS,
    FEWEST_OF_EACH,
    Agreement,
    Calibration,
    LabelledDecisions,
)
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.stats.correction import (
    CORRECTED,
    ROGAN_GLADEN,
    Judged,
    Labelled,
    corrected_mean,
    flattery,
    rogan_gladen,
)
from fairtrial.stats.interval import Interval, effective_trials
from fairtrial.stats.judge_agreement import Pair, measure_agreement

if TYPE_CHECKING:
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.label import Label

Place = tuple[int, int]
"""The position of a case and the number of an attempt."""

_STUDENT = "two extra labels, t"


Row = tuple[int, int, "float | None", Verdict]
"""The position of a case, the number of an attempt, and the value and the verdict of an outcome."""


def calibrate_criterion(
    summary: CriterionSummary,
    judge: str,
    labels: Mapping[Place, Sequence[Label]],
    scores: Iterable[Row],
    outcomes: Mapping[Place, Outcome],
    ballots: Mapping[str, Ballot],
) -> Calibration:
    """Return the calibration of one criterion of a run.

    `labels` holds the labels of people by outcome. Of several labels by one author, the last counts. `scores` are all
    outcomes of the criterion, `outcomes` the labelled ones in full, with at least one of them. `judge` is the name of
    the judge.
    """
    return _Sample(labels, scores, outcomes).calibration(summary, judge, ballots)


def disagreeing_outcomes(
    labels: Mapping[Place, Sequence[Label]], scores: Iterable[Row], outcomes: Mapping[Place, Outcome]
) -> list[tuple[Place, bool]]:
    """Return the outcomes to which most people and the judge give different verdicts, with the verdict of people.

    The arguments are those of `calibrate_criterion`.
    """
    return list(_Sample(labels, scores, outcomes).disagreements())


def labelled_pairs(
    labels: Mapping[Place, Sequence[Label]], scores: Iterable[Row], outcomes: Mapping[Place, Outcome]
) -> dict[Place, Pair]:
    """Return the labelled outcomes with a value of both sides. The arguments are those of `calibrate_criterion`."""
    return _Sample(labels, scores, outcomes).valued()


def make_unchecked(summary: CriterionSummary, judge: str) -> Calibration:
    """Return the calibration of a criterion without labels."""
    judged = summary.mean if summary.threshold is None else summary.pass_rate
    return Calibration(summary.criterion, judge, JudgeState.UNCHECKED, summary.threshold is None, judged=judged)


def assume_calibration(
    calibration: Calibration, labelled_run: Calibration, run: str, scores: Iterable[Row]
) -> Calibration | None:
    """Return a calibration of pass or fail that assumes the judge to err as it did on another run.

    `labelled_run` is the calibration of that run, `scores` are all outcomes of this run. None if it is not known how
    the judge errs: the labels are too few, or do not show that it is better than guessing.
    """
    table, agreement = labelled_run.agreement.table, labelled_run.agreement
    is_usable = labelled_run.state in (JudgeState.GOOD, JudgeState.BIASED) and not labelled_run.graded
    if not is_usable or table is None or calibration.judged.value is None:
        return None
    passes: defaultdict[int, list[float]] = defaultdict(list)
    for position, _, _, verdict in scores:
        if verdict in (Verdict.PASSED, Verdict.FAILED):
            passes[position].append(float(verdict is Verdict.PASSED))
    trials = effective_trials([mean(own) for own in passes.values()], sum(map(len, passes.values())))
    corrected = rogan_gladen(
        calibration.judged.value,
        trials,
        (agreement.sensitivity.value or 0.0, table.people_pass),
        (agreement.specificity.value or 0.0, table.people_fail),
    )
    if corrected is None:
        return None
    value, ends = corrected
    return replace(calibration, corrected=Estimate(value, *ends, ROGAN_GLADEN), assumed_from=run)


class _Sample:
    """The labelled outcomes of one criterion, and the values of all its scored outcomes."""

    def __init__(
        self, labels: Mapping[Place, Sequence[Label]], scores: Iterable[Row], outcomes: Mapping[Place, Outcome]
    ) -> None:
        self._labels = {place: list({label.author: label for label in own}.values()) for place, own in labels.items()}
        self._outcomes = outcomes
        self._terms = next(iter(outcomes.values()))
        self._verdicts: Counter[bool] = Counter()
        self._values: Counter[float] = Counter()
        self._passes_of_cases: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0])
        self._values_of_cases: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0.0])
        for position, _, value, verdict in scores:
            passed = _passes(value, verdict, self._terms)
            if passed is not None:
                self._verdicts[passed] += 1
                _add(self._passes_of_cases[position], float(passed))
            if value is not None:
                self._values[value] += 1
                _add(self._values_of_cases[position], value)

    def calibration(self, summary: CriterionSummary, judge: str, ballots: Mapping[str, Ballot]) -> Calibration:
        """Return the calibration."""
        terms, graded = self._terms, self._is_graded
        pairs, exclusions = self._pairs(graded=graded)
        agreement = measure_agreement(pairs, self._answers(), self._votes(ballots), graded=graded)
        scale = terms.range if graded else Range()
        labelled, judged = _make_labelled(pairs, scale), self._make_judged(scale, graded=graded)
        bias = flattery(labelled)
        if bias is not None and graded and terms.lower_is_better:
            bias = -bias[0], (-bias[1][1], -bias[1][0])
        state = decide_state(pairs, agreement, bias, graded=graded)
        useless = state is JudgeState.USELESS
        corrected = judged and corrected_mean(labelled, judged, graded=graded, labels_only=useless)
        return Calibration(
            summary.criterion,
            judge,
            state,
            graded,
            len(pairs),
            len({label.author for own in self._labels.values() for label in own}),
            *exclusions,
            agreement,
            summary.mean if graded else summary.pass_rate,
            _scaled((corrected.value, corrected.interval), scale, CORRECTED) if corrected else Estimate(),
            _scaled(bias, Range(0.0, _width(scale)), _STUDENT) if bias else Estimate(),
            corrected.worth if corrected else None,
            error=corrected.error * _width(scale) if corrected else None,
            freedom=corrected.freedom if corrected else None,
            decisions=self._count_decisions(),
        )

    def _count_decisions(self) -> LabelledDecisions | None:
        """Return how often people disagree with the criterion that is asked before the judge."""
        errors, name, weights = CaseMeans(), "", set()
        wrong = 0
        for place, pair in self.valued().items():
            criterion = _decided_by(self._outcomes[place].score)
            if criterion and pair.people_pass is not None and pair.judge_pass is not None:
                name = criterion
                is_error = pair.people_pass != pair.judge_pass
                wrong += is_error
                weights.add(pair.weight)
                errors.add(place[0], float(is_error))
        errors.close()
        if not name:
            return None
        error = rate_estimate(errors.moments, errors.attempts) if len(weights) == 1 else Estimate()
        return LabelledDecisions(name, errors.attempts, wrong, error)

    @property
    def _is_graded(self) -> bool:
        """Return whether labels are numbers of the range rather than pass or fail."""
        numbers = {label.value for own in self._labels.values() for label in own if label.value is not None}
        if self._terms.threshold is None:
            numbers |= self._values.keys()
        return self._terms.range.bounds != (0.0, 1.0) or not numbers <= {0.0, 1.0}

    def _pairs(self, *, graded: bool) -> tuple[list[Pair], tuple[int, int, int]]:
        """Return the outcomes with a value of both sides, and the numbers of ties, unsure and unscored outcomes."""
        compared = [pair for _, pair in self._compare_outcomes(graded=graded)]
        reasons = Counter(pair for pair in compared if isinstance(pair, str))
        pairs = [pair for pair in compared if isinstance(pair, Pair)]
        return pairs, (reasons["tie"], reasons["unsure"], reasons["unscored"])

    def _compare_outcomes(self, *, graded: bool) -> Iterator[tuple[Place, Pair | Literal["tie", "unsure", "unscored"]]]:
        """Yield each labelled outcome with the values of both sides, or with the reason why a side has none."""
        for place, labels in sorted(self._labels.items()):
            values = [label.value for label in labels if label.value is not None]
            people = _consensus(values, graded=graded)
            outcome = self._outcomes.get(place)
            judge_pass = None if outcome is None else _passes(outcome.score.value, outcome.verdict, outcome)
            judge = outcome.score.value if outcome is not None and graded else _number(judge_pass)
            if not values:
                yield place, "unsure"
            elif people is None:
                yield place, "tie"
            elif judge is None:
                yield place, "unscored"
            else:
                people_pass = _clears(people, self._terms) if graded else people == 1.0
                yield place, Pair(people, judge, people_pass, judge_pass, place[0], labels[0].weight)

    def valued(self) -> dict[Place, Pair]:
        """Return the labelled outcomes with a value of both sides."""
        compared = self._compare_outcomes(graded=self._is_graded)
        return {place: pair for place, pair in compared if isinstance(pair, Pair)}

    def disagreements(self) -> Iterator[tuple[Place, bool]]:
        """Yield the outcomes to which people and the judge give different verdicts, with the verdict of people."""
        for place, pair in self._compare_outcomes(graded=self._is_graded):
            verdicts = (pair.people_pass, pair.judge_pass) if isinstance(pair, Pair) else (None, None)
            if None not in verdicts and verdicts[0] != verdicts[1]:
                yield place, bool(verdicts[0])

    def _make_judged(self, scale: Range, *, graded: bool) -> Judged | None:
        """Return the judge's numbers over all scored outcomes, in 0..1, or None below two outcomes."""
        values = self._values if graded else Counter({float(passed): n for passed, n in self._verdicts.items()})
        number, width = values.total(), _width(scale)
        if number < 2 or not width:
            return None
        counts = {(value - scale.bounds[0]) / width: count for value, count in values.items()}
        middle = math.fsum(value * count for value, count in counts.items()) / number
        squares = math.fsum(count * (value - middle) ** 2 for value, count in counts.items())
        cases = self._values_of_cases if graded else self._passes_of_cases
        by_case: dict[Hashable, float] = {
            case: (total - count * scale.bounds[0]) / width - count * middle for case, (count, total) in cases.items()
        }
        return Judged(number, middle, squares / (number - 1), by_case if number > len(cases) else {})

    def _answers(self) -> list[list[float]]:
        """Return the answers of people to each outcome."""
        return [[label.value for label in own if label.value is not None] for own in self._labels.values()]

    def _votes(self, ballots: Mapping[str, Ballot]) -> list[list[float]]:
        """Return the first votes of the judge on each item of the labelled outcomes, as numbers of their answers.

        Later votes are requested only while a result is open, so they would make the agreement look worse.
        """
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        names = {name for outcome in self._outcomes.values() for name in collect_ballot_ids(outcome.score)}
        votes: list[list[float]] = []
        for ballot in (ballots[name] for name in sorted(names) if name in ballots):
            first = [vote for vote in ballot.votes if vote.draw <= ballot.first_wave]
            for item in ballot.decisions:
                answers = [vote.opinions[item].answer for vote in first if item in vote.opinions]
                votes.append([float(numbers[answer]) for answer in answers])
        return votes


def _decided_by(score: Score) -> str:
    """Return the criterion that decided all scored parts without the judge, or an empty text if there is none."""
    firsts = [part.first for part in score.parts if part.value is not None and part.applicable]
    if not firsts or not all(first is not None and first.decisive for first in firsts):
        return ""
    return firsts[0].criterion if firsts[0] is not None else ""


def decide_state(
    pairs: Sequence[Pair], agreement: Agreement, bias: tuple[float, Interval] | None, *, graded: bool
) -> JudgeState:
    """Return the state of a judge that labels show.

    Without a threshold, graded values cannot be better or worse than guessing a verdict. Quadratic kappa then takes the
    place of Youden's J.
    """
    table, skill = agreement.table, agreement.youden
    if graded and table is None:
        skill = agreement.quadratic_kappa
    few_of_one = table is not None and min(table.people_pass, table.people_fail) < FEWEST_OF_EACH
    if len(pairs) < FEWEST_LABELS or few_of_one or bias is None:
        return JudgeState.TOO_FEW
    if skill.low is None or skill.low <= 0:
        return JudgeState.USELESS
    low, high = bias[1]
    return JudgeState.GOOD if low <= 0 <= high else JudgeState.BIASED


def _scaled(estimate: tuple[float, Interval], scale: Range, method: str) -> Estimate:
    """Return an estimate in 0..1, or a difference of them, on the scale of the criterion."""
    start, width = scale.bounds[0], _width(scale)
    value, (low, high) = estimate
    return Estimate(start + width * value, start + width * low, start + width * high, method)


def _make_labelled(pairs: Sequence[Pair], scale: Range) -> list[Labelled]:
    """Return labelled outcomes in 0..1, or nothing if the scale is unbounded."""
    start, width = scale.bounds[0], _width(scale)
    if not width:
        return []
    return [
        Labelled((pair.people - start) / width, (pair.judge - start) / width, pair.case, pair.weight) for pair in pairs
    ]


def _width(scale: Range) -> float:
    """Return the width of a range, or 0 if it is unbounded."""
    low, high = scale.bounds
    return high - low if math.isfinite(high - low) else 0.0


def _passes(value: float | None, verdict: Verdict, terms: Outcome) -> bool | None:
    """Return whether the judge passes an outcome. Without a threshold the better end of the range 0..1 passes."""
    if verdict in (Verdict.PASSED, Verdict.FAILED):
        return verdict is Verdict.PASSED
    if terms.threshold is not None or terms.range.bounds != (0.0, 1.0) or value not in (0.0, 1.0):
        return None
    return (value == 1.0) != terms.lower_is_better


def _clears(value: float, terms: Outcome) -> bool | None:
    """Return whether a number of people passes the threshold, or None without a threshold."""
    if terms.threshold is None:
        return None
    return value <= terms.threshold if terms.lower_is_better else value >= terms.threshold


def _consensus(values: Sequence[float], *, graded: bool) -> float | None:
    """Return the majority of people, or the median of their grades. None without a value, and at a tie."""
    if not values:
        return None
    if graded:
        return float(median(values))
    passes = 2 * sum(values) - len(values)
    return None if not passes else float(passes > 0)


def _number(passed: bool | None) -> float | None:
    return None if passed is None else float(passed)


def _add(count_and_sum: list[float], value: float) -> None:
    count_and_sum[0] += 1
    count_and_sum[1] += value
