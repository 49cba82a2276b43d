"""Find provider keys by their forms, old and new."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache

from fairtrial.text.layers import WORD_SIGNS, find_long_words
from fairtrial.text.redaction import named_keys
from fairtrial.text.redaction.key_forms import KeyForm, measure_entropy, read_forms
from fairtrial.text.redaction.secret_values import is_mixed

LEFT = r"(?<![A-Za-z0-9])"
"""The place where a key may start: after any character except ASCII letters and digits."""
RIGHT = r"(?![A-Za-z0-9_-])"
_SIGN_LENGTH = 40
_FEWEST_CHARACTERS = 7
"""A placeholder such as `sk-aaaa...` has fewer different characters."""
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLACEHOLDER = re.compile(r"example|EXAMPLE|[Yy]our[_-]|YOUR[_-]|x{5}|X{5}|placeholder|1234567890")


_TO_SPACES = str.maketrans(WORD_SIGNS, " " * len(WORD_SIGNS))


def _by_start(forms: Iterable[KeyForm]) -> tuple[tuple[KeyForm, ...], dict[str, tuple[KeyForm, ...]]]:
    """Return the forms whose literals stand inside words, and the others by the first letters of theirs."""
    groups: dict[str, list[KeyForm]] = {}
    for form in forms:
        is_inside = form.literal[0].isalnum() and not form.starts_with_literal
        start = "" if is_inside else form.literal.translate(_TO_SPACES).split()[0][:2]
        groups.setdefault(start, []).append(form)
    inside = tuple(groups.pop("", ()))
    return inside, {start: tuple(group) for start, group in groups.items()}


@cache
def _ensure_compiled(form: KeyForm) -> re.Pattern[str]:
    """Return a form's pattern. Patterns that begin with a literal are searched several times faster."""
    start = re.escape(form.literal)
    if not form.form.startswith(start):
        start = form.literal if form.form.startswith(form.literal) else ""
    return re.compile(f"{start}(?<![A-Za-z0-9]{start})(?:{form.form.removeprefix(start)}){RIGHT}")


FORMS = tuple(form for form in read_forms() if form.literal)
"""The forms that their literals show."""
_FORMS_INSIDE, _FORMS_BY_START = _by_start(FORMS)


def find_signs(text: str) -> list[str]:
    """Return the beginnings of long words with a form's literal, in lower case. The patterns are far slower."""
    places = list(find_long_words(text))
    if not places:
        return []
    words = [text[start:end] for start, end in places]
    literals = {form.literal for form in _possible_forms(" ".join(words))}
    signs = [word[:_SIGN_LENGTH].lower() for literal in literals for word in words if literal in word]
    for place in places:
        signs += [text[start:end][:_SIGN_LENGTH].lower() for start, end, _ in named_keys.find_beside(text, *place)]
    return signs


def _possible_forms(words: str) -> Iterator[KeyForm]:
    """Yield the forms whose literals some words contain."""
    # A set of the beginnings of all words is far faster than a search for each literal.
    starts = {word[:2] for word in words.translate(_TO_SPACES).split()}
    for forms in (_FORMS_INSIDE, *[_FORMS_BY_START[start] for start in _FORMS_BY_START.keys() & starts]):
        for form in forms:
            if form.literal in words:
                yield form


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and owner of each key in a text, without overlaps.

    A key whose checksum does not fit has a typing error, or a newer form. It is found too, and its owner says so.
    Placeholders are not found, for example strings of few distinct characters or with `example` in them.
    """
    end = 0
    for start, stop, detail in sorted(_find_all(text), key=lambda span: (span[0], -span[1])):
        if start >= end:
            yield start, stop, detail
            end = stop


def _find_all(text: str) -> Iterator[tuple[int, int, str]]:
    words = [(text[start:end], start, end) for start, end in find_long_words(text)]
    for _, *place in words:
        yield from named_keys.find_beside(text, *place)
    for form in _possible_forms(" ".join([word for word, _, _ in words])):
        find_all = _ensure_compiled(form).finditer
        for match in (match for word, *place in words if form.literal in word for match in find_all(text, *place)):
            # A literal such as `sig=` is the name of the key, and stays.
            start = match.start() + (len(form.literal) if form.literal[-1] == "=" else 0)
            key = text[start : match.end()]
            drawn = key.rpartition("/")[2] if form.literal[-1] == "/" else key  # before it stands an address
            if len(set(key)) < _FEWEST_CHARACTERS or _PLACEHOLDER.search(drawn) or not _is_random(form, key):
                continue
            mismatch = form.check and not checksum_fits(key)
            yield start, match.end(), f"{form.owner} key" + (", checksum does not fit" if mismatch else "")


def _is_random(form: KeyForm, key: str) -> bool:
    """Return whether a key is as random as its form says. Words in code hardly ever have digits and this entropy."""
    return not form.entropy or (is_mixed(key) and measure_entropy(key) >= form.entropy)


def checksum_fits(token: str) -> bool:
    """Return whether a token's last six characters are the CRC-32 of its body, in base 62."""
    body = token[token.index("_") + 1 :]
    number = zlib.crc32(body[:-6].encode())
    digits = ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        digits = _BASE62[rest] + digits
    return digits == body[-6:]
