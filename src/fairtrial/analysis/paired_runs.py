"""Pair two runs by their shared cases, with the difference of a measure on each case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fairtrial.errors import UsageError, spell
from fairtrial.records.run_comparison import About, Pairs
from fairtrial.stats.clusters import cluster_values
from fairtrial.stats.difference import Difference, paired_difference
from fairtrial.stats.fixed_cases import CaseSample, fixed_difference
from fairtrial.stats.one_sided import Limits, difference_limits, fixed_difference_limits
from fairtrial.stats.weighted import weighted_difference, weighted_difference_limits
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import Measure, MeasuredRun

SamplePair = tuple[CaseSample, CaseSample]
"""The attempts of a case in the base and in the candidate."""

_SHORT = 60


@dataclass
class PairedRuns:
    """Two runs with the cases that they share, and the names of the cases that are left out.

    `alone` are the cases of the base that the candidate lacks.
    """

    base: MeasuredRun
    candidate: MeasuredRun
    positions: list[tuple[int, int]] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)
    only_base: list[str] = field(default_factory=list)
    only_candidate: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)

    def clusters(self, cases: Iterable[int]) -> list[Hashable]:
        """Return the clusters of cases of the base. If only the candidate knows clusters, they are those there."""
        if self.base.clusters or not self.candidate.clusters:
            return [self.base.cluster(case) for case in cases]
        partners = dict(self.positions)
        return [self.candidate.cluster(partners[case]) if case in partners else ("", case) for case in cases]

    @property
    def is_weighted(self) -> bool:
        """Whether the cases were sampled with unequal probabilities."""
        return bool(self.base.weights or self.candidate.weights)

    def weights(self, cases: Iterable[int]) -> list[float]:
        """Return the weights of cases of the base. A shared case was sampled as the run says that is a sample."""
        partners = dict(self.positions)
        base, candidate = self.base.weights, self.candidate.weights
        return [
            base[case] if base else candidate[partners[case]] if candidate and case in partners else 1.0
            for case in cases
        ]

    def sampled_apart(self) -> str:
        """Return the first shared case that two samples hold with different probabilities, or an empty text."""
        base, candidate = self.base.weights, self.candidate.weights
        if not (base and candidate):
            return ""
        pairs = ((ours, base[ours], candidate[theirs]) for ours, theirs in self.positions)
        return next((self.base.names[ours] for ours, before, after in pairs if before != after), "")

    @property
    def without_digest(self) -> int:
        """The number of pairs of which one case lacks the digest of its expectation."""
        keys = ((self.base.keys[ours], self.candidate.keys[theirs]) for ours, theirs in self.positions)
        return sum(not (base.digest and candidate.digest) for base, candidate in keys)

    def samples(self, measure: str) -> dict[int, SamplePair]:
        """Return the scored attempts of the cases that have any in both runs, by the position in the base."""
        base, candidate = self.base.columns[measure], self.candidate.columns[measure]
        pairs = ((ours, base.sample(ours), candidate.sample(theirs)) for ours, theirs in self.positions)
        return {ours: (before, after) for ours, before, after in pairs if before is not None and after is not None}

    def filled(
        self, measure: str, base_value: float, candidate_value: float, *, only_shared: bool = False
    ) -> dict[int, SamplePair]:
        """Return all attempts of the cases of the base by position, with a value in place of each missing attempt.

        The candidate lacks all attempts of a case that only the base has, unless `only_shared` leaves it out.
        """
        base, candidate = self.base.columns[measure], self.candidate.columns[measure]
        filled: dict[int, SamplePair] = {}
        for ours, theirs in self.positions:
            before, after = base.filled(ours, base_value), candidate.filled(theirs, candidate_value)
            if before is not None and after is not None:
                filled[ours] = before, after
        for ours in () if only_shared else self.alone:
            if (before := base.filled(ours, base_value)) is not None:
                filled[ours] = before, CaseSample(candidate_value, 0.0, before.attempts)
        return filled

    def absent(self, measure: str) -> int:
        """Return the number of attempts of the base at cases that the candidate lacks."""
        column = self.base.columns[measure]
        samples = ((column.sample(ours), column.missing(ours)) for ours in self.alone)
        return sum((0 if sample is None else sample.attempts) + missing for sample, missing in samples)

    def missing(self, measure: str) -> tuple[int, int]:
        """Return the numbers of attempts without a value at the shared cases, first of the base."""
        base, candidate = self.base.columns[measure], self.candidate.columns[measure]
        return (
            sum(base.missing(ours) for ours, _ in self.positions),
            sum(candidate.missing(theirs) for _, theirs in self.positions),
        )


def pair_runs(base: MeasuredRun, candidate: MeasuredRun) -> PairedRuns:
    """Return the pairs of cases with the same id and the same expectation.

    Ids that occur several times are told apart by their eval set, and then by their order if both runs have the same
    number of them. Raises UsageError if the runs share no case, or if the failures of one chose the cases of the other.
    """
    for run, chooser in ((candidate, base), (base, candidate)):
        if chooser.info.id in run.info.chosen_by:
            raise UsageError(_explain_choice(run, chooser))
    runs = PairedRuns(base, candidate)
    if base.keys and base.keys == candidate.keys and len({key.case for key in base.keys}) == len(base.keys):
        runs.positions = [(place, place) for place in range(len(base.keys))]
        return runs
    ours_by_id, theirs_by_id = _positions_by_id(base), _positions_by_id(candidate)
    for case in {**ours_by_id, **theirs_by_id}:
        ours, theirs = ours_by_id.get(case, {}), theirs_by_id.get(case, {})
        if sum(map(len, ours.values())) == sum(map(len, theirs.values())) == 1:
            _pair(runs, *ours.values(), *theirs.values())  # the eval set may have another name in the other run
            continue
        for eval_set in {**ours, **theirs}:
            _pair(runs, ours.get(eval_set, []), theirs.get(eval_set, []))
    if not runs.positions:
        raise UsageError(_no_shared_case(runs))
    runs.positions.sort()
    return runs


def _positions_by_id(run: MeasuredRun) -> dict[str, dict[str, list[int]]]:
    """Return the positions of the cases of a run by their id, and then by their eval set."""
    groups: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for position, key in enumerate(run.keys):
        groups[key.case].setdefault(key.eval_set, []).append(position)
    return groups


def _pair(runs: PairedRuns, ours: list[int], theirs: list[int]) -> None:
    """Pair the cases at these positions by their order, or note why they cannot be paired."""
    if not theirs:
        runs.only_base += [runs.base.names[position] for position in ours]
        runs.alone += ours
    elif not ours:
        runs.only_candidate += [runs.candidate.names[position] for position in theirs]
    elif len(ours) != len(theirs):
        runs.ambiguous.append(runs.base.keys[ours[0]].case)
    else:
        for before, after in zip(ours, theirs, strict=True):
            digests = {runs.base.keys[before].digest, runs.candidate.keys[after].digest} - {""}
            if len(digests) > 1:
                runs.changed.append(runs.base.names[before])
            else:
                runs.positions.append((before, after))


def _explain_choice(run: MeasuredRun, chooser: MeasuredRun) -> str:
    return (
        f"run {run.info.id} holds the cases that did not pass in {chooser.info.id}: cases that were chosen because "
        "they failed do better the next time by chance alone; to compare two agents on these cases, run both with "
        f"{spell('failed_from')} {chooser.info.id}, and compare the two new runs"
    )


def paired_cases(runs: PairedRuns) -> Pairs:
    """Return the cases that two runs share, and those that are left out."""
    clusters = None
    if runs.base.clusters or runs.candidate.clusters:
        clusters = len({*runs.clusters(ours for ours, _ in runs.positions)})
    return Pairs(
        len(runs.positions),
        _attempts(runs),
        tuple(runs.only_base),
        tuple(runs.only_candidate),
        tuple(runs.changed),
        tuple(runs.ambiguous),
        clusters,
    )


def _attempts(runs: PairedRuns) -> tuple[str, str]:
    """Return how many attempts a case has in both runs, scored or missing: `4`, or `3-4` if the cases differ."""
    texts: list[str] = []
    for run, side in ((runs.base, 0), (runs.candidate, 1)):
        counts = {run.attempts_at(pair[side]) for pair in runs.positions}
        texts.append(f"{min(counts)}-{max(counts)}" if len(counts) > 1 else str(counts.pop()))
    return texts[0], texts[1]


def _no_shared_case(runs: PairedRuns) -> str:
    base, candidate = runs.base, runs.candidate
    problem = f"runs {base.info.id} and {candidate.info.id} share no case"
    if runs.changed:
        return f"{problem}: the expectations of {shorten_names(runs.changed)} differ between them"
    return f"{problem}: the first has {shorten_names(base.names)}, the second {shorten_names(candidate.names)}"


def shorten_names(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(shorten(name, _SHORT) for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown or "no case"


def estimate_difference(
    samples: Mapping[int, SamplePair], runs: PairedRuns, measure: Measure, about: About
) -> Difference | None:
    """Return the difference, candidate minus base, in the unit of the measure. None if it has no interval.

    `samples` are the attempts of cases by their position in the base. A cluster of cases is one unit.
    """
    pairs = list(samples.values())
    if about == "cases-like-these":
        if runs.is_weighted:
            moves = [after.mean - before.mean for before, after in pairs]
            return weighted_difference(moves, runs.weights(samples), runs.clusters(samples), width=measure.width)
        return paired_difference(_moves(samples, runs), width=measure.width)
    if not measure.is_bounded:
        return None
    shares = [[_share(pair[run], measure.width) for pair in pairs] for run in (0, 1)]
    difference = fixed_difference(*shares)
    if difference is None:
        return None
    width = measure.width
    return replace(
        difference,
        value=difference.value * width,
        centre=difference.centre * width,
        error=difference.error * width,
        detectable=None if difference.detectable is None else difference.detectable * width,
        width=width,
    )


def _share(sample: CaseSample, width: float) -> CaseSample:
    """Return a sample in units of the width of its range. Differences do not need the start of the range."""
    return CaseSample(sample.mean / width, sample.variance / width**2, sample.attempts)


def _moves(samples: Mapping[int, SamplePair], runs: PairedRuns) -> list[float]:
    """Return the differences of the clusters of cases, candidate minus base."""
    return cluster_values([after.mean - before.mean for before, after in samples.values()], runs.clusters(samples))


def estimate_limits(
    samples: Mapping[int, SamplePair], runs: PairedRuns, measure: Measure, about: About, alpha: float
) -> Limits | None:
    """Return the one-sided limits of the difference, candidate minus base, as a share of the width of the measure."""
    width = measure.width
    if about == "cases-like-these" and runs.is_weighted:
        moves = [(after.mean - before.mean) / width for before, after in samples.values()]
        return weighted_difference_limits(moves, runs.weights(samples), runs.clusters(samples), alpha)
    if about == "cases-like-these":
        return difference_limits([move / width for move in _moves(samples, runs)], alpha)
    base, candidate = ([_share(pair[run], width) for pair in samples.values()] for run in (0, 1))
    return fixed_difference_limits(base, candidate, alpha)


def check_repeated(runs: PairedRuns, measure: str) -> None:
    """Raise UsageError if a shared case has fewer than two scored attempts, which "these-cases" needs."""
    lacking = [
        runs.base.names[case]
        for case, pair in runs.samples(measure).items()
        if min(sample.attempts for sample in pair) < 2
    ]
    if lacking:
        raise UsageError(
            f"{spell('about')} these-cases: must have 2 or more scored attempts of every case in "
            "both runs, got fewer of "
            f"{shorten_names(lacking)}; run them with {spell('attempts')} 2 or more"
        )
