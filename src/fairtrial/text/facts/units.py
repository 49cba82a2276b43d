"""Units and currencies: their names in four languages, their dimension and their factor of the base unit."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import NamedTuple

CURRENCY = "currency:"
"""The beginning of the dimension of an amount, for example `currency:USD`."""


class Unit(NamedTuple):
    """A unit: the name to show, its dimension, and its factor of the base unit of the dimension."""

    name: str
    dimension: str
    factor: float


@cache
def unit_names() -> dict[str, Unit]:
    """Return the units by each of their names, in small letters. A hyphen in a name stands for a space."""
    return {name: unit for name, unit in _rows("units.txt")}


@cache
def currency_names() -> dict[str, Unit]:
    """Return the currencies by each of their signs, codes and names, in small letters."""
    return {name: Unit(unit.name, CURRENCY + unit.dimension, unit.factor) for name, unit in _rows("currencies.txt")}


@cache
def unit_pattern() -> str:
    """Return a pattern of every unit and currency that can stand behind a number."""
    names = [name for name in {**unit_names(), **currency_names()} if name not in {"$", "€", "£", "₩", "¥"}]
    return _alternatives([*names, "$", "€", "£", "₩", "¥"])


@cache
def sign_pattern() -> str:
    """Return a pattern of every currency sign or code that can stand before a number."""
    return _alternatives([name for name in currency_names() if not name.isalpha() or (name.isascii() and len(name) == 3)])  # noqa: PLR2004


def _rows(name: str) -> list[tuple[str, Unit]]:
    text = (resources.files("fairtrial.text.facts") / name).read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            dimension, factor, *names = line.split()
            rows += [(each.replace("-", " "), Unit(names[0], dimension, float(factor))) for each in names]
    return rows


def _alternatives(names: list[str]) -> str:
    pieces = []
    for name in sorted(names, key=len, reverse=True):
        pattern = re.escape(name).replace(r"\ ", "[ -]")
        pieces.append(pattern + ("(?![a-z0-9])" if name[-1].isascii() and name[-1].isalnum() else ""))
    return "|".join(pieces)
