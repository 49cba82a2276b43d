"""Translate finished English sentences of this package: reasons, warnings and errors that nobody took apart.

A template is an English text with places, for example `{path}: expected {wanted}, got {got}`. The text in a place
stays as it is, because it is a name or a value. A place whose name ends in `_text` holds a sentence itself, and the
places `n` and `m` hold numbers, and `path`, `tool`, `low` and `high` hold no space.

A sentence is translated as a whole or not at all: if a place would hold English words that nothing translates, the
template does not fit. Only the places of `_FOREIGN`, a place behind a colon and a place in quotes may hold the words of
somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from fairtrial.text.languages import ENGLISH, chosen_language, sentences, translations
from fairtrial.text.lazy_pattern import LazyPattern

_PLACE = LazyPattern(r"\{(\w+)\}")
_NUMBER = LazyPattern(r"[0-9][0-9.,]*")
_NAME = LazyPattern(r"\S+")
_LONGEST = 4_000
"""The most characters of a line that is translated. A longer one is the text of somebody else."""
_DEEPEST = 8
_JOINTS = ("; ", ": ")
_FITS = {"n": _NUMBER, "m": _NUMBER, "path": _NAME, "tool": _NAME, "low": _NAME, "high": _NAME}
"""What may stand in places of these names."""
_FOREIGN = frozenset(
    re.findall(
        r"\w+",
        "actual args calculation calls case change condition detail error error_text example fact feature"
        " hint how loss note place quote state text text_text title topic type warning warning_text why",
    )
)
"""Places that hold the words of users, agents and other programs, which stay as they are."""
_PHRASES = ("type_text", "other_text")
"""Places that hold words of this package and nothing else."""
_QUOTES = ("'", '"', "`")
_QUOTED = LazyPattern(r"`[^`]*`|'[^']*'|\"[^\"]*\"")
_JOINING = LazyPattern(
    r"(?<![\w.@/-])(?:(?:an?|the|of|or|and|to|with|is|are|no|not|that|which|it|its|by|for|than)(?=[ ,;:]|$)"
    r"|[0-9][0-9,.]* [a-z]{3,})"
)
"""English words that only a phrase has: an article, a preposition, a conjunction, or a number of things."""
_PLAIN = LazyPattern(r"(?<![\w.@/-])[a-z]{2,} \S")
"""A plain word before another one."""
_THREE = LazyPattern(r"(?<![\w.@/-])(?:[a-z]{2,} ){2}[a-z]{2,}")
"""Three plain words. The name of a case or of a criterion may have two."""
_NAMES = ("name", "names")
_ADVICE = ("; did you mean ", "; for example ")
_FEWEST, _ENOUGH = 2, 8
"""The letters that a template has beside its places: if it begins with a word or with a certain place, and if not."""
_SINGULAR = LazyPattern(r"1 ([a-z]+)((?: [a-z']+){0,9})")
_INDENT = LazyPattern(r"\s*(?:[✓✗!…-] )?")


class _Template(NamedTuple):
    literals: tuple[str, ...]
    places: tuple[str, ...]
    translation: str


def say_sentence(text: str) -> str:
    """Return an English text of this package in the language of the terminal, line by line.

    What no template fits stays English. For example, in Korean `warning: 3 cases failed` is translated, and the name of
    a file is not.
    """
    language = chosen_language()
    if language == ENGLISH or not text:
        return text
    return "\n".join(_line(language, line) for line in text.split("\n"))


@lru_cache(maxsize=4_096)
def _line(language: str, line: str) -> str:
    indent = _INDENT.match(line)
    begin = indent.end() if indent else 0
    if len(line) > _LONGEST or begin == len(line):
        return line
    spaces = len(line) - len(line.lstrip())
    if line.startswith("…", spaces) and (whole := _translate(language, line[spaces:], _DEEPEST)) is not None:
        return line[:spaces] + whole
    return line[:begin] + (_translate(language, line[begin:], _DEEPEST) or line[begin:])


def _translate(language: str, text: str, depth: int) -> str | None:
    """Return the translation of a text as a whole, or of its parts beside a joint. None if there is neither."""
    whole = translations(language).get(text)
    if whole is not None or not depth:
        return whole
    if match := _SINGULAR.fullmatch(text):
        plurals = (f"{{n}} {match[1]}{match[2]}s", f"{{n}} {match[1]}s{match[2]}")
        if plural := next(filter(None, map(sentences(language).get, plurals)), ""):
            return plural.replace("{n}", "1")
    if advice := next((own for own in _ADVICE if own in text), ""):
        place = text.rindex(advice)
        return _join(language, text[:place], "; ", text[place + len("; ") :], depth)
    for template in _templates(language):
        values = _match(template, text)
        if values is not None and (filled := _fill(language, template, values, depth)) is not None:
            return filled
    for joint in _JOINTS:
        head, _, tail = text.partition(joint)
        if tail and (joined := _join(language, head, joint, tail, depth)) is not None:
            return joined
    return None


def _join(language: str, head: str, joint: str, tail: str, depth: int) -> str | None:
    """Return a text of two parts that could be translated, or None.

    One word before a colon is a name or a place: `evals/shop.json: /cases/0: must have 'id'`. A part without an English
    phrase is a name or a value.
    """
    is_name = joint == ": " and " " not in head
    start = None if is_name else _translate(language, head, depth - 1)
    rest = _translate(language, tail, depth - 1)
    if (start is None and rest is None) or (start is None and _is_prose(head)) or (rest is None and _is_prose(tail)):
        return None
    return f"{start or head}{joint}{rest or tail}"


def _fill(language: str, template: _Template, values: Sequence[str], depth: int) -> str | None:
    """Return the translation of a template with its values, or None if a value is a phrase that nothing translates."""
    own = {}
    literals = template.literals
    for before, after, place, value in zip(literals, literals[1:], template.places, values, strict=False):
        is_quoted = before[-1:] in _QUOTES and after[:1] == before[-1:]
        is_free = is_quoted or place in _FOREIGN
        is_phrase = place in _PHRASES or (not is_free and _is_prose(value, place))
        text = _translate(language, value, depth - 1) if is_phrase or place.endswith("_text") else None
        if text is None and is_phrase and not before.endswith(": "):
            return None
        own[place] = text or value
    return _PLACE.sub(lambda match: own[match[1]], template.translation)


def _is_prose(text: str, place: str = "") -> bool:
    """Return whether a text has an English phrase outside of quotes. A place of `_NAMES` may hold two words."""
    bare = _QUOTED.sub("''", text)
    words = _THREE if place in _NAMES else _PLAIN
    return _JOINING.search(bare) is not None or words.search(bare) is not None


def _match(template: _Template, text: str) -> Sequence[str] | None:
    """Return the texts in the places of a template. Each literal is taken where it comes first, in linear time."""
    first, *middle = template.literals
    if not text.startswith(first):
        return None
    values: list[str] = []
    begin = len(first)
    for literal in middle[:-1]:
        end = text.find(literal, begin + 1)
        if end < 0:
            return None
        values.append(text[begin:end])
        begin = end + len(literal)
    end = len(text) - len(middle[-1])
    if end <= begin or not text.endswith(middle[-1]):
        return None
    values.append(text[begin:end])
    pairs = zip(template.places, values, strict=True)
    fits = all(value[-1] != ":" and (name not in _FITS or _FITS[name].fullmatch(value)) for name, value in pairs)
    return values if fits else None


@cache
def _templates(language: str) -> Sequence[_Template]:
    """Return the templates with places. Of several that fit a text, the one with the most letters counts."""
    return sorted(_read_templates(sentences(language)), key=_rank)


def _rank(template: _Template) -> tuple[int, bool, int]:
    free = sum(place not in _FITS for place in template.places)  # `{n} attempts` comes before `{name} attempts`
    return -sum(map(len, template.literals)), "_text" not in "".join(template.places), free


def _read_templates(texts: Mapping[str, str]) -> Iterator[_Template]:
    """Yield the texts with places that say enough: `{a} in {b}` would fit sentences of which it is no part."""
    for english, translation in texts.items():
        pieces = _PLACE.split(english)
        literals, places = tuple(pieces[::2]), tuple(pieces[1::2])
        letters = sum(letter.isalpha() for letter in "".join(literals))
        is_certain = bool(literals[0].strip()) or (places and (places[0] in _FITS or places[0].endswith("_text")))
        if places and letters >= (_FEWEST if is_certain else _ENOUGH) and all(literals[1:-1]):
            yield _Template(literals, places, translation)
