"""Compare the failure modes of two runs: which are new, gone, more frequent or less frequent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairtrial.analysis.failures.modes import CUT, assign
from fairtrial.records.failure_mode import FailureMode, Failures, ModeChange, ModeChangeKind, ModeChanges
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
    before = _cases_of(earlier.modes, earlier, earlier_keys)
    lists = [own.signatures for own in earlier.modes]
    joined: dict[int, int] = {}
    for mode in now.modes:
        targets = [assign(signature, lists, cut=CUT) for signature in mode.signatures]
        known = [target for target in targets if target is not None]
        if known:
            joined[mode.number] = known[0]
    after = _cases_of(now.modes, now, keys)
    rows: list[tuple[FailureMode, FailureMode | None, set[CaseKey], set[CaseKey]]] = []
    for index, old in enumerate(earlier.modes):
        own = [mode for mode in now.modes if joined.get(mode.number) == index]
        cases = {key for mode in own for key in after[mode.number]}
        rows.append((old, own[0] if own else None, before[old.number] & {*common}, cases & {*common}))
    rows += [(mode, mode, set(), after[mode.number] & {*common}) for mode in now.modes if mode.number not in joined]
    return ModeChanges(
        f"cases:{len(common)}|test:McNemar, Holm|level:{LEVEL}|fairtrial:{__version__}",
        earlier.run,
        now.run,
        len(common),
        tuple(_sorted(_judge(rows, common))),
        tuple(_notes(len(common), len({*keys.values()}), len({*earlier_keys.values()}))),
    )


def _cases_of(modes: Iterable[FailureMode], failures: Failures, keys: CaseKeys) -> dict[int, set[CaseKey]]:
    cases: dict[int, set[CaseKey]] = {mode.number: set() for mode in modes}
    for own in failures.failed:
        if own.mode is not None and own.position in keys:
            cases[own.mode].add(keys[own.position])
    return cases


def _judge(
    rows: list[tuple[FailureMode, FailureMode | None, set[CaseKey], set[CaseKey]]], common: list[CaseKey]
) -> Iterable[ModeChange]:
    tests = [mcnemar(len(before - after), len(after - before))[0] for _, _, before, after in rows]
    testable = [mcnemar(0, len(before ^ after))[0] for _, _, before, after in rows]
    family = _family(testable)
    corrected = iter(holm([p for p, least in zip(tests, testable, strict=True) if least <= ALPHA / family]))
    for (mode, current, before, after), least in zip(rows, testable, strict=True):
        p = next(corrected) if least <= ALPHA / family else 1.0
        yield _make_change(mode, current, (before, after), common, p)


def _family(least: list[float]) -> int:
    """Return Tarone's number of tests to correct for: the smallest k with at most k tests that can reach alpha / k."""
    k = 1
    while sum(p <= ALPHA / k for p in least) > k:
        k += 1
    return k


def _make_change(
    mode: FailureMode,
    current: FailureMode | None,
    cases: tuple[set[CaseKey], set[CaseKey]],
    common: list[CaseKey],
    p: float,
) -> ModeChange:
    before, after = cases
    moves = [float(key in after) - float(key in before) for key in common]
    paired = paired_difference(moves)
    low, high = (-1.0, 1.0) if paired is None else paired.interval()
    total = len(common) or 1
    change: ModeChangeKind = "unchanged"
    if p < ALPHA and len(after) > len(before):
        change = "new" if not before else "grown"
    elif p < ALPHA and len(after) < len(before):
        change = "gone" if not after else "shrunk"
    number = None if current is None else current.number
    shares = (len(before) / total, len(after) / total)
    name = mode.name if current is None else current.name
    return ModeChange(change, name, number, len(before), len(after), *shares, shares[1] - shares[0], low, high, p)


def _sorted(changes: Iterable[ModeChange]) -> list[ModeChange]:
    order = {"new": 0, "grown": 1, "shrunk": 2, "gone": 3, "unchanged": 4}
    return sorted(changes, key=lambda own: (order[own.change], -abs(own.difference), -own.cases_now, own.name))


def _notes(common: int, ours: int, theirs: int) -> Iterable[str]:
    if common < max(ours, theirs):
        yield f"{count(common, 'case')} in both runs unchanged, of {ours} in this run and {theirs} in the earlier run"
