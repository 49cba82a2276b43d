"""Polarity: predicates that a reply turns round, such as "is shipped" and "is not shipped"."""

from __future__ import annotations

from typing import NamedTuple


class Opposition(NamedTuple):
    """A predicate of the reference and its opposite in the reply, with their places in both texts."""

    name: str
    start: int
    end: int
    other_start: int
    other_end: int


def oppositions(reference: str, reply: str) -> tuple[Opposition, ...]:
    """Return the predicates of a reference that a reply turns round."""
    return ()
