"""Whether a quote is really in a text, but for the way it was written down."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable

import regex

_ELLIPSIS = regex.compile(r"\s*(?:\[?(?:\.{3,}|…+|⋯+)\]?)\s*")
_EDGE = " \t\n\"'“”‘’「」『』«»"


def folded(text: str) -> str:
    """Return a text after NFKC, with every run of white space as one space."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def unescaped(text: str) -> str:
    """Return a text with JSON's escapes read, where it has any and they can be read."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads('"' + regex.sub(r'(?<!\\)"', r"\"", text.replace("\n", "\\n")) + '"'))
    except ValueError:
        return text


class Haystack:
    """Texts in which quotes are looked for."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [form for text in texts for form in dict.fromkeys((folded(text), folded(unescaped(text))))]

    def holds(self, quote: str) -> bool:
        """Whether every part of a quote, split at its ellipses, is in one of the texts.

        Quote marks around it do not count. A quote without a letter or a digit is none.
        """
        parts = [part for part in (folded(one).strip(_EDGE) for one in _ELLIPSIS.split(quote)) if part]
        return bool(parts) and bool(regex.search(r"[\p{L}\p{N}]", quote)) and all(self._has(part) for part in parts)

    def _has(self, part: str) -> bool:
        forms = dict.fromkeys((part, folded(unescaped(part)).strip(_EDGE)))
        return any(form in text for form in forms if form for text in self._texts)
