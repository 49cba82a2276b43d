"""Compare the failure modes of two runs: which are new, gone, more frequent or less frequent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.failures.modes import LARGEST_DISTANCE, assign
from fairtrial.analysis.failures.shared_features import share_difference
from fairtrial.records.failure_mode import FailureMode, Failures, ModeChange, ModeChangeKind, ModeChanges, Signature
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.several import fisher, holm, mcnemar
from fairtrial.text.display import count
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.analysis.failures.failure_tally import FailureTally
    from fairtrial.records.keys import CaseKey

ALPHA = 0.05
"""The largest probability that chance alone makes any mode new, gone, grown or shrunk."""


class CaseRates(NamedTuple):
    """The attempts at each case, and how many of them failed in each way.

    For a run, each case counts as one attempt that fails in every way in which any of its attempts failed.
    """

    attempts: Mapping[CaseKey, int]
    failures: Mapping[CaseKey, Mapping[Signature, int]]


def rates_of_run(failures: Failures, keys: Mapping[int, CaseKey]) -> CaseRates:
    """Return the cases of a run with the ways in which they failed. `keys` are its cases by their positions."""
    by_case: dict[CaseKey, dict[Signature, int]] = {}
    for own in failures.failed:
        if (key := keys.get(own.position)) is not None:
            by_case.setdefault(key, {})[own.signature] = 1
    return CaseRates(dict.fromkeys(keys.values(), 1), by_case)


def compare_modes(earlier: Failures, now: Failures, earlier_rates: CaseRates, rates: CaseRates) -> ModeChanges:
    """Return how modes changed on the cases that both runs hold. Failures of this run join the modes of the earlier.

    A mode counts as changed if McNemar's exact test over cases says so, corrected for all modes that few cases could
    not decide anyway (Tarone 1990, Biometrics 46; Holm 1979). If cases have rates of failures between 0 and 1, it is
    the test of their paired differences.
    """
    ours, theirs = {*rates.attempts}, {*earlier_rates.attempts}
    common = sorted(ours & theirs, key=lambda key: (key.eval_set, key.case, key.digest))
    place_of = _Places(earlier, now)
    rows = list(place_of.paired_rows(earlier_rates, rates, common))
    has_rates = any(number > 1 for own in (earlier_rates, rates) for number in own.attempts.values())
    return _make_changes(
        (earlier, now),
        len(common),
        f"{'paired t' if has_rates else 'McNemar'}, Holm",
        rows,
        tuple(_notes(len(common), len(ours), len(theirs))),
    )


def compare_shares(earlier: Failures, now: Failures, earlier_tally: FailureTally, tally: FailureTally) -> ModeChanges:
    """Return how modes changed between two runs that share no case, for example the traffic of two days.

    The shares of cases that have a mode are compared by Fisher's exact test, corrected as in `compare_modes`.
    """
    rows = list(_Places(earlier, now).unpaired_rows(earlier_tally, tally))
    note = (
        f"the runs share no case: the shares of {count(tally.cases, 'case')} and of "
        f"{count(earlier_tally.cases, 'earlier case')} "
        "are compared, which says what changed only if both are samples of the same requests"
    )
    return _make_changes((earlier, now), 0, "Fisher, Holm", rows, (note,))


def _make_changes(
    runs: tuple[Failures, Failures], common: int, test: str, rows: Sequence[_Row], notes: tuple[str, ...]
) -> ModeChanges:
    earlier, now = runs
    return ModeChanges(
        f"cases:{common}|test:{test}|level:{LEVEL}|fairtrial:{__version__}",
        earlier.run,
        now.run,
        common,
        tuple(_sort_changes(_judge(rows))),
        notes,
    )


class _Row(NamedTuple):
    """A mode in both runs: its cases, its shares, and their difference with its interval.

    `current` is the mode of this run, if there is one. `p` is the p value of the test, and `least` the smallest that so
    many cases could have.
    """

    name: str
    current: FailureMode | None
    cases: tuple[int, int]
    shares: tuple[float, float]
    interval: tuple[float, float]
    p: float
    least: float


class _Places:
    """Finds the row of a signature: a mode of the earlier run, which takes near signatures too, or a fresh mode."""

    def __init__(self, earlier: Failures, now: Failures) -> None:
        lists = [own.signatures for own in earlier.modes]
        fresh = [mode for mode in now.modes if all(assign(own, lists) is None for own in mode.signatures)]
        self._modes, self._earlier = [*lists, *(mode.signatures for mode in fresh)], len(lists)
        self._known: dict[Signature, int | None] = {}
        current = {self(own): mode for mode in reversed(now.modes) for own in mode.signatures}
        self._names = [(mode.name, current.get(place)) for place, mode in enumerate([*earlier.modes, *fresh])]

    def __call__(self, signature: Signature) -> int | None:
        """Return the row of a signature, or None if it belongs to no mode of either run."""
        if signature not in self._known:
            place = assign(signature, self._modes[: self._earlier], largest_distance=LARGEST_DISTANCE)
            if place is None:
                fresh = range(self._earlier, len(self._modes))
                place = next((at for at in fresh if signature in self._modes[at]), None)
            self._known[signature] = place
        return self._known[signature]

    def paired_rows(self, before: CaseRates, after: CaseRates, common: Sequence[CaseKey]) -> Iterator[_Row]:
        """Yield the rows over the cases of both runs, also with failures that are alone in their run."""
        ours, theirs = self._rates(after, common), self._rates(before, common)
        total = len(common) or 1
        for place, (name, current) in enumerate(self._names):
            own, earlier = ours[place], theirs[place]
            moves = [own.get(key, 0.0) - earlier.get(key, 0.0) for key in common]
            rises, falls = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
            paired = paired_difference(moves)
            p = mcnemar(falls, rises)[0]
            least = mcnemar(0, rises + falls)[0]
            if any(abs(move) not in (0.0, 1.0) for move in moves):
                p = max(least, 1.0 if paired is None else paired.p)
            yield _Row(
                name,
                current,
                (len(earlier), len(own)),
                (sum(earlier.values()) / total, sum(own.values()) / total),
                (-1.0, 1.0) if paired is None else paired.interval(),
                p,
                least,
            )

    def _rates(self, rates: CaseRates, common: Sequence[CaseKey]) -> list[dict[CaseKey, float]]:
        """Return the rate at which each case has the failures of each row, without cases that never do."""
        rates_of_rows: list[dict[CaseKey, float]] = [{} for _ in self._modes]
        for key in common:
            counts: dict[int, int] = {}
            for signature, number in rates.failures.get(key, {}).items():
                if (place := self(signature)) is not None:
                    counts[place] = counts.get(place, 0) + number
            for place, number in counts.items():
                rates_of_rows[place][key] = min(1.0, number / rates.attempts[key])
        return rates_of_rows

    def unpaired_rows(self, before: FailureTally, after: FailureTally) -> Iterator[_Row]:
        """Yield the rows of two runs that share no case."""
        ours, theirs = self._count(after), self._count(before)
        for place, (name, current) in enumerate(self._names):
            own, earlier = ours[place], theirs[place]
            total_cases = own + earlier
            extreme = max(
                (min(total_cases, after.cases), max(0, total_cases - after.cases)),
                (max(0, total_cases - before.cases), min(total_cases, before.cases)),
            )
            yield _Row(
                name,
                current,
                (earlier, own),
                (earlier / (before.cases or 1), own / (after.cases or 1)),
                share_difference(own, after.cases, earlier, before.cases),
                fisher(own, after.cases, earlier, before.cases),
                fisher(extreme[0], after.cases, extreme[1], before.cases),
            )

    def _count(self, tally: FailureTally) -> list[int]:
        """Return the number of cases that have the failures of each row."""
        numbers: list[set[int]] = [set() for _ in self._modes]
        for signature, own in tally.signatures.items():
            if (place := self(signature)) is not None:
                numbers[place].add(own.number)
        return [tally.count_cases(own).cases if own else 0 for own in numbers]


def _judge(rows: Sequence[_Row]) -> Iterable[ModeChange]:
    limit = ALPHA / _family([row.least for row in rows])
    corrected = iter(holm([row.p for row in rows if row.least <= limit]))
    for row in rows:
        yield _make_change(row, next(corrected) if row.least <= limit else 1.0)


def _family(least: list[float]) -> int:
    """Return Tarone's number of tests to correct for: the smallest k with at most k tests that can reach alpha / k."""
    k = 1
    while sum(p <= ALPHA / k for p in least) > k:
        k += 1
    return k


def _make_change(row: _Row, p: float) -> ModeChange:
    (before, after), (cases_before, cases_now) = row.shares, row.cases
    change: ModeChangeKind = "unchanged"
    if p < ALPHA and after > before:
        change = "grown" if cases_before else "new"
    elif p < ALPHA and after < before:
        change = "shrunk" if cases_now else "gone"
    name, number = (row.name, None) if row.current is None else (row.current.name, row.current.number)
    return ModeChange(change, name, number, cases_before, cases_now, before, after, after - before, *row.interval, p)


def _sort_changes(changes: Iterable[ModeChange]) -> list[ModeChange]:
    order = {"new": 0, "grown": 1, "shrunk": 2, "gone": 3, "unchanged": 4}
    return sorted(changes, key=lambda own: (order[own.change], -abs(own.difference), -own.cases_now, own.name))


def _notes(common: int, ours: int, theirs: int) -> Iterable[str]:
    if common < max(ours, theirs):
        yield f"{count(common, 'case')} in both runs unchanged, of {ours} in this run and {theirs} in the earlier run"
