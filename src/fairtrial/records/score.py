"""What a metric says of a trace: a value or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Literal

from fairtrial.records.average import mean
from fairtrial.records.record import Record

FaultSide = Literal["infrastructure", "judge", "simulator", "environment", "expectation", "agent"]
"""On which side something went wrong; where there is evidence on several, the first of this order counts."""


class Quote(Record, frozen=True):
    """A piece of evidence, word for word, and where it is from."""

    text: str
    source: str = ""


class Score(Record, frozen=True):
    """What a metric says of a trace.

    `value` None with a reason: it should have been scored and could not be; `side` then says whose doing that is, where
    it is known. `applicable` False: there is nothing to score here, which the data alone decides. `parts` are the
    scores that the value is the mean of.
    """

    value: float | None = None
    reason: str = ""
    label: str = ""
    applicable: bool = True
    parts: tuple[Score, ...] = ()
    evidence: tuple[Quote, ...] = ()
    ballots: tuple[str, ...] = ()
    side: FaultSide | None = None


Bounds = tuple[float, float]


class Range(Record, frozen=True):
    """The values that a score can have; an end that is None is unbounded, one that is open is no value itself.

    `logarithmic`: the values are amounts whose ratios matter, such as seconds and tokens.
    """

    low: float | None = 0.0
    high: float | None = 1.0
    open_low: bool = False
    open_high: bool = False
    logarithmic: bool = False

    @property
    def bounds(self) -> Bounds:
        """Both ends as numbers, infinite where unbounded."""
        return (-inf if self.low is None else self.low, inf if self.high is None else self.high)

    def __contains__(self, value: float) -> bool:
        low, high = self.bounds
        return low <= value <= high and not (self.open_low and value == low) and not (self.open_high and value == high)

    def __str__(self) -> str:
        if None not in (self.low, self.high) and not (self.open_low or self.open_high):
            return f"from {self.low:g} to {self.high:g}"
        low = None if self.low is None else f"{'above' if self.open_low else 'of at least'} {self.low:g}"
        high = None if self.high is None else f"{'below' if self.open_high else 'of at most'} {self.high:g}"
        return " and ".join(end for end in (low, high) if end) or "of any size"


def bounds(score: Score, scale: Range) -> Bounds | None:
    """Return the lowest and highest value that the score could have, were its unscored leaves scored.

    A scored leaf is (v, v), an unscored one the ends of the range, a node the mean of its children; what is not
    applicable is dropped. None: nothing applies.
    """
    if not score.applicable:
        return None
    if not score.parts:
        return scale.bounds if score.value is None else (score.value, score.value)
    inner = [ends for part in score.parts if (ends := bounds(part, scale)) is not None]
    if not inner:
        return None
    lows, highs = zip(*inner, strict=True)
    return mean(lows), mean(highs)


def applies(score: Score) -> bool:
    """Whether there is anything to score: the score applies, and of its parts, where it has any, at least one."""
    return score.applicable and (not score.parts or any(map(applies, score.parts)))


def any_scored(score: Score) -> bool:
    """Whether at least one applicable leaf has a value."""
    if not score.applicable:
        return False
    return any(any_scored(part) for part in score.parts) if score.parts else score.value is not None


def mean_of(parts: Iterable[Score], *, reason: str = "", label: str = "") -> Score:
    """Return the score whose value is the mean of its scored, applicable parts.

    Without an applicable part it is not applicable; with applicable parts but no scored one its value is None.
    """
    kept = tuple(parts)
    applicable = [part for part in kept if part.applicable]
    values = [part.value for part in applicable if part.value is not None]
    return Score(
        value=mean(values) if values else None,
        reason=reason,
        label=label,
        applicable=bool(applicable),
        parts=kept,
    )
