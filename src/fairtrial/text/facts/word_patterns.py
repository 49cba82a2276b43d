"""Patterns of many words, grouped by their first letter, so that a search tries few of them at a place."""

from __future__ import annotations

import re
from collections.abc import Iterable


def alternatives(words: Iterable[str], *, starts: bool = False, ends: bool = False) -> str:
    """Return a pattern of words, longest first. A space in a word stands for a space or a hyphen.

    If `starts` or `ends`, a word with a Latin letter at that end begins or ends at the edge of a word.
    """
    groups: dict[str, list[str]] = {}
    for word in sorted(set(words), key=lambda word: (-len(word), word)):
        groups.setdefault(word[0], []).append(word)
    return "|".join(_group(first, item, starts=starts, ends=ends) for first, item in groups.items())


def _group(first: str, words: list[str], *, starts: bool, ends: bool) -> str:
    rest = "|".join(
        re.escape(word[1:]).replace(r"\ ", "[ -]")
        + ("(?![a-z0-9])" if ends and word[-1].isascii() and word[-1].isalnum() else "")
        for word in words
    )
    # Behind the letter, the search meets the edge only where the letter stands.
    edge = "(?<![a-z0-9].)" if starts and first.isascii() and first.isalnum() else ""
    return f"{re.escape(first)}{edge}(?:{rest})"
