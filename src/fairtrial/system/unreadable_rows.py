"""Count unreadable rows of stores. They are left out, and every command says how many they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

EXPLANATION = "cannot be read, and left out: a later fairtrial wrote them, or they are damaged"
"""The words that follow the number of such rows in a message."""

_STORES: list[UnreadableRows] = []
"""The stores of this process with rows that were left out."""


class UnreadableRows:
    """The rows of one store that were left out, each of them once."""

    def __init__(self) -> None:
        self._rows: set[tuple[str, object]] = set()

    def add(self, noun: str, place: object) -> None:
        """Note that a row was left out. The noun says of which kind it is."""
        if not self._rows:
            _STORES.append(self)
        self._rows.add((noun, place))

    def forget(self, noun: str, place: object) -> None:
        """Forget a row, because it was replaced."""
        self._rows.discard((noun, place))

    def forget_all(self, noun: str = "") -> None:
        """Forget all rows, or all rows of a kind."""
        self._rows = {row for row in self._rows if noun and row[0] != noun}

    @property
    def nouns(self) -> list[str]:
        """The kind of each row."""
        return [noun for noun, _ in self._rows]

    def __str__(self) -> str:
        """Return the number of rows of each kind, or an empty text if no row was left out."""
        return _count_text(self.nouns)


def take_unreadable_rows() -> str:
    """Return the number of rows that all stores left out since the last call, or an empty text."""
    text = _count_text(noun for rows in {id(rows): rows for rows in _STORES}.values() for noun in rows.nouns)
    for rows in _STORES:
        rows.forget_all()
    _STORES.clear()
    return text


def _count_text(nouns: Iterable[str]) -> str:
    counts = Counter(nouns)
    return ", ".join(f"{count} {noun} {'row' if count == 1 else 'rows'}" for noun, count in sorted(counts.items()))
