"""Quotations and titles in a text, which a reply repeats word for word, with or without their marks."""

from __future__ import annotations

import re
import unicodedata

from fairtrial.text.facts.fact import Fact, Reading
from fairtrial.text.facts.memory import remember_short
from fairtrial.text.lazy_pattern import LazyPattern

_MARKS = frozenset("\"“”'‘’「」『』《》«»")
_QUOTATION = LazyPattern(
    r"\"([^\"\n]{2,80})\"|“([^“”\n]{2,80})”|(?<![^\s(:])['‘]([^'‘’\n]{2,80})['’](?![A-Za-z])"
    r"|「([^「」\n]{2,80})」|『([^『』\n]{2,80})』|《([^《》\n]{2,80})》|«([^«»\n]{2,80})»"
)
_SIGN = LazyPattern(r"[\W_]+")


@remember_short
def find_quotations(text: str) -> tuple[Fact, ...]:
    """Return the quotations of a text, of 2 to 80 characters, without their marks."""
    if _MARKS.isdisjoint(text):
        return ()
    return tuple(
        Fact("quote", (Reading("quote", value),), *match.span(match.lastindex or 0))
        for match in _QUOTATION.finditer(text)
        if (value := fold_quotation(match[match.lastindex or 0])) and not _is_nickname(match)
    )


_BEFORE, _AFTER = LazyPattern(r"\b[A-Z][a-z]+ $"), LazyPattern(r" [A-Z][a-z]+")


def _is_nickname(match: re.Match[str]) -> bool:
    """Return whether a quoted word stands inside a name, as in Ethel "Edy" Proctor."""
    text, (start, end) = match.string, match.span()
    return (
        text[start + 1 : end - 1].isalpha()
        and bool(_BEFORE.search(text[max(0, start - 20) : start]))
        and bool(_AFTER.match(text, end))
    )


def fold_quotation(text: str) -> str:
    """Return the small letters and the digits of a text, half wide."""
    return _SIGN.sub("", unicodedata.normalize("NFKC", text).casefold())
