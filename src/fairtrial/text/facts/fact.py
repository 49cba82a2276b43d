"""Facts: their kind, their readings, and their place in a text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

Kind = Literal[
    "number",
    "amount",
    "percent",
    "quantity",
    "date",
    "time",
    "weekday",
    "day",
    "period",
    "code",
    "quote",
    "list",
    "promise",
]
"""The kinds of facts. `quote` is a quotation or a title, `list` a member of a list. `day` is a relative day such as "tomorrow", `period` that of a rate such as "per hour"."""

KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]

Bound = Literal["", "least", "most", "over", "under"]
"""Which side of a number is meant, for example `most` for "up to 5"."""

Value = float | str | tuple[int | None, ...]
"""A number of base units, a code, `(year, month, day)`, or `(minute of the day, 1 if its half is known)`."""


class Reading(NamedTuple):
    """A way to read a fact: its dimension and its value, and for numbers the value as written and its last digit.

    `step` is the value of one unit of the last digit, in base units. It is 0.1 for "2.5" and 1000 for "3 km" in meters.
    """

    dimension: str
    value: Value
    as_written: float = 0.0
    step: float = 0.0


NUMBER = "number"
"""The dimension of a number without a unit."""


new_reading: Callable[[tuple[str, Value, float, float]], Reading] = partial(tuple.__new__, Reading)
"""Returns a reading of its fields, and takes a third of the time of the class."""


class Fact(NamedTuple):
    """A fact of a text, from `start` to `end`, with each of its readings.

    A weak fact, such as the 10 of "7 out of 10", need not be repeated, but may not be contradicted.
    """

    kind: Kind
    readings: tuple[Reading, ...]
    start: int
    end: int
    bound: Bound = ""
    about: bool = False
    weak: bool = False

    @property
    def dimensions(self) -> frozenset[str]:
        """The dimensions of the readings."""
        return frozenset(reading.dimension for reading in self.readings)


new_fact: Callable[[tuple[Kind, tuple[Reading, ...], int, int, Bound, bool, bool]], Fact] = partial(tuple.__new__, Fact)
"""Returns a fact of its fields, and takes a third of the time of the class."""
