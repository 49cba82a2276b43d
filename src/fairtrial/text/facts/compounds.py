"""Quantities in two units, such as "2 hours 30 minutes", as one fact."""

from __future__ import annotations

import re

from fairtrial.text.facts.claims import Claims
from fairtrial.text.facts.fact import Fact, Reading


def join_compounds(work: Claims, text: str) -> None:
    """Join "2 hours 30 minutes", "1.5 m 20 cm" and "5 dollars 20 cents", whose last unit is smaller."""
    facts = sorted(work.facts, key=lambda fact: fact.start)
    joined: list[Fact] = []
    for fact in facts:
        before = joined[-1] if joined else None
        between = text[before.end : fact.start] if before and fact.start - before.end < 6 else None
        if before and between is not None and re.fullmatch(r"(?:[ ,]|and|又|と)*", between):
            sums = _sums(before, fact)
            if sums:
                joined[-1] = before._replace(readings=sums, end=fact.end)
                continue
        joined.append(fact)
    work.facts = joined


def _sums(large: Fact, small: Fact) -> tuple[Reading, ...]:
    if large.kind not in {"quantity", "amount"} or small.kind not in {"quantity", "amount"}:
        return ()
    sums: list[Reading] = []
    for former in large.readings:
        for latter in small.readings:
            if (
                former.dimension == latter.dimension
                and isinstance(former.value, float)
                and isinstance(latter.value, float)
            ):
                large_unit, small_unit = (
                    former.value / (former.as_written or 1),
                    latter.value / (latter.as_written or 1),
                )
                if small_unit < abs(large_unit) and 0 < latter.value < abs(large_unit):
                    total = former.value + (latter.value if former.value >= 0 else -latter.value)
                    sums.append(Reading(former.dimension, total, total / large_unit, min(former.step, latter.step)))
    return tuple(sums)
