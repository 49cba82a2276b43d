"""Estimate how frequent the failures are that people named, from a sample with known probabilities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.analysis.failures.mode_names import earlier_names
from fairtrial.records.failure_mode import FailureMode, NamedFailures
from fairtrial.records.label import FAILURES, Label
from fairtrial.records.summary import Estimate
from fairtrial.stats.agreement import share_interval
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.records.board_event import BoardEvent
    from fairtrial.records.keys import CaseKey

NOT_A_FAILURE = "not a failure"
"""The name of a failed attempt of which people say that the agent did not fail."""
_METHOD = "Wilson, weighted"
_LONGEST_NAME = 200

Place = tuple[int, int]
"""The position of a case and the number of an attempt."""


class ReadFailure(NamedTuple):
    """A failed attempt that people read: the names that they gave it, and the number of failures it stands for."""

    names: frozenset[str]
    weight: float


def read_failures(
    labels: Iterable[Label], positions: Mapping[CaseKey, int], events: Sequence[BoardEvent] = ()
) -> dict[Place, ReadFailure]:
    """Return the failed attempts that people labelled, with all names of all people. A person's last label counts.

    Names that people changed on the board since the label count as what they are called now.
    """
    last = {
        (label.case, label.attempt, label.author): label
        for label in labels
        if label.criterion == FAILURES and label.part is None and label.case in positions
    }
    readings: dict[Place, ReadFailure] = {}
    for label in last.values():
        place = positions[label.case], label.attempt
        earlier = readings.get(place, ReadFailure(frozenset(), label.weight))
        readings[place] = ReadFailure(earlier.names | _names(label, events), earlier.weight)
    return readings


def _names(label: Label, events: Sequence[BoardEvent]) -> frozenset[str]:
    if label.value == 0:
        return frozenset([NOT_A_FAILURE])
    name = name_key(current_names(events, first_line(label.note), label.at))
    return frozenset([name] if name else [])


def first_line(note: str) -> str:
    """Return the name of a failure: the first line of a note, with single spaces."""
    line = next(iter(note.strip().splitlines()), "")
    return shorten(" ".join(line.split()).rstrip("."), _LONGEST_NAME)


def name_key(name: str) -> str:
    """Return a name in small letters. Names with the same key are one mode."""
    return first_line(name).casefold()


def current_names(events: Iterable[BoardEvent], name: str, at: str = "") -> str:
    """Return the name of a mode after the changes that people made since a time. Without a time, all changes count."""
    for event in events:
        if event.action == "rename" and name_key(event.name) == name_key(name) and event.at >= at:
            name = event.to
    return name


def current_mode_names(modes: Sequence[FailureMode], events: Sequence[BoardEvent]) -> dict[int, str]:
    """Return the name of each mode by its number, after the changes that people made.

    The first change of a mode is found by its signatures: its name in words is another one as soon as a second mode has
    the same name. A change without signatures counts for modes with its name, or with its name in an older store.
    """
    earlier_keys = _earlier_keys(modes)
    return {mode.number: _current_name(mode, earlier_keys[mode.number], events) for mode in modes}


def _current_name(mode: FailureMode, earlier_keys: frozenset[str], events: Sequence[BoardEvent]) -> str:
    name, keys, is_renamed = mode.name, earlier_keys | {name_key(mode.name)}, False
    signatures = frozenset(mode.signatures)
    for event in events:
        if event.action != "rename":
            continue
        if is_renamed or event.signatures is None:
            is_meant = name_key(event.name) in keys
        else:
            is_meant = not signatures.isdisjoint(event.signatures)
        if is_meant:
            name, keys, is_renamed = event.to, frozenset([name_key(event.to)]), True
    return name


def _earlier_keys(modes: Sequence[FailureMode]) -> dict[int, frozenset[str]]:
    """Return the keys of the names that each mode may have in an older store. Names of modes today are none of them."""
    keys = {name_key(mode.name) for mode in modes}
    return {mode.number: frozenset(map(name_key, earlier_names(mode.signatures))) - keys for mode in modes}


def names_of_modes(modes: Sequence[FailureMode], events: Sequence[BoardEvent]) -> dict[str, int]:
    """Return the number of each mode by its name, by the name that people gave it on the board, and as "mode 3".

    A name in an older store counts if it means one mode.
    """
    earlier_keys = _earlier_keys(modes)
    uses = Counter(key for keys in earlier_keys.values() for key in keys)
    numbers = {key: number for number, keys in earlier_keys.items() for key in keys if uses[key] == 1}
    numbers |= {name_key(name): number for number, name in current_mode_names(modes, events).items()}
    numbers |= {f"mode {mode.number}": mode.number for mode in modes}
    return numbers | {name_key(mode.name): mode.number for mode in modes}


def estimate_names(
    readings: Mapping[Place, ReadFailure], modes: Mapping[str, int] | None = None
) -> tuple[NamedFailures, ...]:
    """Return the names with their estimated shares of all failures, the most frequent first.

    Each share is that of Hajek (1971): the weights of the attempts with the name by the weights of all. `modes` are the
    numbers of modes by their names.
    """
    names = sorted({name for own in readings.values() for name in own.names})
    estimates = [replace(_estimate(name, readings), mode=(modes or {}).get(name)) for name in names]
    return tuple(sorted(estimates, key=lambda own: (-(own.share.value or 0.0), own.name)))


def _estimate(name: str, readings: Mapping[Place, ReadFailure]) -> NamedFailures:
    places = [place for place, own in readings.items() if name in own.names]
    share = weighted_share({place: name in own.names for place, own in readings.items()}, readings)
    return NamedFailures(name, len(places), len({position for position, _ in places}), share)


def weighted_share(hits: Mapping[Place, bool], readings: Mapping[Place, ReadFailure]) -> Estimate:
    """Return the weighted share of hits with its interval, whose unit is the case."""
    largest = max((own.weight for own in readings.values()), default=1.0)
    return estimate_share([(hit, readings[place].weight) for place, hit in hits.items()], largest, hits)


def estimate_share(hits: Sequence[tuple[bool, float]], largest: float, places: Iterable[Place]) -> Estimate:
    """Return the share of hits, each with its weight, and its interval, whose unit is the case.

    `largest` is the largest weight that an attempt can have.
    """
    share = share_interval(hits, largest, [position for position, _ in places])
    return Estimate() if share is None else Estimate(*share, _METHOD)
