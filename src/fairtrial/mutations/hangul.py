"""Hangul syllables and Korean particles, which change with the word before them."""

from __future__ import annotations

_FIRST, _LAST, _TAILS = 0xAC00, 0xD7A3, 28
RIEUL, BIEUP, SSANG_SIOT = 8, 17, 20
"""The numbers of the final consonants ㄹ, ㅂ and ㅆ."""
_OPEN_DIGITS, _CLOSED_DIGITS = "2459", "013678"
"""Digits whose Korean names end in a vowel (이, 사, 오, 구), and in a consonant."""
_OPEN_SIGNS = "%％℃°"
"""퍼센트 and 도 end in a vowel."""

_COPULAS = ("이에요", "예요")
"""The copula after a consonant, and after a vowel."""
_PAIRS = {
    "은": "은는",
    "는": "은는",
    "이": "이가",
    "가": "이가",
    "을": "을를",
    "를": "을를",
    "과": "과와",
    "와": "과와",
}


def is_syllable(char: str) -> bool:
    """Return whether a character is a Korean syllable."""
    return len(char) == 1 and _FIRST <= ord(char) <= _LAST


def tail(char: str) -> int:
    """Return the number of the final consonant of a syllable, 0 if it ends in a vowel."""
    return (ord(char) - _FIRST) % _TAILS


def with_tail(char: str, number: int) -> str:
    """Return a syllable with another final consonant."""
    return chr(ord(char) - tail(char) + number)


def ends_in_consonant(word: str) -> bool | None:
    """Return whether a word is pronounced with a final consonant, or None if its pronunciation is not known."""
    last = word[-1:]
    if is_syllable(last):
        return tail(last) > 0
    if last.isdecimal():
        return str(int(last)) in _CLOSED_DIGITS
    return False if last and last in _OPEN_SIGNS else None


def with_particle(word: str, rest: str) -> str:
    """Return the text after a word that was replaced, with the form of its particle that fits the new word.

    For example, "이 아닙니다" after "4" is "가 아닙니다". A word whose pronunciation is not known keeps the particle.
    """
    closed = ends_in_consonant(word)
    if closed is not None and rest.startswith(_COPULAS):
        return (_COPULAS[0] if closed else _COPULAS[1]) + rest[len("이에요" if rest[0] == "이" else "예요") :]
    particle, after = rest[:1], rest[1:2]
    if closed is None or particle not in _PAIRS or is_syllable(after):
        return rest
    return _PAIRS[particle][0 if closed else 1] + rest[1:]
