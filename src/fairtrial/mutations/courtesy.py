"""Recognise sentences that state nothing: greetings, thanks, offers of help, regrets, wishes, and openings of lists.

A sentence counts as polite only if a pattern covers it from its first word to its last. For example, "Thank you for
asking." is polite, and "Thank you for your payment of $40." is not. A sentence with a number is never only polite.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import regex

from fairtrial.mutations.sections import sections

if TYPE_CHECKING:
    from fairtrial.text.language import Language

_MARKS = r"[\s\p{P}\p{S}]*"
_NUMBER = regex.compile(r"\p{N}")
_LONGEST = 120
"""The length of the longest sentence that is looked at. Longer ones state something."""


@cache
def _patterns(language: Language) -> list[regex.Pattern[str]]:
    return [regex.compile(rf"{_MARKS}(?:{line}){_MARKS}", regex.I) for line in sections("courtesies.txt")[language]]


@lru_cache(maxsize=256)  # several operators look at the sentences of the same reply
def is_courtesy(sentence: str, language: Language) -> bool:
    """Return whether a sentence is only polite, for example "Is there anything else I can help you with?"."""
    if len(sentence) > _LONGEST or _NUMBER.search(sentence):
        return False
    text = sentence.replace("’", "'").strip()
    return any(pattern.fullmatch(text) for pattern in _patterns(language))


_OPENINGS: Mapping[Language, regex.Pattern[str]] = {
    "en": regex.compile(
        rf"{_MARKS}(?:(?:sure|great|certainly|of course|alright|okay)\W+)?(?:here (?:are|is|they are|it is)|here's)\b"
        rf"[\w '’,()-]{{0,80}}[:.!]?\s*"
        rf"|{_MARKS}(?:the|your) [\w ]{{1,60}} (?:are|is)(?: as follows| the following)?:\s*",
        regex.I,
    ),
    "ko": regex.compile(
        rf"{_MARKS}(?:다음|아래|이하)(?:은|는)[\p{{Hangul}}\w ]{{0,40}}(?:입니다|이에요|예요)[:：.]?\s*"
        rf"|{_MARKS}[\p{{Hangul}}\w ]{{0,40}}(?:다음|아래|이하)(?:와|과) 같(?:습니다|아요)[:：.]?\s*"
    ),
    "ja": regex.compile(
        rf"{_MARKS}(?:以下|次|下記)(?:は|が)[^。！？!?]{{0,40}}(?:です|になります|でございます)[:：。]?\s*"
        rf"|{_MARKS}[^。！？!?]{{0,40}}(?:以下|次|下記)の(?:通り|とおり|ように)(?:です|になります|となります)?[:：。]?\s*"
    ),
    "zh": regex.compile(
        rf"{_MARKS}(?:以下|下面|这|這)(?:是|为|為)[^。！？!?]{{0,40}}[:：]\s*|{_MARKS}[^。！？!?]{{0,40}}如下[:：。]?\s*"
    ),
}
"""How a sentence opens a list: "Here are your options:", "예약 내역은 다음과 같습니다:"."""


def states_nothing(sentence: str, language: Language) -> bool:
    """Return whether a sentence is only polite, or only opens a list, so that its negation is no wrong statement."""
    if is_courtesy(sentence, language):
        return True
    is_short = len(sentence) <= _LONGEST and not _NUMBER.search(sentence)
    return is_short and _OPENINGS[language].fullmatch(sentence) is not None
