"""Recognise sentences that are only polite: greetings, thanks, offers of help, regrets and wishes.

A sentence counts as polite only if a pattern covers it from its first word to its last. For example, "Thank you for
asking." is polite, and "Thank you for your payment of $40." is not. A sentence with a number is never only polite.
"""

from __future__ import annotations

from functools import cache, lru_cache

import regex

from fairtrial.mutations.sections import sections
from fairtrial.text.language import Language

_MARKS = r"[\s\p{P}\p{S}]*"
_NUMBER = regex.compile(r"\p{N}")
_LONGEST = 120
"""The length of the longest sentence that is looked at. Longer ones state something."""


@cache
def _patterns(language: Language) -> list[regex.Pattern[str]]:
    return [regex.compile(rf"{_MARKS}(?:{line}){_MARKS}", regex.I) for line in sections("courtesies.txt")[language]]


@lru_cache(maxsize=256)  # several operators look at the sentences of the same reply
def is_courtesy(sentence: str, language: Language) -> bool:
    """Return whether a sentence is only polite, for example "Is there anything else I can help you with?"."""
    if len(sentence) > _LONGEST or _NUMBER.search(sentence):
        return False
    text = sentence.replace("’", "'").strip()
    return any(pattern.fullmatch(text) for pattern in _patterns(language))
