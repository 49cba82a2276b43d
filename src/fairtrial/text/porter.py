"""Porter's stemmer of English words, with the extensions of NLTK that ROUGE users compare with.

Rule source: Porter (1980), "An algorithm for suffix stripping", Program 14(3). NLTK adds irregular words, other endings
for short words and for `y`, and four endings to step 2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

_IRREGULAR: Final = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}
_STEP_2: Final = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
    "logi": "log",
}
_STEP_3: Final = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4: Final = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion"),
        *("ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    ),
    "",
)
_SHAPES: Final = str.maketrans({chr(code): "v" if chr(code) in "aeiou" else "c" for code in range(128)} | {"y": "y"})


def _by_last_letters(endings: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """Return the endings by their last two letters, the longest first."""
    found: dict[str, list[str]] = {}
    for ending in sorted(endings, key=len, reverse=True):
        found.setdefault(ending[-2:], []).append(ending)
    return found


_STEP_2_LETTERS: Final = _by_last_letters(_STEP_2)
_STEP_3_LETTERS: Final = _by_last_letters(_STEP_3)
_STEP_4_LETTERS: Final = _by_last_letters(_STEP_4)
_CHANGED: Final = frozenset(("ed", "ng", "ll", *_STEP_2_LETTERS, *_STEP_3_LETTERS, *_STEP_4_LETTERS))
"""The last two letters of words that a step changes, except words in -e, -s and -y."""


def stem(word: str) -> str:
    """Return an ASCII word's stem in lower case."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    last = word[-1:]
    if len(word) <= 2 or not (last in "esy" or word[-2:] in _CHANGED):
        return word
    if last == "s":
        word = _without_plural(word)
    if word[-1] in "dg":
        word = _without_past_or_participle(word)
    if word[-1] == "y":
        word = _without_final_y(word)
    if word[-2:] in _STEP_2_LETTERS:
        word = _without_double_suffix(word)
    if word[-2:] in _STEP_3_LETTERS:
        word = _replace_ending(word, _STEP_3, _STEP_3_LETTERS, _is_measured)
    if word[-2:] in _STEP_4_LETTERS:
        word = _replace_ending(word, _STEP_4, _STEP_4_LETTERS, _is_long)
    return _without_final_letters(word) if word[-1:] in "el" else word


def _shape(word: str) -> str:
    """Return `c` for each consonant and `v` for each vowel. A `y` is a vowel if it follows a consonant."""
    shape = word.translate(_SHAPES)
    while (place := shape.find("y")) >= 0:
        shape = f"{shape[:place]}{'v' if shape[place - 1 : place] == 'c' else 'c'}{shape[place + 1 :]}"
    return shape


def _measure(word: str) -> int:
    """Return Porter's m: how often a consonant follows a vowel."""
    return _shape(word).count("vc")


def _is_measured(root: str, _: str) -> bool:
    return _measure(root) > 0


def _is_long(root: str, ending: str) -> bool:
    return _measure(root) > 1 and (ending != "ion" or root[-1] in "st")


def _is_short(word: str) -> bool:
    """Whether a word ends like `hop`: consonant, vowel, and a consonant that is none of w, x, y."""
    shape = _shape(word)
    return (shape.endswith("cvc") and word[-1] not in "wxy") or shape == "vc"


def _replace_ending(
    word: str,
    endings: Mapping[str, str],
    by_letters: Mapping[str, Sequence[str]],
    is_allowed: Callable[[str, str], bool],
) -> str:
    """Replace the longest known ending, if its root allows it."""
    for ending in by_letters[word[-2:]]:
        if word.endswith(ending):
            root = word[: -len(ending)]
            return root + endings[ending] if is_allowed(root, ending) else word
    return word


def _without_plural(word: str) -> str:
    """Apply step 1a."""
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-2] if word.endswith("sses") else word[:-1]


def _without_past_or_participle(word: str) -> str:
    """Apply step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        root = word.removesuffix(ending)
        if root != word and "v" in _shape(root):
            return _restore_ending(root)
    return word


def _restore_ending(root: str) -> str:
    """Return a root as it was before -ed or -ing, for example `hope` of `hop` in `hoping`."""
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if len(root) > 1 and root[-1] == root[-2] and _shape(root)[-1] == "c":
        return root if root[-1] in "lsz" else root[:-1]
    return root + "e" if _measure(root) == 1 and _is_short(root) else root


def _without_final_y(word: str) -> str:
    """Apply step 1c: a final `y` after a consonant becomes `i`, unless the consonant begins the word."""
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and _shape(word)[-2] == "c" else word


def _without_double_suffix(word: str) -> str:
    """Apply step 2. What -alli leaves is looked at again."""
    if word.endswith("alli") and _measure(word[:-4]):
        return _without_double_suffix(word[:-2])
    return _replace_ending(word, _STEP_2, _STEP_2_LETTERS, _is_measured_for_step_2)


def _is_measured_for_step_2(root: str, ending: str) -> bool:
    return _measure(root + "l" if ending == "logi" else root) > 0


def _without_final_letters(word: str) -> str:
    """Apply steps 5a and 5b: a final `e` and a double `l` ending a long word."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _is_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
