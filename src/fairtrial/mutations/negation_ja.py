"""Negation of Japanese sentences. The last predicate decides, by the endings of です・ます and of だ・である."""

from __future__ import annotations

from typing import Any

import regex

_SENTENCE = regex.compile(r"""\A(?P<core>.*?)(?P<end>[\s。．.!！…"'”’」』）)*_~]*)\Z""", regex.S)
_LEFT_ALONE = regex.compile(
    r"(?:か|ありがとうございま(?:す|した)|おめでとうございます|お願い(?:いた|致)?します|お願い申し上げます"
    r"|申し訳(?:あり|ござい)ません(?:でした)?|す[みい]ません|かもしれません|に(?:過|す)ぎません|と(?:思い|申し|存じ)ます"
    r"|(?:よう|そう|の|ん|わけ|はず|から|とおり|通り|つもり|みたい|らしい|たい|かった)です|いらっしゃいませ"
    r"|お待ちして(?:い|おり)ます|かねます|ましょう|ください(?:ませ)?)\Z"
)
_ADJECTIVE = (
    r"[高低安多暑寒近遠早速遅古長短強弱重軽広狭悪良深浅甘辛]い|少ない|よい|大きい|小さい|(?:新|美味|難|忙|楽|正|嬉|詳|厳|優)しい"
    r"|おいしい"
)
_NOUN_IN_I = r"支払い|違い|扱い|手伝い|祝い|狙い|問い|きれい|嫌い|くらい|ぐらい|払い"
_PLAIN = {"する": "しない", "した": "しなかった", "される": "されない", "された": "されなかった"}
_RULES: tuple[tuple[Any, Any], ...] = tuple(
    (regex.compile(rf"(?:{pattern})\Z"), replacement)
    for pattern, replacement in (
        (r"(?:なければ|なくては)なりません|ないといけません", "なくてもかまいません"),
        (r"(?P<form>[てで])はいけません", r"\g<form>もかまいません"),
        (r"(?P<form>[てで])も(?:かま|構)いません", r"\g<form>はいけません"),
        (r"(?:では|じゃ)ありませんでした", "でした"),
        (r"(?:では|じゃ)(?:ありません|ないです)", "です"),
        (r"ではございません", "でございます"),
        (r"でございます", "ではございません"),
        (r"不可能(?P<end>です|でした)", r"可能\g<end>"),
        (r"(?<=[はがもの])可能(?P<end>です|でした)", r"不可能\g<end>"),
        (r"くないです", "いです"),
        (rf"(?P<stem>{_ADJECTIVE})です", lambda match: f"{match['stem'][:-1]}くないです"),
        (rf"(?P<noun>{_NOUN_IN_I})です", r"\g<noun>ではありません"),
        (r"いです|ないです", None),
        (r"ませんでした", "ました"),
        (r"(?<!い)でした", "ではありませんでした"),
        (r"です", "ではありません"),
        (r"ました", "ませんでした"),
        (r"ません", "ます"),
        (r"ます", "ません"),
        (r"である", "ではない"),
        (r"ではない", "である"),
        (r"(?P<particle>[がはも])ある", r"\g<particle>ない"),
        (r"(?P<particle>[がはも])ない", r"\g<particle>ある"),
        (r"でき(?P<end>る|た)", lambda match: "できない" if match["end"] == "る" else "できなかった"),
        (r"できない", "できる"),
        (r"(?<=\p{Han}{2}|\p{Katakana})(?P<end>する|した|される|された)", lambda match: _PLAIN[match["end"]]),
        (r"(?<=[\p{Han}\p{Katakana}\p{Nd}])だ", "ではない"),
    )
)


def negate(sentence: str) -> str | None:
    """Return a sentence with its last predicate negated, or un-negated. None if no rule knows the predicate."""
    parts = _SENTENCE.match(sentence)
    core: str = parts["core"]
    if regex.search(r"[?？]", sentence) or _LEFT_ALONE.search(core):
        return None
    for pattern, replacement in _RULES:
        match = pattern.search(core)
        if match and replacement is None:
            return None
        if match:
            changed = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
            return f"{core[: match.start()]}{changed}{parts['end']}"
    return None
