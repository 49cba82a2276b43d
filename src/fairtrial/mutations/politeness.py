"""Change the politeness level of a Korean or Japanese sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex

from fairtrial.mutations.hangul import ends_in_consonant
from fairtrial.text.sentences import cut

if TYPE_CHECKING:
    from fairtrial.text.language import Language

_MARKS = r"""(?=[\s.。!！…"'”’」』)）*_~]*\Z)"""
_KOREAN = (
    (r"할 수 있습니다", "할 수 있어요"),
    (r"있습니다", "있어요"),
    (r"없습니다", "없어요"),
    (r"(이|가) 아닙니다", r"\1 아니에요"),
    (r"하지 않습니다", "하지 않아요"),
    (r"되지 않습니다", "되지 않아요"),
    (r"했습니다", "했어요"),
    (r"되었습니다|됐습니다", "됐어요"),
    (r"(?<!감사|부탁|축하|환영)합니다", "해요"),
    (r"됩니다", "돼요"),
    (r"겠습니다", "겠어요"),
)
_JAPANESE = (
    (r"ではありませんでした", "ではなかった"),
    (r"ではありません", "ではない"),
    (r"できません", "できない"),
    (r"できます", "できる"),
    (r"(?<=[がはも])あります", "ある"),
    (r"(?<=[がはも])ありません", "ない"),
    (r"されました", "された"),
    (r"(?<=\p{Han}{2}|\p{Katakana})しました", "した"),
    (r"(?<=\p{Han}{2}|\p{Katakana})します", "する"),
    (r"(?<=[\p{Han}\p{Katakana}\p{Nd}])でした", "だった"),
    (r"(?<=[\p{Han}\p{Katakana}\p{Nd}])です", "である"),
)
_RULES = {
    "ko": tuple((regex.compile(f"(?:{pattern}){_MARKS}"), ending) for pattern, ending in _KOREAN),
    "ja": tuple((regex.compile(f"(?:{pattern}){_MARKS}"), ending) for pattern, ending in _JAPANESE),
}
_COPULA = regex.compile(f"입니다{_MARKS}")
_NOT_PLAIN = regex.compile(r"お願い|申し訳|[?？]")


def other_level(text: str, language: Language) -> str | None:
    """Return a text in another level of politeness, or None if the rules do not know every sentence."""
    if language not in _RULES:
        return None
    pieces: list[str] = []
    for piece in cut(text):
        changed = _sentence(piece.text, language) if piece.is_sentence else piece.text
        if changed is None:
            return None
        pieces.append(changed)
    return "".join(pieces)


_INFORMAL = {
    "ko": regex.compile(rf"(?:어요|아요|해요|돼요|[에예]요|네요|지요|죠){_MARKS}"),
    "ja": regex.compile(rf"(?:である|だった|ではない|された|できる|できない|する|した|だ){_MARKS}"),
}


def is_informal(text: str, language: Language) -> bool:
    """Return whether a sentence of a text has the level that `other_level` writes: 해요체, or だ・である."""
    pattern = _INFORMAL.get(language)
    return pattern is not None and any(pattern.search(piece.text) for piece in cut(text) if piece.is_sentence)


def _sentence(sentence: str, language: Language) -> str | None:
    if _NOT_PLAIN.search(sentence):
        return None
    for pattern, ending in _RULES[language]:
        changed, count = pattern.subn(ending, sentence)
        if count:
            return str(changed)
    match = _COPULA.search(sentence) if language == "ko" else None
    closed = ends_in_consonant(sentence[: match.start()]) if match else None
    if match is None or closed is None:
        return None
    return sentence[: match.start()] + ("이에요" if closed else "예요") + sentence[match.end() :]
