"""Estimate how frequent the failures are that people named, from a sample with known probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

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


def names_of_modes(modes: Sequence[FailureMode], events: Sequence[BoardEvent]) -> dict[str, int]:
    """Return the number of each mode by its name, by the name that people gave it on the board, and as "mode 3"."""
    numbers = {name_key(current_names(events, mode.name)): mode.number for mode in modes}
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
