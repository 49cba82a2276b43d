"""Units and currencies: their names in four languages, their dimension and their factor of the base unit."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from fairtrial.text.facts.word_patterns import Cue, alternatives, cue

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
    return dict(_rows("units.txt"))


@cache
def currency_names() -> dict[str, Unit]:
    """Return the currencies by each of their signs, codes and names, in small letters."""
    return {name: Unit(unit.name, CURRENCY + unit.dimension, unit.factor) for name, unit in _rows("currencies.txt")}


@cache
def unit_pattern(*, ascii_only: bool = False) -> str:
    """Return a pattern of every unit and currency that can stand behind a number."""
    return _any_unit([*unit_names(), *currency_names()], ascii_only=ascii_only)


@cache
def sign_pattern(*, ascii_only: bool = False) -> str:
    """Return a pattern of every currency sign or code that can stand before a number."""
    return _any_unit(_signs(), ascii_only=ascii_only)


@cache
def unit_cue() -> Cue:
    """Return the cue of the units and currencies: the first letters of their Latin names, and their other signs."""
    return _make_cue([*unit_names(), *currency_names()])


@cache
def sign_cue() -> Cue:
    """Return the cue of the currency signs and codes. Of a name such as "us$", the sign says enough."""
    marks = frozenset(sign for name in _signs() for sign in name if not (sign.isalpha() or sign == " "))
    return cue([name.split()[0] for name in _signs() if marks.isdisjoint(name)], marks)


@cache
def first_signs() -> str:
    """Return the first characters of the currency signs and codes, for a set of a pattern."""
    return "".join(sorted({re.escape(name[0]) for name in _signs()}))


def _signs() -> list[str]:
    return [name for name in currency_names() if not name.isalpha() or (name.isascii() and len(name) == 3)]


def _make_cue(names: list[str]) -> Cue:
    words = {re.split("[^a-z]", name)[0] for name in names}
    return cue(words - {""}, {name[0] for name in names if not "a" <= name[0] <= "z"})


def _rows(name: str) -> list[tuple[str, Unit]]:
    from importlib import resources  # takes longer than the rest of the import

    text = (resources.files("fairtrial.text.facts") / name).read_text(encoding="utf-8")
    rows: list[tuple[str, Unit]] = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            dimension, factor, *names = line.split()
            rows += [(item.replace("-", " "), Unit(names[0], dimension, float(factor))) for item in names]
    return rows


def _any_unit(names: list[str], *, ascii_only: bool) -> str:
    """Return a pattern of units. Behind a unit in Latin letters, no letter and no digit may follow."""
    chosen = [name for name in names if name.isascii() or not ascii_only]
    firsts = "".join(sorted({re.escape(name[0]) for name in chosen}))
    return f"(?=[{firsts}])(?:{alternatives(chosen, ends=True)})"
