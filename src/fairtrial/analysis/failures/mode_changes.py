"""Compare the failure modes of two runs: which are new, gone, more frequent or less frequent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairtrial.analysis.failures.modes import LARGEST_DISTANCE, assign
from fairtrial.records.failure_mode import FailureMode, Failures, ModeChange, ModeChangeKind, ModeChanges, Signature
from fairtrial.records.keys import CaseKey
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.several import holm, mcnemar
from fairtrial.text.display import count
from fairtrial.version import __version__

ALPHA = 0.05
"""The largest probability that chance alone makes any mode new, gone, grown or shrunk."""

CaseKeys = Mapping[int, CaseKey]
"""The identities of the cases of a run, by their positions."""


def compare_modes(earlier: Failures, now: Failures, earlier_keys: CaseKeys, keys: CaseKeys) -> ModeChanges:
    """Return how modes changed on the cases that both runs hold. Failures of this run join the modes of the earlier.

    A mode counts as changed if McNemar's exact test over cases says so, corrected for all modes that few cases could
    not decide anyway (Tarone 1990, Biometrics 46; Holm 1979).
    """
    common = sorted({*earlier_keys.values()} & {*keys.values()}, key=lambda key: (key.eval_set, key.case, key.digest))
    lists = [own.signatures for own in earlier.modes]
    fresh = [mode for mode in now.modes if all(assign(own, lists) is None for own in mode.signatures)]
    place_of = _Places([*lists, *(mode.signatures for mode in fresh)], len(lists))
    before, after = (
        place_of.count(failures, own_keys, {*common}) for failures, own_keys in ((earlier, earlier_keys), (now, keys))
    )
    current = {place_of(own): mode for mode in reversed(now.modes) for own in mode.signatures}
    rows = [
        _Row(mode.name, current.get(place), before[place], after[place])
        for place, mode in enumerate([*earlier.modes, *fresh])
    ]
    return ModeChanges(
        f"cases:{len(common)}|test:McNemar, Holm|level:{LEVEL}|fairtrial:{__version__}",
        earlier.run,
        now.run,
        len(common),
        tuple(_sort_changes(_judge(rows, common))),
        tuple(_notes(len(common), len({*keys.values()}), len({*earlier_keys.values()}))),
    )


class _Row(NamedTuple):
    """A mode with its cases in the earlier run and in this run. `current` is the mode of this run, if there is one."""

    name: str
    current: FailureMode | None
    before: set[CaseKey]
    after: set[CaseKey]


class _Places:
    """Finds the row of a signature: a mode of the earlier run, which takes near signatures too, or a fresh mode."""

    def __init__(self, modes: Sequence[Sequence[Signature]], earlier: int) -> None:
        self._modes, self._earlier = modes, earlier
        self._known: dict[Signature, int | None] = {}

    def __call__(self, signature: Signature) -> int | None:
        """Return the row of a signature, or None if it belongs to no mode of either run."""
        if signature not in self._known:
            place = assign(signature, self._modes[: self._earlier], largest_distance=LARGEST_DISTANCE)
            if place is None:
                fresh = range(self._earlier, len(self._modes))
                place = next((at for at in fresh if signature in self._modes[at]), None)
            self._known[signature] = place
        return self._known[signature]

    def count(self, failures: Failures, keys: CaseKeys, common: set[CaseKey]) -> list[set[CaseKey]]:
        """Return the cases of each row in a run, also those whose failure is alone in its run."""
        cases: list[set[CaseKey]] = [set() for _ in self._modes]
        for own in failures.failed:
            place = self(own.signature)
            if place is not None and (key := keys.get(own.position)) in common:
                cases[place].add(key)
        return cases


def _judge(rows: Sequence[_Row], common: Sequence[CaseKey]) -> Iterable[ModeChange]:
    tests = [mcnemar(len(row.before - row.after), len(row.after - row.before))[0] for row in rows]
    least = [mcnemar(0, len(row.before ^ row.after))[0] for row in rows]
    limit = ALPHA / _family(least)
    corrected = iter(holm([p for p, lowest in zip(tests, least, strict=True) if lowest <= limit]))
    for row, lowest in zip(rows, least, strict=True):
        yield _make_change(row, common, next(corrected) if lowest <= limit else 1.0)


def _family(least: list[float]) -> int:
    """Return Tarone's number of tests to correct for: the smallest k with at most k tests that can reach alpha / k."""
    k = 1
    while sum(p <= ALPHA / k for p in least) > k:
        k += 1
    return k


def _make_change(row: _Row, common: Sequence[CaseKey], p: float) -> ModeChange:
    before, after, total = len(row.before), len(row.after), len(common) or 1
    paired = paired_difference([float(key in row.after) - float(key in row.before) for key in common])
    low, high = (-1.0, 1.0) if paired is None else paired.interval()
    change: ModeChangeKind = "unchanged"
    if p < ALPHA and after > before:
        change = "new" if not before else "grown"
    elif p < ALPHA and after < before:
        change = "gone" if not after else "shrunk"
    name, number = (row.name, None) if row.current is None else (row.current.name, row.current.number)
    return ModeChange(
        change, name, number, before, after, before / total, after / total, (after - before) / total, low, high, p
    )


def _sort_changes(changes: Iterable[ModeChange]) -> list[ModeChange]:
    order = {"new": 0, "grown": 1, "shrunk": 2, "gone": 3, "unchanged": 4}
    return sorted(changes, key=lambda own: (order[own.change], -abs(own.difference), -own.cases_now, own.name))


def _notes(common: int, ours: int, theirs: int) -> Iterable[str]:
    if common < max(ours, theirs):
        yield f"{count(common, 'case')} in both runs unchanged, of {ours} in this run and {theirs} in the earlier run"
