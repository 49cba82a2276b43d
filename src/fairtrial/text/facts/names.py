"""Names that a reply replaces: the same sentence with another city, country or person in the place of a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import count
from operator import add
from typing import NamedTuple
from unicodedata import combining, normalize

from fairtrial.text.facts.memory import remember_short
from fairtrial.text.facts.name_forms import are_names
from fairtrial.text.facts.word_patterns import StartPattern, alternatives, split_sentences
from fairtrial.text.lazy_pattern import LazyPattern

_TOKEN = LazyPattern(
    r"[\u4e00-\u9fff]|[\u3041-\u309f]+|[가-힣]+|[\u30a0-\u30ff]+|[A-Za-zÀ-ɏ]+(?:['’][A-Za-z]+)?|\d+(?:[.,:]\d+)*|[^\s\w]"
)
_ASCII_TOKEN = LazyPattern(r"[A-Za-z]+(?:'[A-Za-z]+)?|\d+(?:[.,:]\d+)*|[^\s\w]")
"""Finds the same in a text in ASCII."""
_ALIKE = 0.6
"""The share of tokens that two sentences have in common in the same order if one is a copy of the other."""
_FEWEST_TOKENS = 4
_LONGEST_NAME = 5
_MOST_SENTENCES = 60
_MOST_TOKENS = 120
_PERSON = LazyPattern(r"\s*(?:さん|さま|様|氏|くん|先生|씨|님|고객님|선생|先生|女士|小姐|经理|經理|教授|医生|醫師)")
_FIRST = LazyPattern("[a-z]+")
_TITLE = LazyPattern(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof)\.?)\s*$")


class Replaced(NamedTuple):
    """A name of the reference and the name in its place in the reply, with their places in both texts."""

    start: int
    end: int
    other_start: int
    other_end: int


class _Sentence(NamedTuple):
    start: int
    end: int
    tokens: tuple[str, ...]
    words: frozenset[str]

    def span(self, text: str, first: int, last: int) -> tuple[int, int]:
        """Return the place of the tokens from `first` up to `last` in the text of the sentence."""
        start = end = self.start
        for place, token in enumerate(self.tokens[:last]):
            found_at = text.find(token, end)
            end = found_at + len(token)
            if place == first:
                start = found_at
        return start, end


_new_sentence: Callable[[tuple[int, int, tuple[str, ...], frozenset[str]]], _Sentence] = partial(
    tuple.__new__, _Sentence
)


def replaced_names(reference: str, reply: str, names: Iterable[str] = ()) -> list[Replaced]:
    """Return the names of a reference that a reply replaces in a sentence that is otherwise nearly the same.

    A run of words is a name if it is a city or a country of CLDR, or one of `names`. It is also a name if it stands
    beside a title such as 様 or "Mr", or if both texts write it with a capital letter inside a sentence. Only the first
    60 sentences are compared.
    """
    sentences = _sentences(reference)
    if reference == reply or not any(len(sentence.tokens) >= _FEWEST_TOKENS for sentence in sentences):
        return []
    expected = [sentence for sentence in sentences if _may_be_repeated(sentence, reply)]
    actual = _sentences(reply) if expected else ()
    certain = frozenset(name.lower() for name in names)
    hits: list[Replaced] = []
    for sentence in expected:
        counterpart = _most_alike(sentence, actual)
        if (
            counterpart is not None
            # A name is replaced only if both sentences have a word that the other lacks.
            and not sentence.words <= counterpart.words
            and not counterpart.words <= sentence.words
            and (certain or _may_hold_names(sentence, counterpart))
        ):
            hits += _compare_sentences(sentence, counterpart, reference, reply, certain)
    return hits


def _most_alike(sentence: _Sentence, counterparts: Iterable[_Sentence]) -> _Sentence | None:
    """Return the first of the sentences that share the most words with a sentence, if these are enough for a copy."""
    best, most, words = None, 0.0, sentence.words
    size = len(words)
    for item in counterparts:
        share = len(words & item.words) / max(size, len(item.words))
        if share > most and share >= _ALIKE:
            best, most = item, share
    return best


def _may_hold_names(sentence: _Sentence, counterpart: _Sentence) -> bool:
    """Return whether a word that only one of two sentences has may be a name: no small Latin letters and no number."""
    for word in sentence.words ^ counterpart.words:
        if word[0].isupper() or word[-1] > "\u02ff":
            return True
    return not sentence.words.isdisjoint(_TITLES)


_TITLES = frozenset(("Mr", "Mrs", "Ms", "Dr", "Prof"))


def _may_be_repeated(sentence: _Sentence, reply: str) -> bool:
    """Return whether enough words of a sentence occur in a reply, so that it may have a copy of the sentence."""
    words = sentence.words
    return len(words) - sum(map(reply.__contains__, words)) <= len(words) * (1 - _ALIKE) + 1e-9


def exchanged_names(reference: str, reply: str, groups: Iterable[frozenset[str]]) -> list[Replaced]:
    """Return the names of a reference that a reply lacks, each with a name of the same group that only the reply has.

    The groups are names that exclude one another, such as the customers of a tool result. Capital letters and accents
    do not count: "Muller" is "Müller".
    """
    groups = tuple(groups)
    if not groups:
        return []
    folded, other_folded = _fold(reference), _fold(reply)
    hits: list[Replaced] = []
    for names in groups:
        only_expected = [name for name in names if _place(name, reference) and _fold(name) not in other_folded]
        only_actual = [name for name in names if _place(name, reply) and _fold(name) not in folded]
        for name, counterpart in zip(sorted(only_expected), sorted(only_actual), strict=False):
            hits.append(Replaced(*(_place(name, reference) or (0, 0)), *(_place(counterpart, reply) or (0, 0))))
    return hits


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    return "".join(sign for sign in normalize("NFKD", text.casefold()) if not combining(sign))


def _place(name: str, text: str) -> tuple[int, int] | None:
    """Return the offsets of a name in a text, if it stands there as a word of its own."""
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not (name[0].isascii() and _inside_word(text, start, end)):
            return start, end
        start = text.find(name, end)
    return None


@remember_short
def _sentences(text: str) -> tuple[_Sentence, ...]:
    sentences: list[_Sentence] = []
    find_tokens = (_ASCII_TOKEN if text.isascii() else _TOKEN).compiled.findall
    for start, end in split_sentences(text):
        tokens = tuple(find_tokens(text, start, end)[:_MOST_TOKENS])
        if tokens:
            sentences.append(_new_sentence((start, end, tokens, frozenset(tokens))))
        if len(sentences) == _MOST_SENTENCES:
            break
    return tuple(sentences)


def _compare_sentences(
    former: _Sentence, latter: _Sentence, reference: str, reply: str, certain: frozenset[str]
) -> Iterator[Replaced]:
    replacements = _replacements(former.tokens, latter.tokens)
    for a, b, c, d in replacements:
        expected, actual = former.span(reference, a, b), latter.span(reply, c, d)
        name, counterpart = reference[slice(*expected)], reply[slice(*actual)]
        if not (name[0].isalpha() and counterpart[0].isalpha()) or counterpart in reference or name in reply:
            continue
        if (
            # What takes the longest comes last.
            (_is_capital(former, a, b) and _is_capital(latter, c, d))
            or (_PERSON.match(reference, expected[1]) and _PERSON.match(reply, actual[1]))
            or are_names(reference, expected, reply, actual)
            or (_is_name(reference, *expected, certain) or _is_name(reply, *actual, certain))
        ) and not (_fold(counterpart) in _fold(reference) or _fold(name) in _fold(reply)):
            yield Replaced(*expected, *actual)


def _replacements(former: Sequence[str], latter: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Return the short runs of tokens that replace one another, or none if the sentences have little in common."""
    shorter = min(len(former), len(latter))
    first = next((place for place in range(shorter) if former[place] != latter[place]), shorter)
    last = next(
        (place for place in range(shorter - first) if former[-1 - place] != latter[-1 - place]), shorter - first
    )
    middle, other_middle = former[first : len(former) - last], latter[first : len(latter) - last]
    same = first + last
    changes = [(0, len(middle), 0, len(other_middle))]
    if not (middle and other_middle):
        return []
    if not set(middle).isdisjoint(other_middle):
        matches = _matches(middle, other_middle)
        same += sum(size for _, _, size in matches)
        changes = [(a, b, c, d) for a, b, c, d in _gaps(matches, len(middle), len(other_middle)) if a < b and c < d]
    if 2 * same < _ALIKE * (len(former) + len(latter)):
        return []
    return [
        (first + a, first + b, first + c, first + d)
        for a, b, c, d in changes
        if b - a <= _LONGEST_NAME and d - c <= _LONGEST_NAME
    ]


def _matches(former: Sequence[str], latter: Sequence[str]) -> Sequence[tuple[int, int, int]]:
    """Return the runs that two sequences share in the same order: the places in both, and their length.

    If each shared token occurs once in both, and in the same order, all of them match, as difflib finds too, but later.
    """
    place_in_former, place_in_latter = dict(zip(former, count())), dict(zip(latter, count()))
    shared = [token for token in former if token in place_in_latter]
    if len(set(shared)) < len(shared) or shared != [token for token in latter if token in place_in_former]:
        return SequenceMatcher(None, former, latter, autojunk=False).get_matching_blocks()
    return [(place_in_former[token], place_in_latter[token], 1) for token in shared]


def _gaps(
    matches: Sequence[tuple[int, int, int]], length: int, other_length: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the places between matches: from and to in both sequences."""
    start = other_start = 0
    for place, other_place, size in (*matches, (length, other_length, 0)):
        yield start, place, other_start, other_place
        start, other_start = place + size, other_place + size


def _is_capital(sentence: _Sentence, first: int, last: int) -> bool:
    """Return whether words of three letters or more inside a sentence begin with capital letters."""
    return first > 0 and all(
        len(word) > 2 and word[0].isupper() and word[0].isascii() for word in sentence.tokens[first:last]
    )


def _is_name(text: str, start: int, end: int, certain: frozenset[str]) -> bool:
    name = text[start:end].lower()
    if name in certain or _TITLE.search(text[max(0, start - 8) : start]):
        return True
    if name.isascii() and text[start:end].islower():
        return False
    # A name may have signs in common with the name in its place, as 東京 and 北京.
    around = text[max(0, start - 12) : end + 12].lower()
    first = start - max(0, start - 12)
    return _may_hold_place(around) and any(
        match.start() < first + end - start and match.end() > first and not _inside_word(around, *match.span())
        for match in _places().finditer(around)
    )


def _inside_word(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return text[start].isascii() and (before.isalnum() or (after.isascii() and after.isalnum()))


@cache
def _rows() -> dict[str, int]:
    """Return the places by their names in small letters: the same number for each name of a place."""
    from importlib import resources  # takes longer than the rest of the import

    text = (resources.files("fairtrial.text.facts") / "places.txt").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    names: dict[str, int] = {}
    for place, row in enumerate(rows):
        for name in row.split(", "):
            if name.isascii() or len(name) > 1:
                names.setdefault(name, place)
    return names


@cache
def _beginnings() -> tuple[frozenset[str], frozenset[str]]:
    """Return the first Latin words of the places, and the first two signs of those of other scripts."""
    names = _rows()
    words = frozenset(_FIRST.compiled.findall(name)[0] for name in names if "a" <= name[0] <= "z")
    return words, frozenset(name[:2] for name in names if not "a" <= name[0] <= "z")


def _may_hold_place(small: str) -> bool:
    words, pairs = _beginnings()
    return not words.isdisjoint(_FIRST.compiled.findall(small)) or (
        not small.isascii() and not pairs.isdisjoint(map(add, small, small[1:]))
    )


@cache
def _places() -> LazyPattern:
    words, pairs = _beginnings()
    letters = "".join(sorted({word[0] for word in words}))
    signs = "".join(sorted({re.escape(pair[0]) for pair in pairs}))
    return StartPattern(rf"(?<![a-z0-9])[{letters}]|[{signs}]", lambda: alternatives(_rows(), starts=True, ends=True))


def places_in(text: str) -> list[tuple[int, int, int]]:
    """Return the places that a text names: their offsets, and a number for each place, in all of its languages.

    An English name counts only with a capital letter.
    """
    if len(small := text.lower()) != len(text):
        return []
    return [
        (*match.span(), _rows()[match[0].replace("-", " ")])
        for match in _places().finditer(small)
        if match[0].replace("-", " ") in _rows() and (not match[0][0].isascii() or text[match.start()].isupper())
    ]
