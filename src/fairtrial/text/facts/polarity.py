"""Polarity: predicates that a reply turns round, such as "is shipped" and "is not shipped"."""

from __future__ import annotations

import re
from typing import NamedTuple


class Opposition(NamedTuple):
    """A predicate of the reference and its opposite in the reply, with their places in both texts."""

    name: str
    start: int
    end: int
    other_start: int
    other_end: int


_NEGATIVE = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|cannot|without|unable|refused?|denied|declined?|rejected)\b|n't\b|\bun(?=available|able|paid)"
    r"|안 |않|못|없|아니|말[고라아]|마세요|마십|불가|금지|거절|ない|ませ?ん|なし|無し|不可|ず(?:に|、|。)|禁止|断"
    r"|不|没|沒|未(?!来|來|知)|无|無|非|勿|莫|别(?!的|人)|別(?!的|人)|禁|拒"
)


def is_negative(text: str) -> bool:
    """Return whether a text has a word of negation."""
    return bool(_NEGATIVE.search(text.lower()))


def oppositions(reference: str, reply: str) -> tuple[Opposition, ...]:
    """Return the predicates of a reference that a reply turns round."""
    return ()
