"""Names of cities in four languages. A city in a reply may be exchanged for another one of the same script."""

from __future__ import annotations

import regex

from fairtrial.mutations.sections import sections
from fairtrial.text.language import Language, has_script, is_traditional


def cities(text: str, language: Language) -> tuple[str, ...]:
    """Return the known cities in the language and the script of a text."""
    names = sections("cities.txt")["zh-Hant" if language == "zh" and is_traditional(text) else language]
    if language == "zh" and not has_script(text):
        names = [name for name in names if not has_script(name)]
    return tuple(names)


_AFTER_KOREAN = r"(?=행|발|시|역|공항|에|으로|로|은|는|이|가|을|를|의|과|와|까지|부터|도|[^\p{L}]|\Z)"


def names_city(city: str, text: str, language: Language) -> bool:
    """Return whether a text names a city: 京都 does not stand in 東京都, and 대구 not in 대구탕."""
    if language == "ko":
        return regex.search(rf"(?<!\p{{Hangul}}){city}{_AFTER_KOREAN}", text) is not None
    if language == "en":
        # "Real Madrid" is no city, and "not Sydney" says nothing about it.
        return regex.search(rf"(?<!\p{{Lu}}\p{{L}}+ )(?<!\bnot ){city}\b(?! \p{{Lu}})", text) is not None
    return city in text.replace("東京都", "東京")
