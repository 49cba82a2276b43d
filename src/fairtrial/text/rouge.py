"""Word overlap of two texts: ROUGE-1, ROUGE-2 and ROUGE-L over tokens of any script.

The tokens and the stemming are those of google-adk 2.13 (its `_UnicodeAwareTokenizer` over rouge_score 0.1.2), so that
the numbers are the same to the last bit. Source of the measure: Lin (2004), "ROUGE: A Package for Automatic Evaluation
of Summaries", ACL W04-1013.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise, repeat
from typing import Any, Literal, NamedTuple

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.text.porter import stem

RougeType = Literal["rouge1", "rouge2", "rougeL"]
Tokens = Literal["characters", "words"]

_CJK = ((0x4E00, 0x9FFF), (0x3040, 0x30FF), (0xAC00, 0xD7AF))
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
    """Return the tokens of a text: words, and single characters of scripts without spaces.

    The text is normalised by NFKC and put in lower case. ASCII words of more than three letters are stemmed. Chinese
    characters, kana and Hangul syllables are tokens of their own. Thai, Lao, Khmer and Myanmar are cut before each base
    character. All characters except letters, digits and marks separate tokens.
    """
    words = unicodedata.normalize("NFKC", text).lower().translate(_SPACING).split()
    return list(map(_stem, words))


def words(text: str) -> list[str]:
    """Return the words of a text. ICU's dictionaries find the words of Chinese, Japanese and Thai.

    Korean is cut at its spaces. ASCII words are stemmed as in `characters`. This needs the extra `words`.
    """
    breaker = _word_breaker()
    pieces = breaker(unicodedata.normalize("NFKC", text).lower(), "und")
    return [_stem(piece) for piece in pieces if _is_word(piece)]


def remember_tokens(text: str, kind: Tokens) -> Sequence[str]:
    """Return the tokens of a text, which are remembered if the text is short. Many replies share a reference."""
    return _remember_text(text, kind) if len(text) <= _LONGEST_REMEMBERED else _TOKENIZERS[kind](text)


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
        overlap, most_ours, most_theirs = _longest_common(candidate, reference), len(candidate), len(reference)
    else:
        n = 1 if kind == "rouge1" else 2
        ours, theirs = _ngrams(candidate, n), _ngrams(reference, n)
        overlap = sum(map(min, theirs.values(), map(ours.get, theirs, repeat(0))))
        most_ours, most_theirs = max(0, len(candidate) - n + 1), max(0, len(reference) - n + 1)
    if not overlap:
        return Rouge(0.0, 0.0, 0.0)
    # The harmonic mean of both is this quotient. As a product of rounded ratios, 12 / 15 would be below 0.8.
    return Rouge(overlap / most_ours, overlap / most_theirs, 2 * overlap / (most_ours + most_theirs))


def _ngrams(tokens: Sequence[str], n: int) -> Counter[Any]:
    return Counter(tokens) if n == 1 else Counter(pairwise(tokens))


def _longest_common(candidate: Sequence[str], reference: Sequence[str]) -> int:
    """Return the length of the longest common subsequence (Hyyrö 2004, "Bit-parallel LCS": a row is a number)."""
    places: dict[str, int] = {}
    for i, token in enumerate(candidate):
        places[token] = places.get(token, 0) | 1 << i
    full = (1 << len(candidate)) - 1
    row = full
    for token in reference:
        match = row & places.get(token, 0)
        row = ((row + match) | (row - match)) & full
    return len(candidate) - row.bit_count()
