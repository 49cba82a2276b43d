"""Sort the failures of a run into modes that people named: each failure has one name, with the people behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairtrial.analysis.failures.named_failures import (
    NOT_A_FAILURE,
    Place,
    current_mode_names,
    current_names,
    estimate_share,
    first_line,
    name_key,
)
from fairtrial.records.label import FAILURES, Label
from fairtrial.records.summary import Estimate
from fairtrial.stats.agreement import krippendorff

if TYPE_CHECKING:
    from fairtrial.records.board_event import BoardEvent
    from fairtrial.records.failure_mode import Failures
    from fairtrial.records.keys import CaseKey


@dataclass
class BoardCard:
    """A failed attempt: its name, its own name as found by the program, and the last label of each person."""

    place: Place
    case: str
    reason: str
    name: str
    labels: dict[str, Label] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def is_split(self) -> bool:
        """Whether people gave it different names."""
        return len({name_key(name) for name in self.names.values()}) > 1

    @property
    def weight(self) -> float | None:
        """The number of failures that it stands for if it was drawn from a queue."""
        return next((1 / own.probability for own in self.labels.values() if own.probability), None)

    @property
    def note(self) -> str:
        """The last note of a person."""
        return next((own.note for own in reversed(self.labels.values()) if own.note), "")


def sort_cards(
    failures: Failures, labels: Sequence[Label], positions: Mapping[CaseKey, int], events: Sequence[BoardEvent]
) -> list[BoardCard]:
    """Return the failed attempts with their names: that of the last label, or otherwise that of the found mode."""
    names = current_mode_names(failures.modes, events)
    cards = {
        (own.position, own.attempt): BoardCard(
            (own.position, own.attempt),
            own.case,
            own.reason,
            names.get(own.mode or 0, ""),
        )
        for own in failures.failed
    }
    for label in labels:
        card = cards.get((positions.get(label.case, -1), label.attempt))
        if label.criterion != FAILURES or label.part is not None or label.value is None or card is None:
            continue
        card.labels.pop(label.author, None)
        card.labels[label.author] = label
        written = NOT_A_FAILURE if label.value == 0 else first_line(label.note)
        own_name = current_names(events, written, label.at)
        card.names[label.author] = own_name
        card.name = own_name or card.name
    return list(cards.values())


def estimate_mode(cards: Sequence[BoardCard], key: str) -> Estimate:
    """Return the share of a mode among all failures, from the cards that were drawn from a queue.

    The unit of the interval is the case.
    """
    sample = [(card, weight) for card in cards if (weight := card.weight) is not None]
    if not sample:
        return Estimate()
    hits = [(name_key(card.name) == key, weight) for card, weight in sample]
    return estimate_share(hits, max(weight for _, weight in sample), [card.place for card, _ in sample])


def count_agreement(cards: Iterable[BoardCard]) -> tuple[int, int, float | None]:
    """Return how many failures several people named, how many of these have one name, and Krippendorff's alpha."""
    several = [[name_key(name) for name in card.names.values() if name] for card in cards]
    several = [names for names in several if len(names) > 1]
    numbers: dict[str, float] = {}
    answers = [[numbers.setdefault(name, float(len(numbers))) for name in names] for names in several]
    return len(several), sum(len(set(names)) == 1 for names in several), krippendorff(answers)
