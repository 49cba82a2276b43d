"""Follow failure modes along runs: where each was seen first and last, is gone, and came back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.failures.modes import assign
from fairtrial.records.keys import CaseKey
from fairtrial.records.mode_history import ModeLine, ModeState

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import Failures, Signature


class RunModes(NamedTuple):
    """The failures of a run, with the identities of its cases by their positions. None if its cases are not known."""

    id: str
    failures: Failures
    cases: Mapping[int, CaseKey] | None


@dataclass
class _Track:
    """A mode along the runs: its signatures, its cases so far, and the runs with it since it came or came back."""

    name: str
    signatures: list[Signature]
    first: str
    most_by_chance: float
    last: str = ""
    counts: list[int | None] = field(default_factory=list)
    cases: set[CaseKey] = field(default_factory=set)
    back: list[str] = field(default_factory=list)
    gone: str = ""
    _hits: int = 0
    _trials: int = 0
    _missing: list[str] = field(default_factory=list)

    def add(self, run: str, cases: set[CaseKey], all_cases: set[CaseKey] | None) -> None:
        """Add a run with the cases that have the mode in it."""
        if not cases and (all_cases is None or not all_cases & self.cases):
            self.counts.append(None)
            return
        self.counts.append(len(cases))
        self.cases |= cases
        if not cases:
            self._missing.append(run)
            if not self.gone and self._is_over:
                self.gone = self._missing[0]
            return
        if self.gone:
            self.back.append(run)
            self.gone, self._hits, self._trials = "", 0, 0
        else:
            self._trials += len(self._missing)
        self._missing = []
        self._hits, self._trials, self.last = self._hits + 1, self._trials + 1, run

    @property
    def _is_over(self) -> bool:
        """Whether chance hardly explains so many runs without the mode."""
        return chance_of_absence(self._hits, self._trials, len(self._missing)) <= self.most_by_chance

    @property
    def state(self) -> ModeState:
        """The state in the last run."""
        if not self.counts or not self.counts[-1]:
            return "gone" if self.gone else "absent"
        if self.back and self.back[-1] == self.last:
            return "back"
        return "new" if self.first == self.last and len(self.counts) > 1 else "seen"


def chance_of_absence(hits: int, trials: int, missing: int) -> float:
    """Return the probability that a mode of `hits` of `trials` runs is missing in the next runs by chance.

    Before any run, each rate of runs with the mode is equally likely (Laplace's rule of succession).
    """
    return prod((trials - hits + 1 + place) / (trials + 2 + place) for place in range(missing))


def follow_modes(runs: Iterable[RunModes], false_every: float) -> tuple[list[ModeLine], int]:
    """Return the modes along runs, the oldest first, and the number of failed attempts without a mode.

    Failures of a later run join the modes of earlier runs: those with the same signature, those that a mode of several
    signatures takes because they are near, and those that are one mode with such failures in the later run. A mode is
    gone if the probability that chance alone explains so many runs without it is at most 1 / `false_every`.
    """
    tracks: list[_Track] = []
    place_of: dict[Signature, int | None] = {}
    alone = 0
    for number, run in enumerate(runs):
        modes = [track.signatures for track in tracks]
        for mode in run.failures.modes:
            places = [_find(own, modes, place_of) for own in mode.signatures]
            place = next((own for own in places if own is not None), len(tracks))
            if place == len(tracks):
                tracks.append(_Track(mode.name, list(mode.signatures), run.id, 1 / false_every, counts=[None] * number))
            place_of |= {own: place for own, current in zip(mode.signatures, places, strict=True) if current is None}
        cases: list[set[CaseKey]] = [set() for _ in tracks]
        for failed in run.failures.failed:
            own_place = _find(failed.signature, modes, place_of)
            if own_place is None:
                alone += 1
            else:
                key = None if run.cases is None else run.cases.get(failed.position)
                cases[own_place].add(key or CaseKey("", failed.case, ""))
        all_cases = None if run.cases is None else set(run.cases.values())
        for track, own in zip(tracks, cases, strict=True):
            track.add(run.id, own, all_cases)
    return sorted(map(_make_line, tracks), key=_order), alone


def _find(signature: Signature, modes: list[list[Signature]], place_of: dict[Signature, int | None]) -> int | None:
    """Return the mode of a signature. A signature without a mode is looked at again in each run."""
    if place_of.get(signature) is None:
        place_of[signature] = assign(signature, modes)
    return place_of[signature]


def _make_line(track: _Track) -> ModeLine:
    return ModeLine(
        track.name, track.state, track.first, track.last, tuple(track.counts), track.gone, tuple(track.back)
    )


def _order(line: ModeLine) -> tuple[int, int, int, str]:
    states = {"back": 0, "new": 1, "seen": 2, "absent": 3, "gone": 4}
    total = sum(number or 0 for number in line.cases)
    return states[line.state], -(line.cases[-1] or 0), -total, line.name
