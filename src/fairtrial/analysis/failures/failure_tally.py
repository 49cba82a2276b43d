"""Count failures by their signatures, and cases by the failures that they have. Memory grows with the signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from fairtrial.records.failure_mode import FailedAttempt, Signature

if TYPE_CHECKING:
    from fairtrial.records.score import FaultSide

MOST_SIGNATURES = 100_000
"""The most signatures that are counted. Beyond them, the rarest are forgotten and their failures count as alone."""
FORGOTTEN = -1
"""The number of a signature that was forgotten."""

Item = TypeVar("Item")
Member = tuple[FailedAttempt, frozenset[str]]
"""A failed attempt with its properties."""
CasePattern = tuple[tuple[int, int], ...]
"""The failures of a case: how many failed attempts have each signature, by its number. Empty without a failure."""
ClusterPattern = tuple[tuple[CasePattern, ...], int]
"""The cases of a cluster that have failures, and the number of those that have none."""


class EvenSample(Generic[Item]):
    """Every item that comes, or every n-th if there are more than `most`. n doubles as often as needed."""

    def __init__(self, most: int | None = None) -> None:
        """Take all items if `most` is None."""
        self.items: list[Item] = []
        self._most, self._stride, self._number = most, 1, 0

    @property
    def takes_next(self) -> bool:
        """Whether the next item will be taken, so that another one need not be made."""
        return self._number % self._stride == 0

    def add(self, item: Item | None) -> None:
        """Add an item, which may be None if the sample does not take it."""
        if self.takes_next and item is not None:
            self.items.append(item)
        self._number += 1
        if self._most is not None and len(self.items) > self._most:
            self.items = self.items[::2]
            self._stride *= 2


@dataclass
class SignatureTally:
    """The failures with a signature: their number, the sides at fault, the places of their decisive steps."""

    number: int
    members: EvenSample[Member]
    attempts: int = 0
    sides: Counter[FaultSide] = field(default_factory=Counter)
    ordinals: Counter[int] = field(default_factory=Counter)


class CaseCounts(NamedTuple):
    """The cases of a mode, those that would pass without it, and both as pairs (successes, trials) by cluster."""

    cases: int
    repaired: int
    of_failures: Mapping[tuple[int, int], int]
    of_cases: Mapping[tuple[int, int], int]


@dataclass
class FailureTally:
    """The failures of a run. At most `most_members` failed attempts are kept of each signature, or all if it is None.

    `passes` are the properties of the cases that passed, or of a sample of them, by their positions. The signatures of
    `forgotten_attempts` are not counted any more. None of these has more than `most_forgotten` failures.
    """

    most_members: int | None = None
    signatures: dict[Signature, SignatureTally] = field(default_factory=dict)
    passes: dict[int, frozenset[str]] = field(default_factory=dict)
    attempts: int = 0
    cases: int = 0
    failed_attempts: int = 0
    failed_cases: int = 0
    unplaced: int = 0
    unscored: int = 0
    invalid: int = 0
    unstored: int = 0
    forgotten_attempts: int = 0
    most_forgotten: int = 0
    _alone: Counter[ClusterPattern] = field(default_factory=Counter)
    _clusters: dict[str, Counter[CasePattern]] = field(default_factory=dict)
    _next: int = 0

    def add(self, failed: FailedAttempt, features: frozenset[str]) -> int:
        """Count a failed attempt, and return the number of its signature."""
        own = self.signatures.get(failed.signature)
        if own is None:
            if len(self.signatures) >= MOST_SIGNATURES:
                self._forget_rare()
            own = self.signatures[failed.signature] = SignatureTally(self._next, EvenSample(self.most_members))
            self._next += 1
        own.attempts += 1
        own.sides[failed.side] += 1
        own.members.add((failed, features))
        self.failed_attempts += 1
        self.invalid += failed.signature.kind == "side"
        if failed.step is None:
            self.unplaced += 1
        else:
            own.ordinals[failed.step.ordinal] += 1
        return own.number

    def add_case(self, failures: Mapping[int, int], cluster: str = "", *, cases: int = 1) -> None:
        """Count equal cases with their failures by the number of the signature. A cluster's cases are one unit."""
        pattern = tuple(sorted(failures.items()))
        self.cases += cases
        self.failed_cases += cases if pattern else 0
        if cluster:
            self._clusters.setdefault(cluster, Counter())[pattern] += cases
        else:
            self._alone[((pattern,), 0) if pattern else ((), 1)] += cases

    def _forget_rare(self) -> None:
        """Forget at least half of the signatures, those with the fewest failures (Manku and Motwani 2002)."""
        ordered = sorted(self.signatures, key=lambda own: self.signatures[own].attempts)
        last = self.signatures[ordered[len(ordered) // 2]].attempts
        rare = {self.signatures[own].number for own in ordered if self.signatures[own].attempts <= last}
        frequent = {own: tally for own, tally in self.signatures.items() if tally.number not in rare}
        self.forgotten_attempts += sum(own.attempts for own in self.signatures.values()) - sum(
            own.attempts for own in frequent.values()
        )
        self.most_forgotten += last
        self.signatures = frequent
        patterns: Counter[ClusterPattern] = Counter()
        for (cases, passing), number in self._alone.items():
            patterns[tuple(_without(case, rare) for case in cases), passing] += number
        self._alone = patterns
        for name, own in self._clusters.items():
            self._clusters[name] = Counter()
            for case, number in own.items():
                self._clusters[name][_without(case, rare)] += number

    def count_cases(self, numbers: Collection[int]) -> CaseCounts:
        """Return the counts of the cases with failures of some signatures."""
        cases = repaired = 0
        of_failures: Counter[tuple[int, int]] = Counter()
        of_cases: Counter[tuple[int, int]] = Counter()
        for (patterns, passing), number in self._patterns():
            failures = total = with_mode = 0
            for case in patterns:
                mine = sum(attempts for own, attempts in case if own in numbers)
                of_case = sum(attempts for _, attempts in case)
                failures, total, with_mode = failures + mine, total + of_case, with_mode + (mine > 0)
                repaired += number * (mine == of_case)
            cases += number * with_mode
            of_failures[failures, total] += number
            of_cases[with_mode, len(patterns) + passing] += number
        return CaseCounts(cases, repaired, of_failures, of_cases)

    def count_by_signature(self) -> Mapping[int, int]:
        """Return the number of cases that have each signature, by its number."""
        counts: Counter[int] = Counter()
        for (patterns, _), number in self._patterns():
            for case in patterns:
                for own, _ in case:
                    counts[own] += number
        return counts

    def _patterns(self) -> Iterator[tuple[ClusterPattern, int]]:
        yield from self._alone.items()
        for own in self._clusters.values():
            yield (tuple(case for case in own.elements() if case), own[()]), 1


def _without(case: CasePattern, numbers: Collection[int]) -> CasePattern:
    """Return the failures of a case with those of some signatures as forgotten ones."""
    if not any(own in numbers for own, _ in case):
        return case
    counts: Counter[int] = Counter()
    for own, attempts in case:
        counts[FORGOTTEN if own in numbers else own] += attempts
    return tuple(sorted(counts.items()))
