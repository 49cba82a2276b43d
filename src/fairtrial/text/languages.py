"""The language of what a terminal shows. English texts are the keys of the tables of the other languages.

The words of pages, for example of verdicts, come from the tables of the pages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

LANGUAGES = ("en", "ko", "ja", "zh-TW", "zh-CN")
ENGLISH = "en"
_TRADITIONAL = re.compile(r"hant|tw|hk|mo")
_PLACE = re.compile(r"\{(\w+)\}")
_language = ContextVar("fairtrial_language", default=ENGLISH)


def locale_language(environment: Mapping[str, str] = os.environ) -> str:
    """Return the language of FAIRTRIAL_LANG, else of the locale, by the variables of POSIX.

    A locale of another language is read as English.
    """
    if (own := environment.get("FAIRTRIAL_LANG", "")) in LANGUAGES:
        return own
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := environment.get(name))), "").lower()
    if locale.startswith("zh"):
        return "zh-TW" if _TRADITIONAL.search(locale) else "zh-CN"
    return next((own for own in ("ko", "ja") if locale.startswith(own)), ENGLISH)


def find_language(args: Sequence[str]) -> str:
    """Return the language of what is printed: of `--lang`, of FAIRTRIAL_LANG, or of the locale.

    The words are read before click reads them, so that a mistake in other options is explained in the language too.
    """
    for place, word in enumerate(args):
        name, sign, value = word.partition("=")
        if word == "--":
            break
        if name == "--lang":
            own = value if sign else next(iter(args[place + 1 : place + 2]), "")
            return own if own in LANGUAGES else locale_language()
    return locale_language()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Write texts in a language during the block."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def chosen_language() -> str:
    """Return the language in which texts are written now."""
    return _language.get()


def say(text: str, /, **values: object) -> str:
    """Return an English text in the language of the terminal, with values in place of `{name}`.

    A text that the language lacks stays English.
    """
    language = _language.get()
    template = text if language == ENGLISH else translations(language).get(text, text)
    return _PLACE.sub(lambda place: str(values.get(place[1], place[0])), template) if values else template


def say_count(number: int, noun: str) -> str:
    """Return a number of things: `2 cases`. The tables of other languages have the text for `{n} cases`."""
    if _language.get() == ENGLISH:
        from fairtrial.text.display import count  # the help of a command needs no library

        return count(number, noun)
    return say(f"{{n}} {noun}s", n=f"{number:,}")


@cache
def translations(language: str) -> Mapping[str, str]:
    """Return the texts of a language by the English texts: `sentences`, and the words of pages."""
    english, pages = _table(ENGLISH), _table(language)
    words = {text: pages[name] for name, text in english.items() if isinstance(text, str) and name in pages}
    lower = {text.lower(): own for text, own in words.items()}
    return {**words, **lower, **sentences(language)}


@cache
def sentences(language: str) -> Mapping[str, str]:
    """Return the texts of a language by the English texts: of terminals, and of reasons."""
    return {**_table(f"reasons/{language}"), **_table(f"terminal/{language}")}


def _table(name: str) -> dict[str, Any]:
    import json  # the help of a command needs no table
    from importlib import resources

    file = resources.files("fairtrial").joinpath("reports", "assets", "texts", f"{name}.json")
    table: dict[str, Any] = json.loads(file.read_bytes())
    return table
