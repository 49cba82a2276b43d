"""Values of a reference that follow from two values of a reply, for example the end from the start and the length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.units import CURRENCY

_MOST = 24
"""The number of facts of a reply that are combined, so that the time stays linear."""
_EXACT = 1e-6
_DAY = 1440
_MINUTE = 60.0
_TRIVIAL = (0.0, 1.0)
"""Too many values follow from one of these."""


def find_sources(fact: Fact, extra: Sequence[Fact], actual: Sequence[Fact]) -> tuple[Fact, Fact] | None:
    """Return two facts of a reply from which a fact of the reference follows, the first one not of the reference.

    A value follows by a sum, a difference, a product, a share or the clock. Whether the reply means it is not known.
    """
    if not extra:
        return None
    expected = fact.readings[0]
    for former in extra[:_MOST]:
        for latter in actual[:_MOST]:
            if former is not latter and any(
                _is_close(value, expected)
                for value in _combine(former.readings[0], latter.readings[0], expected.dimension)
            ):
                return former, latter
    return None


def _is_close(value: float, expected: Reading) -> bool:
    target = expected.value
    if isinstance(target, tuple):
        # "4:20" may be in the afternoon.
        cycle = _DAY if target[1] else _DAY // 2
        return target[0] is not None and abs(value % cycle - target[0] % cycle) < _EXACT
    # A sum that differs in its last digit is another.
    return isinstance(target, float) and abs(value - target) <= max(
        min(_EXACT * abs(target), 0.49 * expected.step), 0.5 * expected.step * _EXACT
    )


def _combine(former: Reading, latter: Reading, dimension: str) -> Iterator[float]:
    """Yield the values of a dimension that follow from two readings."""
    a, b = former.value, latter.value
    if isinstance(a, tuple) and isinstance(b, tuple):
        if dimension == "time" and former.dimension == latter.dimension == "clock":
            yield abs((a[0] or 0) - (b[0] or 0)) * _MINUTE
        return
    if dimension == "clock":
        clock, length = (a, b) if isinstance(a, tuple) else (b, a)
        if "time" in (former.dimension, latter.dimension) and isinstance(clock, tuple) and isinstance(length, float):
            for sign in (1, -1):
                yield ((clock[0] or 0) + sign * length / _MINUTE) % _DAY
        return
    if not isinstance(a, float) or not isinstance(b, float):
        return
    if latter.as_written in _TRIVIAL or former.as_written in _TRIVIAL:
        return
    yield from _combine_numbers(former.dimension, a, latter.dimension, b, dimension)


def _combine_numbers(former: str, a: float, latter: str, b: float, dimension: str) -> Iterator[float]:
    if former == latter == dimension:
        yield a + b
        yield abs(a - b)
    if dimension == "percent" and former == latter and a and b:
        share = 100 * min(a, b) / max(a, b)
        yield share
        yield 100 - share
    elif "percent" in (former, latter) and dimension in (former, latter) and dimension.startswith(CURRENCY):
        amount, share = (a, b) if latter == "percent" else (b, a)
        yield from (amount * (1 + share / 100), amount * (1 - share / 100), amount * share / 100)
    if NUMBER in (former, latter) and dimension in (former, latter) and min(abs(a), abs(b)) > 1 and dimension != NUMBER:
        yield a * b
