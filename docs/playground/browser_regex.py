r"""The part of the library regex that scoring without a model uses, by `re`: it has no build for browsers.

Properties of characters such as `\p{Han}` become the ranges that the library has. A test compares what both find.
A search of a user's own expression needs a time limit, which `re` lacks: it is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

IGNORECASE, MULTILINE, DOTALL = re.IGNORECASE, re.MULTILINE, re.DOTALL
Pattern, Match, error = re.Pattern, re.Match, re.error
_PROPERTY = re.compile(r"\\p\{(\w+)\}")
_PLACES = re.compile(r"\\p\{\w+\}|\\.|\[\^?\]?|\]", re.DOTALL)
RANGES: dict[str, str] = json.loads(Path(__file__).with_name("properties.json").read_text("utf-8"))


def compile(pattern: str, flags: int = 0) -> re.Pattern[str]:  # noqa: A001  (it is the name of the library)
    """Return an expression of `re` that finds the same. Raises error if a property is not known."""
    is_class = False

    def expand(place: re.Match[str]) -> str:
        nonlocal is_class
        text = place[0]
        if own := _PROPERTY.fullmatch(text):
            if own[1] not in RANGES:
                raise error(f"{text} is not known in a browser")
            return RANGES[own[1]] if is_class else f"[{RANGES[own[1]]}]"
        if text.startswith("[") and not is_class:
            is_class = True
        elif text == "]":
            is_class = False
        elif text.startswith("["):
            return "\\" + text
        return text

    return re.compile(_PLACES.sub(expand, pattern), flags)
