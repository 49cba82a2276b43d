"""Situations in which the verdicts of people are known, for the coverage of judge intervals."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import variance

from fairtrial.records.summary import Estimate
from fairtrial.stats.agreement import kappa, matthews
from fairtrial.stats.correction import Judged, Labelled, corrected_mean
from fairtrial.stats.interval import bounded_interval
from fairtrial.stats.judge_agreement import Pair, measure_agreement

Coverage = dict[str, float]
"""The share of repetitions in which an interval holds the truth, by the name of the interval."""


@dataclass(frozen=True)
class JudgeSituation:
    """People pass a share `rate`. The judge passes a share `sensitivity` of those, and fails `specificity` of the rest.

    `labels` outcomes of `outcomes` are labelled. They are `attempts` at each of several cases. An attempt after the
    first has the outcome of the first with the chance `alike`, else an outcome of its own.
    """

    rate: float
    sensitivity: float
    specificity: float
    labels: int
    outcomes: int = 0
    attempts: int = 1
    alike: float = 0.0

    @property
    def name(self) -> str:
        """The name in tables."""
        attempts = f", {self.attempts} attempts, {self.alike:g} alike" if self.attempts > 1 else ""
        return f"{self.rate:g} passed, se {self.sensitivity:g}, sp {self.specificity:g}{attempts}"

    def _outcome(self, source: random.Random) -> tuple[bool, bool]:
        people = source.random() < self.rate
        passes = self.sensitivity if people else 1 - self.specificity
        return people, source.random() < passes

    def _case(self, source: random.Random) -> list[tuple[bool, bool]]:
        first = self._outcome(source)
        later = (first if source.random() < self.alike else self._outcome(source) for _ in range(self.attempts - 1))
        return [first, *later]

    def agreement(self, repetitions: int, *, seed: int) -> Coverage:
        """Return the coverage of accuracy, kappa, Matthews' correlation and Youden's J."""
        source = random.Random(f"{seed} {self}")
        table = (
            (self.rate * self.sensitivity, self.rate * (1 - self.sensitivity)),
            ((1 - self.rate) * (1 - self.specificity), (1 - self.rate) * self.specificity),
        )
        truths = {
            "accuracy": table[0][0] + table[1][1],
            "kappa": kappa(table) or 0.0,
            "mcc": matthews(table) or 0.0,
            "youden": self.sensitivity + self.specificity - 1,
        }
        held: dict[str, list[bool]] = {name: [] for name in truths}
        for _ in range(repetitions):
            outcomes = [
                (case, *outcome) for case in range(self.labels // self.attempts) for outcome in self._case(source)
            ]
            pairs = [Pair(float(people), float(judge), people, judge, case) for case, people, judge in outcomes]
            agreement = measure_agreement(pairs, [], [], graded=False)
            for name, truth in truths.items():
                estimate: Estimate = getattr(agreement, name)
                if estimate.low is not None and estimate.high is not None:
                    held[name].append(estimate.low <= truth <= estimate.high)
        return {name: sum(own) / len(own) for name, own in held.items()}

    def correction(self, repetitions: int, *, seed: int) -> Coverage:
        """Return the coverage of the corrected mean, and of the judge's own interval."""
        source = random.Random(f"{seed} {self}")
        corrected = own = 0
        for _ in range(repetitions):
            outcomes = [self._outcome(source) for _ in range(self.outcomes)]
            verdicts = [float(judge) for _, judge in outcomes]
            labels = [
                Labelled(float(people), float(judge), n) for n, (people, judge) in enumerate(outcomes[: self.labels])
            ]
            corrected += _holds(corrected_mean(labels, make_judged(verdicts)), self.rate)
            interval = bounded_interval(verdicts, attempts=len(verdicts))
            own += interval is not None and interval[0] <= self.rate <= interval[1]
        return {"corrected": corrected / repetitions, "judged": own / repetitions}


def _holds(corrected: object, truth: float) -> bool:
    interval = getattr(corrected, "interval", None)
    return interval is not None and interval[0] <= truth <= interval[1]


def make_judged(values: list[float]) -> Judged:
    """The numbers of all values of a judge."""
    return Judged(len(values), sum(values) / len(values), variance(values))


def graded_correction(labels: int, outcomes: int, repetitions: int, *, seed: int) -> float:
    """Return the coverage of the corrected mean of grades 0, 1/4 .. 1, of which the judge lifts a third by one."""
    source = random.Random(f"{seed} {labels} {outcomes}")
    weights = [0.05, 0.1, 0.2, 0.35, 0.3]
    truth = sum(weight * grade / 4 for grade, weight in enumerate(weights))
    held = 0
    for _ in range(repetitions):
        people = [grade / 4 for grade in source.choices(range(5), weights, k=outcomes)]
        judge = [min(1.0, grade + source.choice((0.0, 0.0, 0.25))) for grade in people]
        sample = [Labelled(people[n], judge[n], n) for n in range(labels)]
        held += _holds(corrected_mean(sample, make_judged(judge), graded=True), truth)
    return held / repetitions


def finite_correction(
    people: list[float], judge: list[float], labels: int, repetitions: int, *, seed: int
) -> tuple[float, float, float]:
    """Return the coverage of the corrected mean of a finite set, and of the judge's interval, and the relative width.

    The labels are drawn at random. The width is relative to an interval by the same labels alone.
    """
    source = random.Random(f"{seed} {labels}")
    truth, judged = sum(people) / len(people), make_judged(judge)
    own = bounded_interval(judge, attempts=len(judge))
    held, widths, alone = 0, 0.0, 0.0
    for _ in range(repetitions):
        sample = [Labelled(people[n], judge[n], n) for n in source.sample(range(len(people)), labels)]
        corrected = corrected_mean(sample, judged)
        plain = corrected_mean(sample, judged, labels_only=True)
        assert corrected is not None
        assert plain is not None
        held += corrected.interval[0] <= truth <= corrected.interval[1]
        widths += corrected.interval[1] - corrected.interval[0]
        alone += plain.interval[1] - plain.interval[0]
    return held / repetitions, float(own is not None and own[0] <= truth <= own[1]), widths / alone


def agreements() -> Iterator[JudgeSituation]:
    """The situations of agreement."""
    for rate, sensitivity, specificity in (
        (0.5, 0.9, 0.9),
        (0.7, 0.95, 0.9),
        (0.9, 0.95, 0.7),
        (0.7, 0.99, 0.99),
        (0.5, 0.6, 0.6),
    ):
        for labels in (50, 100, 200):
            yield JudgeSituation(rate, sensitivity, specificity, labels)
    for rate, sensitivity, specificity in ((0.5, 0.9, 0.9), (0.7, 0.95, 0.9), (0.5, 0.6, 0.6)):
        for labels in (100, 200):
            yield JudgeSituation(rate, sensitivity, specificity, labels, attempts=4, alike=0.7)


def corrections() -> Iterator[JudgeSituation]:
    """The situations of corrected means."""
    for rate in (0.3, 0.7, 0.95):
        for sensitivity, specificity in ((0.95, 0.9), (0.9, 0.6), (0.99, 0.99), (0.6, 0.55)):
            for labels, outcomes in ((20, 200), (50, 200), (100, 1000), (200, 1000)):
                yield JudgeSituation(rate, sensitivity, specificity, labels, outcomes)
