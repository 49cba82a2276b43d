"""Find names of persons in a text, and other names of the same kind.

A name counts only if its form proves it: a known given name before a family name, a title or an honorific beside it.
For example, "Marta Ruiz", "Dr. Ruiz", "김민수 고객님", "田中様" and "张伟先生" are persons. "Grace period" is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import regex

from fairtrial.mutations.sections import sections


class Person(NamedTuple):
    """The place of a name, or of the part of a name that changes, and what may stand there instead."""

    start: int
    end: int
    alternatives: tuple[str, ...]


_NO_SURNAME = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Square|Park|Hall|University|College|Hospital|Hotel|Airport|Station|Bridge|Bank"
    r"|Museum|Library|School|Award|Prize|Law|Act)\b"
)
_KOREAN_TITLE = (
    r"(?<![한은는를을에의된할적])(?=\s?(?:씨(?=[는가를의와께도에\s.,]|\Z)|님|고객|회원|손님|선생|과장|대리"
    r"|부장|팀장|차장|사원|매니저|상담사|기사|교수|박사|원장|의사|변호사|환자))"
)
_JAPANESE_TITLE = r"(?:様|さま|さん|氏|先生|部長|課長|店長|教授|医師)"
_CHINESE_TITLE = r"(?:先生|女士|小姐|经理|經理|教授|医生|醫生|醫師|医师|老师|老師|主任|律师|律師)"
_CHINESE_BEFORE = r"(?<![^\P{Han}是为给由向和请为為給與与對对叫找洽])"
_CHINESE_WORD = "(?![多谢謝金末年业業一二三四五六日开開])"
"""A family name before these begins a word: 許多 is "many"."""


def people(text: str, variety: str) -> Iterator[Person]:
    """Yield the persons that a text names, in a variety of a language such as "zh-Hant"."""
    for match in _pattern(variety).finditer(text):
        kind = next((name for name, group in match.groupdict().items() if group is not None), "")
        alternatives = _alternatives(variety, kind, match[kind])
        if alternatives:
            yield Person(match.start(kind), match.end(kind), alternatives)


@cache
def _pattern(variety: str) -> regex.Pattern[str]:
    lists = sections("people.txt")
    if variety == "en":
        she, he = ("|".join(lists[f"en:{key}"]) for key in ("she", "he"))
        surname = rf"(?!{_NO_SURNAME})\p{{Lu}}\p{{Ll}}+(?:-\p{{Lu}}\p{{Ll}}+)?"
        given = "".join(
            rf"|\b(?P<{key}>(?:{names}) {surname})\b(?! {_NO_SURNAME})" for key, names in (("she", she), ("he", he))
        )
        title = rf"\b(?:Mr|Mrs|Ms|Dr|Prof)\.? (?P<family>{surname})\b(?! \p{{Lu}})"
        return regex.compile(title + given)
    if variety == "ko":
        family = "".join(lists["ko:family"])
        known = "|".join(lists["ko"])
        return regex.compile(rf"(?<!\p{{Hangul}})(?P<full>(?:{known})|[{family}]\p{{Hangul}}{{2}}{_KOREAN_TITLE})")
    names = "|".join(lists[variety])
    if variety == "ja":
        given = "|".join(lists["ja:given"])
        after = rf"[ 　]?(?:(?:{given})(?!\p{{Han}})|\p{{Han}}{{0,3}}{_JAPANESE_TITLE})"
        return regex.compile(rf"(?<!\p{{Han}})(?P<surname>{names})(?={after})")
    return regex.compile(rf"{_CHINESE_BEFORE}(?P<surname>{names}){_CHINESE_WORD}(?=\p{{Han}}{{0,2}}{_CHINESE_TITLE})")


def _alternatives(variety: str, kind: str, name: str) -> tuple[str, ...]:
    """Return other names of a kind: full names for full names, and family names for family names."""
    lists = sections("people.txt")
    if kind in ("she", "he"):
        given = [first for first in lists[f"en:{kind}"] if first not in name]
        families = [last for last in lists["en:family"] if last not in name]
        return tuple(f"{first} {families[place % len(families)]}" for place, first in enumerate(given))
    key = "en:family" if kind == "family" else variety
    return tuple(listed for listed in lists[key] if listed != name)
