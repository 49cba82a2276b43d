"""Abbreviations, whose full stop does not end a sentence."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALWAYS = _words(
    "mr mrs ms mx dr prof rev hon gen col capt lt sgt maj gov sen rep pres supt st mt ft messrs mme mlle "
    "fig figs eq eqs vol vols pp ch sec art ver e.g i.e cf viz vs approx ca"
)
"""Abbreviations that never end a sentence."""

BEFORE_NUMBER = _words("no nos")
"""Words that are abbreviations only before a number. For example, "No. 5", but not "We answer no."."""

MAYBE = _words(
    "etc inc ltd co corp bros jr sr ph.d m.d b.a m.a d.c u.s u.k u.n e.u a.m p.m al dept est ext min max misc avg "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
"""Abbreviations that may end a sentence.

They do if the next word begins with a capital. If they have inner full stops, the next word must be a starter.
"""

STARTERS = _words(
    "The A An He She It They We You I This That These Those There Then In On At But And So If When While After "
    "Before However Also Please Our Your His Her Its Their Is Are Was Were Do Does Did Can Could Will Would No Not Yes "
    "What How Let Let's For As With To All Some My Here Now Thank Thanks Who Where Why Which Since Because"
)
"""Words that begin a sentence rather than continue a name. For example, "the U.S. It", but not "the U.S. Army"."""
