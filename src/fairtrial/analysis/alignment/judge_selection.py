"""Choose among judges on one half of the labels, and test the choice on the other half.

The test is honest because its labels had no part in the choice: Stone (1974), "Cross-validatory choice and assessment
of statistical predictions", doi 10.1111/j.2517-6161.1974.tb00994.x.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.alignment.label_split import LabelledOutcome, split_labels
from fairtrial.errors import UsageError, spell
from fairtrial.records.judging.judge_choice import ChangedVerdict, JudgeChoice, JudgeOnLabels
from fairtrial.records.summary import Estimate
from fairtrial.stats.difference import Difference, paired_difference
from fairtrial.stats.judge_agreement import Pair, measure_agreement
from fairtrial.stats.weighted import weighted_difference, weighted_mean

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.run_comparison import RowVerdict

MOST_UNREAD = 0.05
"""A judge without a verdict on a larger share of the labels is not selected."""


@dataclass(frozen=True)
class Candidate:
    """A judge that may be selected, with its verdicts by the keys of outcomes. None could not be read.

    `changes` are the options that make it of the current judge. The current judge has none. `cost` is in US dollars for
    an outcome, and `seconds` are those of all calls of an outcome.
    """

    name: str
    verdicts: Mapping[str, bool | None]
    cost: float | None = None
    seconds: float | None = None
    changes: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class ChoiceTerms:
    """What a choice is about: the costs of wrong verdicts, the least rates that the user wants, and the split."""

    false_pass_cost: float = 1.0
    false_fail_cost: float = 1.0
    sensitivity: float | None = None
    specificity: float | None = None
    seed: int = 1

    def check(self) -> None:
        """Raise UsageError for a cost that is not positive and finite, and for a rate outside 0 to 1."""
        for name in ("false_pass_cost", "false_fail_cost"):
            if not 0 < (cost := getattr(self, name)) < math.inf:
                raise UsageError(f"{spell(name)}: must be a positive number, got {cost}")
        for name, rate in self.floors.items():
            if not 0 <= rate <= 1:
                raise UsageError(f"{spell(name)}: must be from 0 to 1, got {rate}")

    @property
    def floors(self) -> dict[str, float]:
        """The least rates, by their names."""
        rates = {"sensitivity": self.sensitivity, "specificity": self.specificity}
        return {name: rate for name, rate in rates.items() if rate is not None}

    def find_loss(self, outcome: LabelledOutcome, verdict: bool | None) -> float:
        """Return the cost of a verdict on an outcome. A missing verdict costs as much as the wrong one."""
        if verdict is outcome.passed:
            return 0.0
        return self.false_fail_cost if outcome.passed else self.false_pass_cost


def choose_judge(
    criterion: str, outcomes: Sequence[LabelledOutcome], candidates: Sequence[Candidate], terms: ChoiceTerms
) -> JudgeChoice:
    """Return the choice among candidates whose verdicts on all outcomes are known. The first is the current judge."""
    search, test = split_labels(outcomes, terms.seed)
    searched = [measure_judge(candidate, search, terms) for candidate in candidates]
    selected = candidates[pick_judge(searched, terms)]
    return check_choice(criterion, searched, test, candidates[0], selected, terms)


def check_choice(
    criterion: str,
    searched: Sequence[JudgeOnLabels],
    test: Sequence[LabelledOutcome],
    current: Candidate,
    selected: Candidate,
    terms: ChoiceTerms,
) -> JudgeChoice:
    """Return a choice with its test. `searched` are the numbers of all candidates on the labels that chose."""
    before, after = (measure_judge(own, test, terms) for own in (current, selected))
    difference = _measure_gain(test, current, selected, terms)
    gain = Estimate(before.loss - after.loss)
    if difference is not None:
        gain = Estimate(difference.value, *difference.interval(), difference.method)
    return JudgeChoice(
        criterion,
        tuple(mark_frontier(searched)),
        before,
        after,
        gain,
        _judge_gain(gain),
        searched[0].labels,
        len(test),
        dict(selected.changes),
        tuple(_list_changes(test, current, selected)),
        _by_language(test, current, selected, terms),
        terms.false_pass_cost,
        terms.false_fail_cost,
        terms.floors,
        {name: _reaches(getattr(after, name), floor) for name, floor in terms.floors.items()},
        terms.seed,
    )


def measure_judge(candidate: Candidate, outcomes: Sequence[LabelledOutcome], terms: ChoiceTerms) -> JudgeOnLabels:
    """Return the numbers of a candidate on labelled outcomes, of which there must be at least one."""
    verdicts = [candidate.verdicts.get(outcome.key) for outcome in outcomes]
    pairs = [
        _pair(outcome, (not outcome.passed) if verdict is None else verdict)
        for outcome, verdict in zip(outcomes, verdicts, strict=True)
    ]
    readable_pairs = [_pair(outcome, own) for outcome, own in zip(outcomes, verdicts, strict=True) if own is not None]
    agreement = measure_agreement(pairs, [], [], graded=False)
    losses = [terms.find_loss(outcome, own) for outcome, own in zip(outcomes, verdicts, strict=True)]
    return JudgeOnLabels(
        candidate.name,
        len(outcomes),
        weighted_mean(losses, [outcome.weight for outcome in outcomes]),
        agreement.accuracy,
        agreement.sensitivity,
        agreement.specificity,
        measure_agreement(readable_pairs, [], [], graded=False).kappa,
        len(pairs) - len(readable_pairs),
        candidate.cost,
        candidate.seconds,
    )


def _pair(outcome: LabelledOutcome, verdict: bool) -> Pair:
    return Pair(float(outcome.passed), float(verdict), outcome.passed, verdict, outcome.case, outcome.weight)


def mark_frontier(judges: Sequence[JudgeOnLabels]) -> list[JudgeOnLabels]:
    """Return judges that say whether no other judge is both at most as dear and at most as wrong.

    A judge of unknown cost counts as dearer than every other.
    """
    spots = [(math.inf if judge.cost is None else judge.cost, judge.loss) for judge in judges]
    return [
        replace(
            judge,
            on_frontier=not any(
                other[0] <= own[0] and other[1] <= own[1] and (other != own or place < number)
                for place, other in enumerate(spots)
            ),
        )
        for number, (judge, own) in enumerate(zip(judges, spots, strict=True))
    ]


def pick_judge(judges: Sequence[JudgeOnLabels], terms: ChoiceTerms) -> int:
    """Return the number of the judge to choose, by the numbers on the labels that choose.

    With least rates it is the cheapest judge that reaches them. Without them, or if none reaches them, it is the judge
    with the least loss. Of equal judges the cheaper one is selected, and then the earlier one.
    """
    readable = [number for number, own in enumerate(judges) if own.unread <= MOST_UNREAD * own.labels] or [0]
    reaching = [
        number
        for number in readable
        if all((getattr(judges[number], name).value or 0.0) >= floor for name, floor in terms.floors.items())
    ]

    def price(number: int) -> float:
        cost = judges[number].cost
        return math.inf if cost is None else cost

    if terms.floors and reaching:
        return min(reaching, key=lambda number: (price(number), judges[number].loss))
    return min(readable, key=lambda number: (judges[number].loss, price(number)))


def _measure_gain(
    outcomes: Sequence[LabelledOutcome], current: Candidate, selected: Candidate, terms: ChoiceTerms
) -> Difference | None:
    """Return the loss of the current judge less that of the chosen one. A case counts once."""
    width = max(terms.false_pass_cost, terms.false_fail_cost)
    sums: defaultdict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for outcome in outcomes:
        move = terms.find_loss(outcome, current.verdicts.get(outcome.key))
        move -= terms.find_loss(outcome, selected.verdicts.get(outcome.key))
        sums[outcome.case].append((move, outcome.weight))
    # The attempts of a case are joined first: an extra case of the interval weighs as much as a case, not an attempt.
    weights = [math.fsum(weight for _, weight in own) for own in sums.values()]
    moves = [weighted_mean(*zip(*own, strict=True)) for own in sums.values()]
    if max(weights) - min(weights) <= 1e-9 * max(weights):
        return paired_difference(moves, width=width)
    return weighted_difference(moves, weights, list(sums), width=width)


def _judge_gain(gain: Estimate) -> RowVerdict:
    if gain.low is not None and gain.low > 0:
        return "better"
    if gain.high is not None and gain.high < 0:
        return "worse"
    return "no difference shown"


def _reaches(rate: Estimate, floor: float) -> bool | None:
    if rate.low is not None and rate.low >= floor:
        return True
    return False if rate.high is not None and rate.high < floor else None


def _list_changes(
    outcomes: Iterable[LabelledOutcome], current: Candidate, selected: Candidate
) -> Iterable[ChangedVerdict]:
    for outcome in outcomes:
        before, after = current.verdicts.get(outcome.key), selected.verdicts.get(outcome.key)
        if before is not after:
            yield ChangedVerdict(outcome.key, outcome.passed, before, after)


def _by_language(
    outcomes: Iterable[LabelledOutcome], current: Candidate, selected: Candidate, terms: ChoiceTerms
) -> dict[str, tuple[JudgeOnLabels, JudgeOnLabels]]:
    """Return both judges on the outcomes of each language, if there is more than one."""
    languages: defaultdict[str, list[LabelledOutcome]] = defaultdict(list)
    for outcome in outcomes:
        languages[outcome.language].append(outcome)
    if len(languages) < 2:
        return {}
    return {
        name: (measure_judge(current, own, terms), measure_judge(selected, own, terms))
        for name, own in sorted(languages.items())
    }
