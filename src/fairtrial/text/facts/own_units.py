"""Units that a user defines, for example "sprint = 2 weeks"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from fairtrial.text.facts.fact import Fact, Reading
from fairtrial.text.facts.units import Unit, currency_names, unit_names

_DEFINITION = re.compile(r"\s*([^=]{1,40}?)\s*=\s*(\d{1,12}(?:\.\d{1,12})?)\s*(\S[^=]{0,39}?)\s*")


def parse_units(definitions: Iterable[str]) -> dict[str, Unit]:
    """Return the units of definitions by their names in small letters.

    A definition is a name, `=`, a number and a unit, which is a known unit or another name: "pallet = 48 boxes".
    Raises ValueError for another text.
    """
    units: dict[str, Unit] = {}
    for definition in definitions:
        match = _DEFINITION.fullmatch(definition)
        if match is None or not float(match[2]):
            raise ValueError(definition)
        name, base = match[1].lower(), match[3].lower()
        known = units.get(_singular(base)) or unit_names().get(base) or currency_names().get(base)
        if known is None:
            known = units[_singular(base)] = Unit(_singular(base), f"own:{_singular(base)}", 1.0)
        units[_singular(name)] = Unit(name, known.dimension, float(match[2]) * known.factor)
    return units


def _singular(name: str) -> str:
    if name.isascii() and len(name) > 3 and name.endswith("s") and not name.endswith("ss"):
        return name[:-2] if name.endswith(("xes", "ches", "shes", "sses")) else name[:-1]
    return name


def with_own_units(facts: Sequence[Fact], text: str, units: Mapping[str, Unit]) -> tuple[Fact, ...]:
    """Return the facts of a text. A number with a unit of the user is a quantity of it, in the place of another unit."""
    names = "|".join(re.escape(name) for name in sorted(units, key=len, reverse=True))
    pattern = re.compile(rf"(?:[\d.]|\b)[ -]?({names})(?:e?s)?(?![a-z0-9])", re.IGNORECASE)
    return tuple(_with_own_unit(fact, text, units, pattern) for fact in facts)


def _with_own_unit(fact: Fact, text: str, units: Mapping[str, Unit], pattern: re.Pattern[str]) -> Fact:
    value = fact.readings[0].value
    if fact.kind not in {"number", "quantity", "amount"} or isinstance(value, (str, tuple)):
        return fact
    last = fact.end - 1 if fact.kind == "number" else fact.start
    match = pattern.search(text, max(0, last), fact.end + 44)
    if match is None or (match.start() > fact.end) or (fact.kind != "number" and match.end() < fact.end):
        return fact
    unit, first = units[match[1].lower()], fact.readings[0]
    step = first.step * abs(first.as_written / value) if value else first.step
    reading = Reading(unit.dimension, first.as_written * unit.factor, first.as_written, step * unit.factor)
    return fact._replace(kind="quantity", readings=(reading,), end=match.end())
