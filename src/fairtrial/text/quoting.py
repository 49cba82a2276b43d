"""Does a text contain a quote, apart from differences in writing such as white space and escapes?"""

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
    """Return a text with its JSON escapes decoded. If they are not valid, it stays as it is."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads('"' + regex.sub(r'(?<!\\)"', r"\"", text.replace("\n", "\\n")) + '"'))
    except ValueError:
        return text


class Haystack:
    """Texts that quotes are searched in."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [form for text in texts for form in dict.fromkeys((folded(text), folded(unescaped(text))))]

    def holds(self, quote: str) -> bool:
        """Return whether every part of a quote, split at its ellipses, is in one of the texts.

        Quotation marks around a part do not count. A quote without a letter or a digit is never found.
        """
        parts = [part for part in (folded(section).strip(_EDGE) for section in _ELLIPSIS.split(quote)) if part]
        return bool(parts) and bool(regex.search(r"[\p{L}\p{N}]", quote)) and all(self._has(part) for part in parts)

    def _has(self, part: str) -> bool:
        forms = dict.fromkeys((part, folded(unescaped(part)).strip(_EDGE)))
        return any(form in text for form in forms if form for text in self._texts)
