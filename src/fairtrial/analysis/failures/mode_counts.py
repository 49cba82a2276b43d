"""Count failure modes with intervals, and sort them by the number of cases that repairing them would win."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from msgspec.structs import replace

from fairtrial.analysis.failures.mode_names import name_mode
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE, Group, features, group
from fairtrial.analysis.failures.run_failures import FailureCollector
from fairtrial.analysis.failures.shared_features import CaseFeatures, majority, shared_features
from fairtrial.records.failure_mode import FailedAttempt, FailureMode, Failures
from fairtrial.records.summary import Estimate
from fairtrial.stats.clustered import share
from fairtrial.stats.interval import LEVEL, WILSON
from fairtrial.text.display import count
from fairtrial.version import __version__

Member = tuple[FailedAttempt, frozenset[str]]
"""A failed attempt with its properties."""


def count_modes(collected: FailureCollector, run: str, *, largest_distance: float = LARGEST_DISTANCE) -> Failures:
    """Return the modes of all failures that were collected. A signature of one attempt alone does not become a mode."""
    groups = [
        own
        for own in group([(own.signature, own.position) for own in collected.failed], largest_distance=largest_distance)
        if own.attempts > 1
    ]
    modes_by_case: dict[int, set[int]] = {}
    index_of = {signature: index for index, own in enumerate(groups) for signature in own.signatures}
    for own in collected.failed:
        modes_by_case.setdefault(own.position, set()).add(index_of.get(own.signature, -1))
    won = Counter(next(iter(own)) for own in modes_by_case.values() if len(own) == 1)
    order = sorted(range(len(groups)), key=lambda index: _order(groups[index], won[index]))
    groups, repaired = [groups[index] for index in order], [won[index] for index in order]
    number_of = {signature: n for n, own in enumerate(groups, 1) for signature in own.signatures}
    members: dict[int, list[Member]] = {}
    for own, names in zip(collected.failed, collected.own_features, strict=True):
        if own.signature in number_of:
            members.setdefault(number_of[own.signature], []).append((own, names))
    shared, tried = shared_features(
        [(own.signatures, _by_case(members[n])) for n, own in enumerate(groups, 1)], collected.passes
    )
    trials = Counter(own.position for own in collected.failed)
    modes = tuple(
        replace(_make_mode(n, own, members[n], trials, collected), repaired=repaired[n - 1], shared=shared[n - 1])
        for n, own in enumerate(groups, 1)
    )
    failed = tuple(replace(own, mode=number_of.get(own.signature)) for own in collected.failed)
    return Failures(
        f"attempts:{collected.attempts}|distance:{largest_distance:g}|ci:{WILSON}|level:{LEVEL}|fairtrial:{__version__}",
        run,
        len(collected.cases),
        collected.attempts,
        len(modes_by_case),
        len(failed),
        modes,
        failed,
        sum(own.mode is None for own in failed),
        sum(own.step is None for own in failed),
        tried,
        tuple(_notes(collected)),
    )


def _order(own: Group, won: int) -> tuple[int, int, int, str]:
    return -won, -own.attempts, -len(own.positions), name_mode(own.signatures)


def _by_case(members: Iterable[Member]) -> CaseFeatures:
    by_case: dict[int, list[frozenset[str]]] = {}
    for own, names in members:
        by_case.setdefault(own.position, []).append(names)
    return {position: majority(names) for position, names in by_case.items()}


def _make_mode(
    number: int, own: Group, members: Sequence[Member], trials: Mapping[int, int], collected: FailureCollector
) -> FailureMode:
    attempts = [entry for entry, _ in members]
    ordinals = [entry.step.ordinal for entry in attempts if entry.step is not None]
    return FailureMode(
        number,
        name_mode(own.signatures),
        tuple(own.signatures),
        Counter(entry.side for entry in attempts).most_common(1)[0][0],
        len(own.positions),
        len(attempts),
        0,
        _share(Counter(entry.position for entry in attempts), trials, collected),
        _share(dict.fromkeys(own.positions, 1), dict.fromkeys(collected.cases, 1), collected),
        median(ordinals) if ordinals else None,
        _examples(members),
    )


def _share(successes: Mapping[int, int], trials: Mapping[int, int], collected: FailureCollector) -> Estimate:
    """Return a share over cases. Cases of one cluster are one unit."""
    units: dict[str, tuple[int, int]] = {}
    for position, number in trials.items():
        won, total = units.get(collected.clusters[position], (0, 0))
        units[collected.clusters[position]] = (won + successes.get(position, 0), total + number)
    rate = share(Counter(units.values()))
    if rate is None:
        return Estimate()
    value, ends = rate
    return Estimate(value) if ends is None else Estimate(value, *ends, WILSON)


def _examples(members: Sequence[Member]) -> tuple[tuple[str, int], ...]:
    """Return the most typical attempt of a mode, the least typical one, and the shortest one, without repetition.

    The most typical one has the properties that most others have.
    """
    counts = Counter(name for own, names in members for name in (*names, *features(own.signature)))
    every = math.fsum(counts.values())

    def typical(member: Member) -> tuple[float, int, int]:
        own, names = member
        mine = names | features(own.signature)
        return (-math.fsum(counts[name] for name in sorted(mine)) / (len(mine) or 1) / every, own.position, own.attempt)

    ordered = sorted(members, key=typical)
    shortest = min(members, key=lambda member: (member[0].length, member[0].position, member[0].attempt))
    chosen = [ordered[0][0], ordered[-1][0], shortest[0]]
    return tuple(dict.fromkeys((own.case, own.attempt) for own in chosen))


def _notes(collected: FailureCollector) -> Iterable[str]:
    if collected.unscored:
        yield f"{count(collected.unscored, 'attempt')} without a verdict: they are not among the failures"
    if collected.invalid:
        yield f"{count(collected.invalid, 'failed attempt')} invalid: they say nothing about the agent"
    if collected.unstored:
        yield f"{count(collected.unstored, 'failed attempt')} without a stored conversation: no step can be named"
    if collected.failed and not collected.passes:
        yield "no attempt passed: nothing shows what failures share and passes do not"
