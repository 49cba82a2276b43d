"""Negation of Korean sentences. The last predicate decides, by the endings of 합니다체 and 해요체."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import regex

from fairtrial.mutations.hangul import BIEUP, RIEUL, SSANG_SIOT, ends_in_consonant, tail, with_tail

_SENTENCE = regex.compile(r"""\A(?P<core>.*?)(?P<end>[\s.!…。！"'”’」』*_~)]*)\Z""", regex.S)
_LEFT_ALONE = regex.compile(
    r"[?？]|(?:까|까요|나요|가요|감사합니다|감사해요|고맙습니다|죄송합니다|미안합니다|반갑습니다|환영합니다|축하합니다"
    r"|부탁드립니다|부탁합니다|바랍니다|같습니다|싶습니다|안녕합니다)\Z"
)
_AMBIGUOUS_COPULA = regex.compile(
    r"(?:(?<!정|홍|예|경|담)보|(?<!규)모|쓰|높|줄|붙|먹|끓|쌓|놓|섞|(?<!약|소)속|들|움직|벌|덮|잡)\Z"
)
"""Before 입니다 and 였습니다: 보입니다 is "seems", 정보입니다 is "is information"."""
_RIEUL_STEMS = {
    "듭": "들",
    "엽": "열",
    "압": "알",
    "팝": "팔",
    "멉": "멀",
    "깁": "길",
    "풉": "풀",
    "겁": "걸",
    "웁": "울",
}
_UNCLEAR_STEMS = "삽랍답잡굽눕"
_CONTRACTED = {
    "졌": "지",
    "렸": "리",
    "왔": "오",
    "갔": "가",
    "겼": "기",
    "쳤": "치",
    "켰": "키",
    "냈": "내",
    "보냈": "보내",
}

_NOT = {"습니다": "않습니다", "어요": "않아요"}

_Match = Any  # The package regex has no types.
_Rule = tuple[Any, "str | Callable[[_Match], str | None]"]


def negate(sentence: str) -> str | None:
    """Return a sentence with its last predicate negated, or un-negated. None if no rule knows the predicate."""
    parts = _SENTENCE.match(sentence)
    core: str = parts["core"]
    if _LEFT_ALONE.search(core) or regex.search(r"[?？]", sentence):
        return None
    for pattern, replacement in _RULES:
        match = pattern.search(core)
        if match:
            changed: str | None = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
            return None if changed is None else core[: match.start()] + changed + parts["end"]
    return None


def _present(match: _Match) -> str | None:
    """Return the present form of a stem: 하 -> 합니다, 높 -> 높습니다, 들 -> 듭니다."""
    stem = match["stem"]
    if tail(stem) in (0, RIEUL):
        return with_tail(stem, BIEUP) + "니다"
    return f"{stem}습니다"


def _copula(negated: str) -> Callable[[_Match], str | None]:
    """Return a rule that negates 입니다 after a noun, with the particle that fits the noun."""

    def negate_copula(match: _Match) -> str | None:
        noun = match.string[: match.start()]
        closed = ends_in_consonant(noun)
        if closed is None or _AMBIGUOUS_COPULA.search(noun):
            return None
        return f"{'이' if closed else '가'} {negated}"

    return negate_copula


def _is_so(match: _Match) -> str | None:
    """Return 이에요 or 예요, as it fits the noun before 아니에요."""
    closed = ends_in_consonant(match.string[: match.start()])
    if closed is None:
        return None
    return "이에요" if closed else "예요"


def _contract_match(match: _Match) -> str | None:
    return f"{_CONTRACTED[match['past']]}지 않았습니다"


def _adjective(match: _Match) -> str | None:
    """Negate 높습니다. A stem in ㅆ is a past form, whose stem is not certain."""
    stem = match["stem"]
    return None if tail(stem) in (0, SSANG_SIOT) else f"{stem}지 않습니다"


def _verb(match: _Match) -> str | None:
    """Negate 걸립니다 and 엽니다. 삽니다 may be 사다 or 살다, so it is left alone."""
    syllable = match["syllable"]
    if tail(syllable) != BIEUP or syllable in _UNCLEAR_STEMS:
        return None
    return f"{_RIEUL_STEMS.get(syllable, with_tail(syllable, 0))}지 않습니다"


_ALLOWED = {"합니다": "됩니다", "됩니다": "됩니다", "해요": "돼요", "돼요": "돼요"}
_MUST = r"야 (?P<must>합니다|됩니다|해요|돼요)"


def _need_not(match: _Match) -> str | None:
    """Negate an obligation: "내셔야 합니다" becomes "내지 않으셔도 됩니다"."""
    stem = {"해": "하", "와": "오"}.get(match["stem"], match["stem"])
    if match["stem"] in _IRREGULAR:
        return None
    honorific = match["polite"] is not None
    if not honorific and match["ending"] is None and tail(match["stem"]):
        return None
    return f"{stem}지 않{'으셔' if honorific else '아'}도 {_ALLOWED[match['must']]}"


_IRREGULAR = "드들우러려져워"
"""Last syllables whose stem is not certain: 만드셔야 is from 만들다, and 도우셔야 from 돕다."""

_RULES: tuple[_Rule, ...] = tuple(
    (regex.compile(rf"(?:{pattern})\Z"), replacement)
    for pattern, replacement in (
        (rf"(?P<stem>\p{{Hangul}})(?P<ending>[어아])?(?P<polite>으?셔)?{_MUST}", _need_not),
        (r"고 있(?P<tense>습니다|어요)", lambda match: f"고 있지 {_NOT[match['tense']]}"),
        (
            r"(?P<form>[어아여해져돼워려혀겨]) 있(?P<tense>습니다|어요)",
            lambda match: f"{match['form']} 있지 {_NOT[match['tense']]}",
        ),
        (r"있(?P<tense>습니다|어요|다|음|었습니다|었어요)", r"없\g<tense>"),
        (r"없(?P<tense>습니다|어요|다|음|었습니다|었어요)", r"있\g<tense>"),
        (r"있으(?P<tense>십니다|세요|셨습니다|셨어요)", r"없으\g<tense>"),
        (r"없으(?P<tense>십니다|세요|셨습니다|셨어요)", r"있으\g<tense>"),
        (r"지 않으(?P<tense>십니다|셨습니다|셨어요)", lambda match: match["tense"]),
        (r"하지 마십시오", "하십시오"),
        (r"하셨습니다", "하지 않으셨습니다"),
        (r"하셨어요", "하지 않으셨어요"),
        (r"하십니다", "하지 않으십니다"),
        (r"되셨습니다", "되지 않으셨습니다"),
        (r"되십니다", "되지 않으십니다"),
        (r"(?:으시|시|으세|세|십|으십|셨|으셨)(?:니다|습니다|요|어요|십시오)", lambda _: None),
        (r"(?:이|가|은|는) 아닙니다", "입니다"),
        (r"(?:이|가|은|는) 아니[에예]요", _is_so),
        (r"불가능(?P<tense>합니다|해요|했습니다|했어요)", r"가능\g<tense>"),
        (r"가능(?P<tense>합니다|해요|했습니다|했어요)", r"불가능\g<tense>"),
        (r"(?<=\s)안 ?(?P<tense>됩니다|돼요|되었습니다|됐습니다|했습니다|합니다)", r"\g<tense>"),
        (r"(?P<stem>\p{Hangul})지 않습니다", _present),
        (r"하지 (?:않|못)(?:았|했)습니다", "했습니다"),
        (r"되지 (?:않|못)(?:았|했)습니다", "되었습니다"),
        (r"하지 (?:못합니다)", "합니다"),
        (r"하지 않아요", "해요"),
        (r"되지 않아요", "돼요"),
        (r"하지 (?:않았|못했)어요", "했어요"),
        (r"되지 (?:않았|못했)어요", "됐어요"),
        (r"하지 마세요", "하세요"),
        (r"지 (?:않|못|마).*", lambda _: None),
        (r"(?:했|하였)습니다", "하지 않았습니다"),
        (r"(?:됐|되었)습니다", "되지 않았습니다"),
        (r"했어요", "하지 않았어요"),
        (r"(?:됐|되었)어요", "되지 않았어요"),
        (r"하겠습니다", "하지 않겠습니다"),
        (r"이었습니다|였습니다", _copula("아니었습니다")),
        (rf"(?P<past>{'|'.join(_CONTRACTED)})습니다", _contract_match),
        (r"입니다", _copula("아닙니다")),
        (r"이에요|예요", _copula("아니에요")),
        (r"해요", "하지 않아요"),
        (r"돼요", "되지 않아요"),
        (r"(?P<stem>\p{Hangul})습니다", _adjective),
        (r"(?P<syllable>\p{Hangul})니다", _verb),
    )
)
