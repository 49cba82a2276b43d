"""Values of facts as text, for example `29.9 USD` or `2026-11-23`."""

from __future__ import annotations

from fairtrial.text.facts.fact import NUMBER, Fact, Reading

_NAMED = {"weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")}
_UNITS = {"percent": "%", "period": "s", "time": "s", "length": "m", "mass": "g"}
"""The base units of dimensions. A dimension without an entry stands in place of its unit."""


def fact_value(fact: Fact) -> str:
    """Return the value of the first reading of a fact. A part of a date that is not stated is `-`."""
    return _value(fact.readings[0])


def _value(reading: Reading) -> str:
    kind, _, unit = reading.dimension.partition(":")
    value = reading.value
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        if kind == "clock":
            minutes = value[0] or 0
            return f"{minutes // 60:02}:{minutes % 60:02}"
        return "-".join("-" if part is None else f"{part:02}" for part in value)
    if kind in _NAMED and 0 <= value < len(_NAMED[kind]):
        return _NAMED[kind][int(value)]
    if kind == NUMBER:
        return f"{value:.12g}"
    return f"{value:.12g} {unit or _UNITS.get(kind, kind)}"
