"""Word overlap of two texts: ROUGE-1, ROUGE-2 and ROUGE-L over tokens of any script.

The tokens and the stemming are those of google-adk 2.13 (its `_UnicodeAwareTokenizer` over rouge_score 0.1.2), so that
the numbers are the same to the last bit. Measure source: Lin (2004), "ROUGE: A Package for Automatic Evaluation of
Summaries", ACL W04-1013.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.text.porter import stem

RougeType = Literal["rouge1", "rouge2", "rougeL"]
Tokens = Literal["characters", "words"]

_CJK = ((0x4E00, 0x9FFF), (0x3040, 0x30FF), (0xAC00, 0xD7AF))
_CJK_RUN = re.compile(f"[{''.join(f'{chr(low)}-{chr(high)}' for low, high in _CJK)}]+")
_UNSPACED = ((0x0E00, 0x0EFF), (0x1780, 0x17FF), (0x1000, 0x109F))


class Rouge(NamedTuple):
    """Precision, recall and their harmonic mean, each in 0..1. All are 0 if a side has no tokens."""

    precision: float
    recall: float
    f: float


class _Spacing(dict[int, str]):
    """The replacement of each character before a text is split at spaces. Replacements are computed once."""

    def __missing__(self, code: int) -> str:
        self[code] = replacement = _replacement(chr(code))
        return replacement


def _replacement(char: str) -> str:
    code = ord(char)
    if any(low <= code <= high for low, high in _CJK):
        return f" {char} "
    mark = unicodedata.category(char).startswith("M")
    if any(low <= code <= high for low, high in _UNSPACED):
        return char if mark else f" {char}"
    return char if mark or char.isalnum() else " "


_SPACING = _Spacing()


def characters(text: str) -> list[str]:
    """Return a text's tokens: words, and single characters of scripts without spaces.

    The text is normalised by NFKC and put in lower case. ASCII words of more than three letters are stemmed. Chinese
    characters, kana and Hangul syllables are tokens of their own. Thai, Lao, Khmer and Myanmar are cut before each base
    character. All characters except letters, digits and marks separate tokens.
    """
    words = unicodedata.normalize("NFKC", text).lower().translate(_SPACING).split()
    return list(map(_stem, words))


def count_characters(text: str) -> Counter[str]:
    """Return how often each of the tokens of `characters` is in a text. Chinese, Japanese and Korean are not cut."""
    normal = unicodedata.normalize("NFKC", text).lower()
    if normal.isascii() or not _CJK_RUN.search(normal):
        return Counter(map(_stem, normal.translate(_SPACING).split()))
    counts = Counter(normal)
    rest = _CJK_RUN.sub(" ", normal)
    for char in set(rest):
        counts.pop(char, None)
    if not rest.isspace():
        counts.update(map(_stem, rest.translate(_SPACING).split()))
    return counts


def words(text: str) -> list[str]:
    """Return a text's words. ICU's dictionaries find the words of Chinese, Japanese and Thai.

    Korean is cut at its spaces. ASCII words are stemmed as in `characters`. This needs the extra `words`.
    """
    breaker = _word_breaker()
    pieces = breaker(unicodedata.normalize("NFKC", text).lower(), "und")
    return [_stem(piece) for piece in pieces if _is_word(piece)]


def remember_tokens(text: str, kind: Tokens) -> Sequence[str]:
    """Return a text's tokens, which are remembered if the text is short. Many replies share a reference."""
    return _remember_text(text, kind) if len(text) <= _LONGEST_REMEMBERED else _TOKENIZERS[kind](text)


def remember_counts(text: str) -> Counter[str]:
    """Return what `count_characters` returns, which is remembered if the text is short."""
    return _remember_counts(text) if len(text) <= _LONGEST_REMEMBERED else count_characters(text)


_remember_counts = lru_cache(maxsize=2048)(count_characters)  # the references of a thousand cases, in at most 40 MB


@lru_cache(maxsize=256)
def _remember_text(text: str, kind: Tokens) -> tuple[str, ...]:
    return tuple(_TOKENIZERS[kind](text))


_LONGEST_REMEMBERED = 2000
_TOKENIZERS: Mapping[Tokens, Callable[[str], list[str]]] = {"characters": characters, "words": words}


def require_words() -> None:
    """Raise ConfigError if the extra `words` is not installed."""
    try:
        _word_breaker()
    except ImportError:
        raise ConfigError(lacks_extra("tokens 'words'", "words")) from None


def _is_word(piece: str) -> bool:
    return any(char.isalnum() for char in piece)


@cache
def _word_breaker() -> Any:
    from icu4py.breakers import WordBreaker

    return WordBreaker


class _Stems(dict[str, str]):
    """The stem of each ASCII word of more than three letters. Other words are their own stems."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_STEMS:
            self.clear()
        self[word] = found = stem(word) if len(word) > 3 and word.isascii() else word
        return found


_MOST_STEMS = 200_000
_stem = _Stems().__getitem__


def rouge(candidate: Sequence[str], reference: Sequence[str], *, kind: RougeType = "rouge1") -> Rouge:
    """Return the overlap of two token lists: clipped unigrams, clipped bigrams, or the longest common subsequence."""
    if kind == "rougeL":
        return _quotients(_longest_common(candidate, reference), len(candidate), len(reference))
    if kind == "rouge2":
        return overlap(Counter(pairwise(candidate)), Counter(pairwise(reference)))
    return overlap(Counter(candidate), Counter(reference))


def overlap(candidate: Counter[Any], reference: Counter[Any]) -> Rouge:
    """Return the clipped overlap of two counts."""
    common = 0
    find = candidate.get
    for token, count in reference.items():
        ours = find(token, 0)
        common += count if count < ours else ours  # noqa: FURB136  # min() takes twice as long
    return _quotients(common, candidate.total(), reference.total())


def _quotients(common: int, most_ours: int, most_theirs: int) -> Rouge:
    if not common:
        return Rouge(0.0, 0.0, 0.0)
    # The harmonic mean of both is this quotient. As a product of rounded ratios, 12 / 15 would be below 0.8.
    return Rouge(common / most_ours, common / most_theirs, 2 * common / (most_ours + most_theirs))


def _longest_common(candidate: Sequence[str], reference: Sequence[str]) -> int:
    """Return how long the longest common subsequence is (Hyyrö 2004, "Bit-parallel LCS": a row is a number)."""
    places: dict[str, int] = {}
    for i, token in enumerate(candidate):
        places[token] = places.get(token, 0) | 1 << i
    full = (1 << len(candidate)) - 1
    row = full
    for token in reference:
        match = row & places.get(token, 0)
        row = ((row + match) | (row - match)) & full
    return len(candidate) - row.bit_count()
