"""Count failure modes with intervals, and sort them by the number of cases that repairing them would win."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, islice

from msgspec.structs import replace

from fairtrial.analysis.failures.failure_tally import (
    MOST_SIGNATURES,
    CaseCounts,
    FailureTally,
    Member,
    SignatureTally,
)
from fairtrial.analysis.failures.mode_names import name_mode, name_modes
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE, Group, features, group
from fairtrial.analysis.failures.shared_features import CaseFeatures, majority, shared_features
from fairtrial.records.failure_mode import FailedAttempt, FailureMode, Failures, SharedFeature, Signature
from fairtrial.records.score import FaultSide
from fairtrial.records.summary import Estimate
from fairtrial.stats.clustered import share
from fairtrial.stats.interval import LEVEL, WILSON
from fairtrial.text.display import count
from fairtrial.version import __version__

MOST_IN_LIST = 10_000
"""The most failed attempts that are listed, if not all of them are kept."""


def count_modes(
    tally: FailureTally,
    run: str,
    *,
    largest_distance: float = LARGEST_DISTANCE,
    failed: Sequence[FailedAttempt] | None = None,
) -> Failures:
    """Return the modes of all failures that were counted. A signature of one attempt alone does not become a mode.

    `failed` are the failed attempts in their order, or the kept members of the signatures if it is None.
    """
    single = tally.count_by_signature()
    groups = [
        own
        for own in group(
            [Group([own], one.attempts, single.get(one.number, 0)) for own, one in tally.signatures.items()],
            largest_distance=largest_distance,
        )
        if own.attempts > 1
    ]
    groups_with_cases = [
        (own, tally.count_cases({tally.signatures[entry].number for entry in own.signatures})) for own in groups
    ]
    groups_with_cases.sort(
        key=lambda pair: (-pair[1].repaired, -pair[0].attempts, -pair[1].cases, name_mode(pair[0].signatures))
    )
    members = [
        [member for entry in own.signatures for member in tally.signatures[entry].members.items]
        for own, _ in groups_with_cases
    ]
    shared, tried = shared_features(
        [(own.signatures, _by_case(of_mode)) for (own, _), of_mode in zip(groups_with_cases, members, strict=True)],
        tally.passes,
    )
    names = name_modes([own.signatures for own, _ in groups_with_cases])
    modes = tuple(
        replace(
            _make_mode(n, own, [tally.signatures[entry] for entry in own.signatures], cases, (of_mode, shared[n - 1])),
            name=names[n - 1],
        )
        for n, ((own, cases), of_mode) in enumerate(zip(groups_with_cases, members, strict=True), 1)
    )
    number_of = {signature: mode.number for mode in modes for signature in mode.signatures}
    listing = _kept_members(tally, number_of) if failed is None else failed
    return Failures(
        f"attempts:{tally.attempts}|distance:{largest_distance:g}|ci:{WILSON}|level:{LEVEL}|fairtrial:{__version__}",
        run,
        tally.cases,
        tally.attempts,
        tally.failed_cases,
        tally.failed_attempts,
        modes,
        tuple(replace(own, mode=number_of.get(own.signature)) for own in listing),
        tally.failed_attempts - sum(mode.attempts for mode in modes),
        tally.unplaced,
        tried,
        tuple(_notes(tally, len(listing))),
    )


def _kept_members(tally: FailureTally, number_of: Mapping[Signature, int]) -> list[FailedAttempt]:
    """Return the kept failed attempts of modes, those of the largest modes first, and then those that are alone."""
    last = len(number_of) + 1
    ordered = sorted(tally.signatures, key=lambda own: number_of.get(own, last))
    members = (member for own in ordered for member, _ in tally.signatures[own].members.items)
    return sorted(islice(members, MOST_IN_LIST), key=lambda own: (own.position, own.attempt))


def _by_case(members: Iterable[Member]) -> CaseFeatures:
    by_case: dict[int, list[frozenset[str]]] = {}
    for own, names in members:
        by_case.setdefault(own.position, []).append(names)
    return {position: majority(names) for position, names in by_case.items()}


def _make_mode(
    number: int,
    own: Group,
    tallies: Sequence[SignatureTally],
    cases: CaseCounts,
    details: tuple[Sequence[Member], tuple[SharedFeature, ...]],
) -> FailureMode:
    members, shared = details
    sides = sum((entry.sides for entry in tallies), Counter[FaultSide]())
    return FailureMode(
        number,
        name_mode(own.signatures),
        tuple(own.signatures),
        sides.most_common(1)[0][0],
        cases.cases,
        own.attempts,
        cases.repaired,
        _share(cases.of_failures),
        _share(cases.of_cases),
        _median(sum((entry.ordinals for entry in tallies), Counter[int]())),
        _examples(members),
        shared,
    )


def _median(counts: Counter[int]) -> float | None:
    """Return the median of numbers that are given with their frequencies."""
    total = counts.total()
    if not total:
        return None
    values = sorted(counts)
    ends = list(accumulate(counts[value] for value in values))
    return sum(values[bisect_right(ends, place)] for place in ((total - 1) // 2, total // 2)) / 2


def _share(units: Mapping[tuple[int, int], int]) -> Estimate:
    """Return a share over cases. Cases of one cluster are one unit."""
    rate = share(units)
    if rate is None:
        return Estimate()
    value, ends = rate
    return Estimate(value) if ends is None else Estimate(value, *ends, WILSON)


def _examples(members: Sequence[Member]) -> tuple[tuple[str, int], ...]:
    """Return the most typical attempt of a mode, the least typical one, and the shortest one, without repetition.

    The most typical one has the properties that most others have.
    """
    counts: Counter[str] = Counter()
    for (signature, own_names), number in Counter((own.signature, names) for own, names in members).items():
        for name in (*own_names, *features(signature)):
            counts[name] += number
    every = math.fsum(counts.values())

    @cache
    def rate(signature: Signature, names: frozenset[str]) -> float:
        mine = names | features(signature)
        return -math.fsum(counts[name] for name in mine) / (len(mine) or 1) / every

    ordered = sorted(members, key=lambda own: (rate(own[0].signature, own[1]), own[0].position, own[0].attempt))
    shortest = min(members, key=lambda member: (member[0].length, member[0].position, member[0].attempt))
    chosen = [ordered[0][0], ordered[-1][0], shortest[0]]
    return tuple(dict.fromkeys((own.case, own.attempt) for own in chosen))


def _notes(tally: FailureTally, listing: int) -> Iterable[str]:
    if tally.unscored:
        yield f"{count(tally.unscored, 'attempt')} without a verdict: they are not among the failures"
    if tally.invalid:
        yield f"{count(tally.invalid, 'failed attempt')} invalid: they say nothing about the agent"
    if tally.unstored:
        yield f"{count(tally.unstored, 'failed attempt')} without a stored conversation: no step can be named"
    if tally.failed_attempts and not tally.passes:
        yield "no attempt passed: nothing shows what failures share and passes do not"
    if tally.forgotten_attempts:
        yield (
            f"more than {MOST_SIGNATURES:,} kinds of failures: {count(tally.forgotten_attempts, 'attempt')} "
            f"of the rarest kinds count as alone, and a mode may have up to {tally.most_forgotten:,} more attempts"
        )
    if listing < tally.failed_attempts:
        yield f"the list of attempts holds {listing:,} of {count(tally.failed_attempts, 'failed attempt')}"
