"""Lists in a text, "a mug, a kettle and a lamp", and which of their members a reply names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from fairtrial.text.facts.memory import remember_short
from fairtrial.text.lazy_pattern import LazyPattern

_FEWEST = 3
_MOST = 60
"""The number of lists of a text that are read."""
_ENGLISH_BREAK = LazyPattern(r"[,;\s](?:(?:(?<=,)\s+|(?<=\s)\s*)(?:and|or)\s+|(?<=[,;])\s+)")
_CJK_BREAK = LazyPattern(
    r"\s*[、・·]\s*|,\s+|[,，](?=[가-힣])|(?<=[가-힣])(?:와|과|랑|하고)\s+|\s+(?:및|그리고)\s+"
    r"|(?<=[\u30a0-\u30ff\u4e00-\u9fffA-Z])[とや](?=[\u30a0-\u30ff\u4e00-\u9fff])|[和与與跟及或](?=[\u4e00-\u9fffA-Z])"
)
_PHRASE = LazyPattern(r"[.!?:;。！？：\n()（）\s](?:(?<=[!?:。！？：\n()（）])|(?<=[.;])(?=\s|$)|(?<=\s)[-–]\s)")
_WORD = LazyPattern(r"[a-z][a-z0-9'-]*")
_ENGLISH = LazyPattern(r"[A-Za-z]")
_CJK = LazyPattern(r"[\u3040-\u30ff\u4e00-\u9fff가-힣]")
_STOP = frozenset(
    "a an the your our my his her their its some any this that of for with in on at to from by is are was were be as it "
    "also only both all each one two three four five new you we they i".split()
)
_LONGEST = 40
"""The number of characters of a member at most."""


_OPEN_END = LazyPattern(r"(?i)\s*(?:etc|so on|so forth|the like)\.?\s*")
_OPEN_END_BEHIND = LazyPattern(r"(?i)[,;]?\s*(?:and\s+)?(?:etc|so on|so forth|the like)\b")
"""What ends a list that names some members alone."""


class Member(NamedTuple):
    """A member of a list: its place, and the forms by which a text may name it."""

    start: int
    end: int
    forms: frozenset[str]


List = tuple[Member, ...]


_new_member: Callable[[tuple[int, int, frozenset[str]]], Member] = partial(tuple.__new__, Member)


class ListAgreement(NamedTuple):
    """A list of a reference: the members that a reply lacks, those that only its list has, and their numbers."""

    missing: tuple[Member, ...]
    additional: tuple[Member, ...]
    sizes: tuple[int, int]
    begins_otherwise: bool


def compare_lists(reference: str, reply: str) -> list[ListAgreement]:
    """Compare each list of three members or more with the list of the reply that shares most of its members.

    Two lists are compared if they share two members or more, and at least half of those of the reference.
    """
    expected = [item for item in find_lists(reference) if len(item) >= _FEWEST]
    if not expected:
        return []
    small, small_reference = reply.lower(), reference.lower()
    candidates = find_lists(reply)
    hits: list[ListAgreement] = []
    for members in expected:
        counterpart = max(candidates, key=lambda item: _shared(members, item), default=())
        shared = _shared(members, counterpart)
        if shared < 2 or 2 * shared < len(members):
            continue
        missing = tuple(member for member in members if not _names(small, member))
        is_open = _OPEN_END_BEHIND.match(reference, members[-1].end)
        additional = tuple(member for member in counterpart if not is_open and not _names(small_reference, member))
        hits.append(ListAgreement(missing, additional, (len(members), len(counterpart)), counterpart[0] in additional))
    return hits


@remember_short
def find_lists(text: str) -> tuple[List, ...]:
    """Return the lists of a text, those of two members too."""
    lists: list[List] = []
    is_ascii = text.isascii()
    start = 0
    for match in [*_PHRASE.finditer(text), None]:
        end = match.start() if match else len(text)
        pattern = _CJK_BREAK if not is_ascii and _CJK.search(text, start, end) else _ENGLISH_BREAK
        cuts = list(pattern.finditer(text, start, end))
        if cuts:
            edges = [start, *(edge for cut in cuts for edge in cut.span()), end]
            lists += _split(text, list(zip(edges[::2], edges[1::2], strict=True)))
        start = match.end() if match else end
        if len(lists) >= _MOST:
            break
    return tuple(lists)


def _split(text: str, places: list[tuple[int, int]]) -> list[List]:
    """Return the members at places. Only the end of the first and the beginning of the last belong to the list."""
    if len(places) > 1 and _OPEN_END.fullmatch(text, *places[-1]):
        places = places[:-1]
    last = len(places) - 1
    if any(end - start > _LONGEST for start, end in places[1:-1]):
        return []
    members = [
        _new_member((start, end, forms))
        for number, (start, end) in enumerate(places)
        if (forms := _forms(text[start:end].lower(), first=number == 0, last=number == last))
    ]
    return [tuple(members)] if len(members) == len(places) else []


_COUNTRIES = (
    (LazyPattern(r"\b(?:united states|u\.s\.|usa\b)"), frozenset({"united states", "u.s.", "usa"})),
    (
        LazyPattern(r"\b(?:united kingdom|great britain|u\.k\.|uk\b)"),
        frozenset({"united kingdom", "great britain", "u.k."}),
    ),
)
"""Countries whose long and short names have no letters in common."""


def _forms(text: str, *, first: bool, last: bool) -> frozenset[str]:
    if not text.isascii() and _CJK.search(text):
        pieces = [piece for piece in text.split() if len(piece) > 1] or [text.strip()]
        if first:
            pieces = pieces[-1:]
        elif last:
            pieces = pieces[:1]
        heads = {piece[:2] for piece in pieces if not first}
        if any(len(piece) < 2 for piece in pieces):
            return frozenset()
        return frozenset(heads | {piece[-2:] for piece in pieces if not last})
    for country, forms in _COUNTRIES:
        if country.search(text):
            return forms
    words = [word for word in _WORD.findall(text) if word not in _STOP]
    words = words[-1:] if first else words[:2] if last else words[:4]
    return frozenset(word[:5] for word in words)


def _names(text: str, member: Member) -> bool:
    return any(form in text for form in member.forms)


def _shared(members: List, counterpart: List) -> int:
    return sum(any(member.forms & item.forms for item in counterpart) for member in members)
