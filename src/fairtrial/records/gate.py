"""A claim about a run, and the decision whether it holds."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record
from fairtrial.records.run_comparison import About, ComparedRun, IntervalEstimate, Pairs

Seer = Literal["judge", "people"]
ClaimKind = Literal["at_least", "at_most", "not_worse_by", "better_by"]
ClaimVerdict = Literal["passed", "failed", "undecided"]


class Claim(Record, frozen=True):
    """A claim about a measure, for example "cases at least 0.8". `limit` is in the unit of the measure.

    "at_most" is the claim about a measure of which less is better. The other kinds of claims are about the difference
    from a base run. `alpha` bounds the probability that a false
    claim passes. With `shared_cases` a difference is about the cases that both runs hold unchanged, and about no other.
    """

    kind: ClaimKind
    limit: float
    measure: str = "cases"
    alpha: float = 0.05
    shared_cases: bool = False


class JudgeStanding(Record, frozen=True):
    """A judge behind a claim, with what labels of people show about it in one run.

    `state` is unchecked, too few, useless, biased or good. `flattery` is by how much the judge's values exceed
    people's. `corrected` is the number that people would give to the run, which assumes the errors of `assumed_from` if
    people labelled only that run.
    """

    run: str
    criterion: str
    judge: str
    state: str
    flattery: IntervalEstimate
    corrected: IntervalEstimate
    assumed_from: str | None


class Needed(Record, frozen=True):
    """The cases, or the attempts of every case, that would probably decide a claim if the estimate stays."""

    cases: int | None = None
    attempts: int | None = None


class ClaimDecision(Record, frozen=True):
    """A claim with the numbers that decide it.

    `low` and `high` are its one-sided limits at `alpha`. `p` is the p value of the claim, `p_against` of its opposite.
    `evidence` and `evidence_against` are null unless attempts were made until the claim was decided. `missing` counts
    the attempts without a value, first of the base; those of a case that only the base has count for the run. `why`
    says why a claim is undecided. `judges` stand behind the measure. `seen_by` says whose values decide: those of the
    judge, or those that people would give. It is null without a judge.
    """

    measure: str
    claim: ClaimKind
    limit: float
    alpha: float
    estimate: float | None
    low: float | None
    high: float | None
    p: float | None
    p_against: float | None
    evidence: float | None
    evidence_against: float | None
    waves: int | None
    missing: tuple[int, int]
    verdict: ClaimVerdict
    why: str | None
    needed: Needed | None
    is_rate: bool
    lower_is_better: bool
    shared_cases: bool = False
    judges: tuple[JudgeStanding, ...] = ()
    seen_by: Seer | None = None


class GateDecision(Record, frozen=True, tag_field="kind", tag="gate"):
    """The decision about all claims of a gate: passed if every claim passed, failed if one failed.

    `runs` holds the run alone, or the base run and the run. `pairs` are the cases of both. `attempts_saved` is the
    number of attempts that were not needed, if attempts were made until the claims were decided.
    """

    signature: str
    level: float
    about: About
    runs: tuple[ComparedRun, ...]
    verdict: ClaimVerdict
    claims: tuple[ClaimDecision, ...]
    warnings: tuple[str, ...]
    attempts_saved: int | None
    pairs: Pairs | None = None


def is_difference(kind: ClaimKind) -> bool:
    """Return whether a claim is about the difference from a base run."""
    return kind in ("not_worse_by", "better_by")


def gate_verdict(verdicts: list[ClaimVerdict]) -> ClaimVerdict:
    """Return the verdict of several claims. All of them must hold, so no correction is due."""
    if "failed" in verdicts:
        return "failed"
    return "undecided" if "undecided" in verdicts else "passed"
