"""Stems of words in four languages, which clauses have in common."""

from __future__ import annotations

from functools import lru_cache

_STOP = frozenset(
    (
        "a an the is are was were be been being am do does did has have had will would shall should can "
        "could may might must to of in on at for with and or but by from as it its this that there here "
        "you your we our i my they their he she his her so if then than also just very please not no "
        "never none nor n t s re ve ll d m cannot without unable true nobody everyone everybody someone somebody anyone anybody "
        "아무도 누구도 모두 전원 누군가 的 了 是 在 有 会 會 能 可 以 已 就 也 都 还 還 把 "
        "被 给 給 您 你 我 们 們 不 没 沒 未 无 無 非 并 並 别 別 这 這 那 真 事 实 實"
    ).split()
)
_ENGLISH_ENDINGS = frozenset("ies ed ing es s d".split())
_KOREAN_ENDINGS = frozenset(
    "입니다 합니다 됩니다 습니다 니다 해요 돼요 이에요 예요 어요 아요 세요 하지 되지 지 하고 이고 고 은 는 이 가 을 를 의 에서 에게 에 으로 로 와 과 "
    "도 만 까지 부터".split()
)
_LONGEST_ENDING = 3


def read_stems(words: frozenset[str]) -> frozenset[str]:
    """Return the stems of words in small letters, without those of words that say little."""
    return frozenset(map(_stem, words)) - _NO_STEM


_NO_STEM = frozenset({""})


@lru_cache(maxsize=8192)
def _stem(word: str) -> str:
    """Return the stem of a word, or nothing if the word says little."""
    if word in _STOP:
        return ""
    if word[0].isascii():
        return _cut_ending(word, _ENGLISH_ENDINGS) if len(word) > 4 else word
    if "가" <= word[0] <= "힣":
        if (word[0] in "안못없않아" and len(word) <= 4) or word[0] in "있없않":
            return ""
        return _cut_ending(word, _KOREAN_ENDINGS)[:2]
    return word


def _cut_ending(word: str, endings: frozenset[str]) -> str:
    """Return a word without its longest ending."""
    for size in range(_LONGEST_ENDING, 0, -1):
        if word[-size:] in endings:
            return word[:-size]
    return word
