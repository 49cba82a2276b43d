"""Search for the kinds of secrets in a text. Short signs show them before any pattern searches."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple

from fairtrial.text.layers import decode_layers, find_base64, has_long_word, signs_of_layers
from fairtrial.text.redaction.secret_names import lower

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

SecretKind = Literal["private_key", "connection_string", "provider_key", "jwt", "pair", "email"]
PersonalKind = Literal["person", "card", "account", "phone", "ip_address", "home"]
Kind = SecretKind | PersonalKind

LAYERS = 4
"""Secrets are found inside this many encodings, for example in base64 in a URL in JSON in JSON."""
NUMBER = r"\d"
"""A number sign. A text has it if `may_hold_number` is true."""
_MANY_SIGNS = 100
"""With more signs than this, a look for each of them takes longer than the patterns."""
_AT = re.compile(r"@(?<=[^\s/\"'<>]@)[\w\[]")
_DIGITS = re.compile(r"\d[\d .:()/-]{4}|[0-9A-Fa-f]{3}:[0-9A-Fa-f]{0,4}:|\d [A-D]\b")


class Finder(NamedTuple):
    """A kind of secret, the text signs that may hold such secrets, and the secrets themselves.

    A sign is text in lower case, for example `password`. `find_signs` gets a text, and the text in lower case. `find`
    gets a text and all search signs, and yields nothing from a text without a sign.
    """

    kind: Kind
    find_signs: Callable[[str, str], Collection[str]]
    find: Callable[[str, Collection[str]], Iterator[Span]]
    in_long_words: bool = False
    """Whether each such secret stands in a word of `has_long_word`."""


def find_literals(*literals: str) -> Callable[[str, str], list[str]]:
    """Return a function that returns those of some literals that a text contains, in lower case."""
    if len(literals) == 1:
        (literal,) = literals
        return lambda text, _: [literal.lower()] if literal in text else []
    return lambda text, _: [literal.lower() for literal in literals if literal in text]


def signs_of_addresses(text: str, _: str) -> list[str]:
    """Return the signs of e-mail addresses and of passwords in URLs."""
    return [text[match.start() - 1 : match.end()].lower() for match in _AT.finditer(text)] if "@" in text else []


class Search:
    """The search in a text, or in text parts: which finders it needs, and which parts may hold a secret."""

    def __init__(self, finders: Sequence[Finder], text: str) -> None:
        self.finders: tuple[tuple[Finder, frozenset[str]], ...] = ()
        """The finders that may find something, each with its signs."""
        self._has_numbers = False
        self._signs: tuple[str, ...] = ()
        found = _find_signs(finders, text)
        inner = [_find_signs(finders, inner) for inner in _inner_texts(text)]
        self.has_layers = any(map(any, inner))
        """Whether a text in another encoding may hold a secret."""
        if not self.has_layers and not any(found):  # most texts
            return
        kinds = [_union(*signs) for signs in zip(found, *inner, strict=True)]
        self.finders = tuple((finder, signs) for finder, signs in zip(finders, kinds, strict=True) if signs)
        signs = _union(*kinds, signs_of_layers(text) if self.has_layers else ())
        self._has_numbers = NUMBER in signs
        self._signs = tuple(signs - {NUMBER}) if len(signs) <= _MANY_SIGNS else ("",)

    def may_find(self, text: str) -> bool:
        """Return whether some text part may hold a secret. Most parts hold no sign."""
        lowered = lower(text)
        for sign in self._signs:
            if sign in lowered:
                return True
        return self._has_numbers and may_hold_number(text)


def has_signs(finders: Sequence[Finder], text: str) -> bool:
    """Return whether a text, or a text in one of its layers, has a sign. This is faster than a whole `Search`."""
    lowered = lower(text)
    has_runs = has_long_word(text)
    for finder in finders:
        if (has_runs or not finder.in_long_words) and finder.find_signs(text, lowered):
            return True
    if not has_runs and "\\" not in text and "%" not in text and text.isascii():
        return False  # no layer can be in it
    return any(any(_find_signs(finders, inner)) for inner in _inner_texts(text))


def may_hold_number(text: str) -> bool:
    """Return whether a text may hold a number for a person, a card, an account, a telephone or a machine."""
    return _DIGITS.search(text) is not None


def _union(*groups: Iterable[str]) -> frozenset[str]:
    return frozenset(chain(*groups))


def _find_signs(finders: Sequence[Finder], text: str) -> list[Collection[str]]:
    """Return the signs in a text for each finder."""
    lowered = lower(text)
    return [finder.find_signs(text, lowered) for finder in finders]


def _inner_texts(text: str) -> Iterator[str]:
    """Yield the texts in all layers. All texts in base64 of one layer are one text."""
    seen = {text}
    texts = [text]
    for _ in range(LAYERS):
        inner: list[str] = []
        for outer in texts:
            inner += [layer.text for layer in decode_layers(outer)]
            inner += ["\n".join(runs)] if (runs := [run.text for run in find_base64(outer)]) else []
        texts = [part for part in dict.fromkeys(inner) if part and part not in seen] if inner else []
        if not texts:
            return
        yield from texts
        seen.update(texts)
