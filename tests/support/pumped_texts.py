"""Texts that make a regular expression work: what one of its repeats matches, written again and again."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from random import Random
from re import _parser  # type: ignore[attr-defined]  # sre_parse, whose old name is deprecated
from typing import Any

import fairtrial.text.facts
from fairtrial.text.facts.word_patterns import StartPattern
from fairtrial.text.lazy_pattern import LazyPattern

_MANY = 8
"""A repeat of more than so many matches is pumped."""
_SIGNS = {"DIGIT": "7", "SPACE": " ", "WORD": "a", "NOT_DIGIT": "x", "NOT_SPACE": "x", "NOT_WORD": "-"}
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


def patterns_of_facts() -> dict[str, re.Pattern[str]]:
    """Return each regular expression of the modules of facts by its name."""
    patterns: dict[str, re.Pattern[str]] = {}
    for module in pkgutil.iter_modules(fairtrial.text.facts.__path__):
        name = f"fairtrial.text.facts.{module.name}"
        importlib.import_module(name)
        for key, value in vars(sys.modules[name]).items():
            for label, own in _patterns(key, value):
                pattern = own.compiled if isinstance(own, LazyPattern) else own
                if pattern not in patterns.values():
                    patterns[f"{module.name}.{label}"] = pattern
    return patterns


def start_patterns() -> dict[str, StartPattern]:
    """Return the patterns of the modules of facts that are tried only where another pattern matches, by their names."""
    patterns_of_facts()
    return {
        f"{name.rpartition('.')[2]}.{label}": own
        for name, module in sys.modules.items()
        if name.startswith("fairtrial.text.facts.")
        for key, value in vars(module).items()
        for label, own in _patterns(key, value)
        if isinstance(own, StartPattern)
    }


def _patterns(name: str, value: Any) -> Iterator[tuple[str, LazyPattern | re.Pattern[str]]]:
    if isinstance(value, LazyPattern | re.Pattern):
        yield name, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple | list) else ()
    for key, member in members:
        yield from _patterns(f"{name}[{key}]", member)


def pumps(pattern: re.Pattern[str], seeds: range) -> list[tuple[str, str]]:
    """Return beginnings of texts, each with a piece to repeat after it: what leads to a repeat, and its match."""
    tree = list(_parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    pairs = set()
    for seed in seeds:
        random = Random(seed)
        for before, body in _repeats(tree, "", random):
            pairs |= {(before[:100], body), ("", before[:100] + body)}
        pairs.add(("", _match(tree, random)[:200]))
    return sorted(pair for pair in pairs if pair[1])


def _repeats(tree: Any, before: str, random: Random) -> Iterator[tuple[str, str]]:
    for step in tree:
        kind, value = str(step[0]), step[1]
        if kind in _REPEATS:
            _, most, body = value
            if most > _MANY:
                yield before, _match(body, random)
            yield from _repeats(body, before, random)
        for part in _parts(kind, value):
            yield from _repeats(part, before, random)
        before += _match([step], random)


def _parts(kind: str, value: Any) -> list[Any]:
    if kind == "SUBPATTERN":
        return [value[3]]
    if kind == "BRANCH":
        return list(value[1])
    if kind in {"ASSERT", "ASSERT_NOT"}:
        return [value[1]]
    return [value] if kind == "ATOMIC_GROUP" else []


def _match(tree: Any, random: Random) -> str:
    """Return a text that a part of a pattern matches, if its assertions are left out."""
    text = ""
    for step, value in tree:
        kind = str(step)
        if kind == "LITERAL":
            text += chr(value)
        elif kind in {"NOT_LITERAL", "ANY"}:
            text += "x"
        elif kind == "IN":
            text += _sign(list(value), random)
        elif kind in _REPEATS:
            least, most, body = value
            text += "".join(_match(body, random) for _ in range(random.choice((least, max(least, min(2, int(most)))))))
        elif kind not in {"ASSERT", "ASSERT_NOT"}:
            parts = _parts(kind, value)
            text += _match(random.choice(parts), random) if parts else ""
    return text


def _sign(members: list[Any], random: Random) -> str:
    kind, value = random.choice(members)
    if str(members[0][0]) == "NEGATE":
        return "x"
    if str(kind) == "RANGE":
        return chr(random.choice(value))
    return chr(value) if str(kind) == "LITERAL" else _SIGNS[str(value).removeprefix("CATEGORY_")]
