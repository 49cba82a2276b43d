"""Our stems of English words are those of NLTK's PorterStemmer in its default mode, which rouge_score uses."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.text.porter import stem

pytestmark = pytest.mark.peer
porter = pytest.importorskip("nltk.stem.porter", reason="nltk is not installed: make test-peer")

ENDINGS = (
    *("s", "es", "ies", "ied", "ed", "ing", "eed", "y", "ational", "tional", "enci", "anci", "izer", "bli", "abli"),
    *("alli", "entli", "eli", "ousli", "ization", "ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti"),
    *("iviti", "biliti", "fulli", "logi", "icate", "ative", "alize", "iciti", "ical", "ful", "ness", "al", "ance"),
    *("ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism", "ate", "iti"),
    *("ous", "ive", "ize", "e", "ll", "l", "at", "bl", "iz"),
)
_LETTERS = "aeiouybcdlstzwx"


def words_of_the_project() -> list[str]:
    """The words of the pages, modules and tests of this project."""
    root = Path(__file__).parents[2]
    texts = (path for folder in ("docs", "src", "tests") for path in sorted((root / folder).rglob("*.[mp][dy]")))
    return sorted({word for path in texts for word in re.findall(r"[a-z0-9]+", path.read_text("utf-8").lower())})


def generated_words() -> set[str]:
    """Words of the project with every kind of ending, and arbitrary letters with an ending."""
    rng = random.Random(20260102)
    words = set(words_of_the_project())
    for word in sorted(words):
        words |= {word + ending for ending in rng.sample(ENDINGS, 16)}
        words |= {word[: rng.randrange(1, 5)] + rng.choice(ENDINGS) + rng.choice(ENDINGS) for _ in range(4)}
    while len(words) < 310_000:
        beginning = "".join(rng.choices(_LETTERS, k=rng.randrange(1, 9)))
        words.add(beginning + rng.choice(ENDINGS))
    return words


def test_the_stems_of_300_000_words_are_those_of_nltk() -> None:
    """Not one of them differs."""
    theirs = porter.PorterStemmer()
    words = generated_words()
    assert len(words) >= 300_000
    assert [word for word in words if stem(word) != theirs.stem(word)] == []


@given(st.text(st.sampled_from(_LETTERS), max_size=8), st.lists(st.sampled_from(ENDINGS), max_size=3))
def test_the_stem_of_any_word_is_that_of_nltk(beginning: str, endings: list[str]) -> None:
    """Arbitrary letters with up to three endings have the same stem."""
    word = beginning + "".join(endings)
    assert stem(word) == porter.PorterStemmer().stem(word)
