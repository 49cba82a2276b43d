"""Sequential decisions of claims. Evidence is evaluated after every wave of attempts.

A wave is one attempt of every case. A claim is decided when the evidence for it, or against it, reaches 1 / alpha.
Later waves cannot take a decision back: that is why looking after every wave is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.comparability import pairing_warnings, undecidable
from fairtrial.analysis.judged_claims import is_biased, judge_standings
from fairtrial.analysis.measured_run import Measure, MeasuredRun, measured_values
from fairtrial.analysis.paired_runs import PairedRuns, pair_runs, paired_cases
from fairtrial.records.average import mean
from fairtrial.records.gate import Claim, ClaimDecision, ClaimVerdict, GateDecision, gate_verdict, is_difference
from fairtrial.records.run_comparison import ComparedRun
from fairtrial.stats.evidence import Wave, evidence_above, evidence_below, evidence_interval
from fairtrial.stats.interval import LEVEL
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.records.attempt_row import AttemptRow
    from fairtrial.records.judging.calibration import Calibration

EVIDENCE = "betting"
_WAITING = "the evidence has not reached 1 / alpha"
_LARGEST_LOG = 700.0
"""The logarithm of the largest evidence that is written out. A float holds no more."""

WaveTable = Mapping[str, Sequence[Mapping[int, "float | None"]]]
"""The waves of each measure: the values of the cases that have it, by position. None is a missing value."""


def take_waves(rows: Iterable[AttemptRow], measures: Mapping[str, Measure], waves: int) -> WaveTable:
    """Return the first waves of a run. An attempt that is not there yet is in no wave."""
    table: dict[str, list[dict[int, float | None]]] = {name: [{} for _ in range(waves)] for name in measures}
    for row in rows:
        if row.attempt <= waves:
            for name, value in measured_values(row, measures):
                table[name][row.attempt - 1][row.position] = value
    return table


@dataclass(frozen=True)
class SequentialGate:
    """Claims with the base run that they are about, and the largest number of waves.

    `judges` are the judges of the criteria, which nobody can check before the run. With `even_so` claims are decided
    although a measure was taken in another way in the base run.
    """

    claims: tuple[Claim, ...]
    measures: Mapping[str, Measure]
    most_waves: int
    base: MeasuredRun | None = None
    base_waves: WaveTable | None = None
    judges: Mapping[str, Calibration] = field(default_factory=dict)
    even_so: bool = False

    def decide(self, run: MeasuredRun, table: WaveTable, waves: int) -> GateDecision:
        """Return the decision after a number of waves."""
        run.calibrations = self.judges
        pairs = None if self.base is None else pair_runs(self.base, run)
        decisions = tuple(self._claim(claim, table, run, pairs) for claim in self.claims)
        runs = [member for member in (self.base, run) if member is not None]
        saved = (self.most_waves - waves) * len(run.keys)
        parts = {
            "cases": len(run.keys),
            "waves": waves,
            "about": "these",
            "ci": EVIDENCE,
            "alpha": ",".join(f"{claim.alpha:g}" for claim in self.claims),
            "missing": sum(sum(decision.missing) for decision in decisions),
            "fairtrial": __version__,
        }
        return GateDecision(
            "|".join(f"{name}:{value}" for name, value in parts.items()),
            LEVEL,
            "these-cases",
            tuple(
                ComparedRun(
                    member.info.id, member.info.started, member.info.kind, True, len(member.keys), member.attempts
                )
                for member in runs
            ),
            gate_verdict([decision.verdict for decision in decisions]),
            decisions,
            tuple(pairing_warnings(pairs)),
            saved,
            None if pairs is None else paired_cases(pairs),
        )

    def is_decided(self, decision: GateDecision) -> bool:
        """Whether every claim is decided or cannot be, so that another wave would change nothing."""
        return all(claim.verdict != "undecided" or claim.why != _WAITING for claim in decision.claims)

    def _claim(self, claim: Claim, table: WaveTable, run: MeasuredRun, pairs: PairedRuns | None) -> ClaimDecision:
        measure = self.measures[claim.measure]
        compared = pairs if is_difference(claim.kind) else None
        decision = self._by_evidence(claim, table, pairs)
        runs = [run] if compared is None else [compared.base, run]
        judges = judge_standings(runs, measure)
        # There is no evidence as people would see it.
        by_judge = not is_biased(runs, measure)
        if problems := undecidable(compared, run, claim, has_limits=by_judge, even_so=self.even_so):
            decision = replace(decision, verdict="undecided", why="; ".join(problems))
        return replace(decision, shared_cases=claim.shared_cases, judges=judges, seen_by="judge" if judges else None)

    def _by_evidence(self, claim: Claim, table: WaveTable, pairs: PairedRuns | None) -> ClaimDecision:
        measure = self.measures[claim.measure]
        if not is_difference(claim.kind) or pairs is None or self.base_waves is None:
            waves, limit = _single(table[claim.measure], measure), measure.share(claim.limit)
            missing = (0, _missing(table[claim.measure]))
        else:
            base_waves = self.base_waves[claim.measure]
            waves = _pair_waves(base_waves, table[claim.measure], pairs, measure, only_shared=claim.shared_cases)
            margin = claim.limit / measure.width * (-1 if claim.kind == "not_worse_by" else 1)
            limit = (1 + margin) / 2
            absent = 0 if claim.shared_cases else _absent(base_waves[: len(waves)], pairs)
            missing = (_missing(base_waves[: len(waves)]), _missing(table[claim.measure]) + absent)
        return _decision(claim, measure, waves, limit, missing)


def _missing(waves: Sequence[Mapping[int, float | None]]) -> int:
    return sum(value is None for wave in waves for value in wave.values())


def _single(waves: Sequence[Mapping[int, float | None]], measure: Measure) -> list[Wave]:
    """Return waves of values in 0..1, so that more is better. The cases are those of the first wave."""
    cases = list(waves[0])
    return [[None if (value := wave.get(case)) is None else measure.share(value) for case in cases] for wave in waves]


def _pair_waves(
    base: Sequence[Mapping[int, float | None]],
    candidate: Sequence[Mapping[int, float | None]],
    pairs: PairedRuns,
    measure: Measure,
    *,
    only_shared: bool,
) -> list[Wave]:
    """Return waves of differences, mapped to 0..1: a half if both runs are equal.

    A case that the candidate lacks has no difference in any wave, unless `only_shared` leaves it out.
    """
    places = [(pairs.base.positions[ours], pairs.candidate.positions[theirs]) for ours, theirs in pairs.positions]
    cases = [(ours, theirs) for ours, theirs in places if ours in base[0] and theirs in candidate[0]]
    waves: list[Wave] = []
    for before_wave, after_wave in zip(base, candidate, strict=False):
        wave: list[float | None] = []
        for ours, theirs in cases:
            before, after = before_wave.get(ours), after_wave.get(theirs)
            is_complete = before is not None and after is not None
            wave.append((1 + measure.share(after or 0.0) - measure.share(before or 0.0)) / 2 if is_complete else None)
        if not only_shared:
            wave += [None for ours in pairs.alone if pairs.base.positions[ours] in base[0]]
        waves.append(wave)
    return waves


def _absent(base: Sequence[Mapping[int, float | None]], pairs: PairedRuns) -> int:
    """Return the number of attempts of the base at cases that the candidate lacks."""
    return sum(pairs.base.positions[ours] in wave for ours in pairs.alone for wave in base)


def _decision(
    claim: Claim, measure: Measure, waves: Sequence[Wave], limit: float, missing: tuple[int, int]
) -> ClaimDecision:
    if not waves or not waves[0]:
        waves = [[None]]  # no case has the measure: there is no evidence on either side
    above, below = evidence_above(waves, limit), evidence_below(waves, limit)
    threshold = math.log(1 / claim.alpha)
    verdict: ClaimVerdict = "undecided"
    at = len(waves) - 1
    for wave, logs in enumerate(zip(above, below, strict=True)):
        if max(logs) >= threshold:
            verdict, at = ("passed" if logs[0] >= threshold else "failed"), wave
            break
    numbers = [value for wave in waves for value in wave if value is not None]
    low, high = evidence_interval(waves, claim.alpha)
    estimate = mean(numbers) if numbers else None
    ends = [_in_unit(claim, measure, share) for share in (estimate, low, high)]
    if measure.lower_is_better:
        ends[1], ends[2] = ends[2], ends[1]
    return ClaimDecision(
        claim.measure,
        claim.kind,
        claim.limit,
        claim.alpha,
        ends[0],
        ends[1],
        ends[2],
        None,
        None,
        math.exp(min(above[at], _LARGEST_LOG)),
        math.exp(min(below[at], _LARGEST_LOG)),
        at + 1,
        missing,
        verdict,
        None if verdict != "undecided" else _WAITING,
        None,
        measure.is_rate,
        measure.lower_is_better,
    )


def _in_unit(claim: Claim, measure: Measure, share: float | None) -> float | None:
    """Return a mean, or a difference that was mapped to 0..1, in the unit of the measure."""
    if share is None or claim.kind == "at_least":
        return None if share is None else measure.value(share)
    return (2 * share - 1) * measure.width * (-1 if measure.lower_is_better else 1)
