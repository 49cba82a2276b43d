"""How much do two texts share? ROUGE-1, ROUGE-2 and ROUGE-L over tokens of any script.

The tokens and the stemming are those of google-adk 2.13 (its `_UnicodeAwareTokenizer` over rouge_score 0.1.2), so that
the numbers are the same to the last bit. Source of the measure: Lin (2004), "ROUGE: A Package for Automatic Evaluation
of Summaries", ACL W04-1013.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.text.porter import stemmer

RougeType = Literal["rouge1", "rouge2", "rougeL"]
Tokens = Literal["characters", "words"]

_CJK = ((0x4E00, 0x9FFF), (0x3040, 0x30FF), (0xAC00, 0xD7AF))
_UNSPACED = ((0x0E00, 0x0EFF), (0x1780, 0x17FF), (0x1000, 0x109F))


class Rouge(NamedTuple):
    """Precision, recall and their harmonic mean, each in 0..1; all 0 where a side has no tokens."""

    precision: float
    recall: float
    f: float


class _Spacing(dict[int, str]):
    """What each character becomes before the text is split at spaces; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        self[code] = spaced = _spaced(chr(code))
        return spaced


def _spaced(char: str) -> str:
    code = ord(char)
    if any(low <= code <= high for low, high in _CJK):
        return f" {char} "
    mark = unicodedata.category(char).startswith("M")
    if any(low <= code <= high for low, high in _UNSPACED):
        return char if mark else f" {char}"
    return char if mark or char.isalnum() else " "


_SPACING = _Spacing()


def characters(text: str) -> list[str]:
    """Return words, stemmed where they are plain ASCII of more than three letters; scripts without spaces by character.

    The text is taken in NFKC and lower case. Chinese characters, kana and Hangul syllables are tokens of their own;
    Thai, Lao, Khmer and Myanmar are cut before each base character; everything but letters, digits and marks separates.
    """
    words = unicodedata.normalize("NFKC", text).lower().translate(_SPACING).split()
    return list(map(_stem, words))


def words(text: str) -> list[str]:
    """Return the words of a text, those of Chinese, Japanese and Thai found with ICU's dictionaries.

    Korean is cut at spaces, as it is written. ASCII words are stemmed as in `characters`. Needs the extra `words`.
    """
    breaker = _word_breaker()
    pieces = breaker(unicodedata.normalize("NFKC", text).lower(), "und")
    return [_stem(piece) for piece in pieces if _is_word(piece)]


def require_words() -> None:
    """Raise ConfigError where the extra `words` is not installed."""
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
    """What each word becomes: its stem, where it is plain ASCII of more than three letters; filled as words are met."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _STEMS_KEPT:
            self.clear()
        self[word] = stem = str(stemmer().stem(word)) if len(word) > 3 and word.isascii() else word
        return stem


_STEMS_KEPT = 200_000
_stem = _Stems().__getitem__


def rouge(candidate: Sequence[str], reference: Sequence[str], *, kind: RougeType = "rouge1") -> Rouge:
    """Return the overlap of two token lists: clipped unigrams, clipped bigrams, or the longest common subsequence."""
    if kind == "rougeL":
        overlap, left, right = _longest_common(candidate, reference), len(candidate), len(reference)
    else:
        n = 1 if kind == "rouge1" else 2
        ours, theirs = _ngrams(candidate, n), _ngrams(reference, n)
        shared = ours.keys() & theirs.keys()
        overlap = sum(map(min, map(ours.__getitem__, shared), map(theirs.__getitem__, shared)))
        left, right = max(0, len(candidate) - n + 1), max(0, len(reference) - n + 1)
    if not overlap:
        return Rouge(0.0, 0.0, 0.0)
    precision, recall = overlap / left, overlap / right
    return Rouge(precision, recall, 2 * precision * recall / (precision + recall))


def _ngrams(tokens: Sequence[str], n: int) -> Counter[Any]:
    return Counter(tokens) if n == 1 else Counter(pairwise(tokens))


def _longest_common(left: Sequence[str], right: Sequence[str]) -> int:
    """Length of the longest common subsequence, a word of bits for each row (Hyyrö 2004, "Bit-parallel LCS")."""
    places: dict[str, int] = {}
    for i, token in enumerate(left):
        places[token] = places.get(token, 0) | 1 << i
    full = (1 << len(left)) - 1
    row = full
    for token in right:
        match = row & places.get(token, 0)
        row = ((row + match) | (row - match)) & full
    return len(left) - row.bit_count()
