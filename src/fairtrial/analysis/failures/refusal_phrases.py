"""Patterns of refusals and hand-overs in replies, in English, Korean, Japanese and Chinese."""

from __future__ import annotations

import re

from fairtrial.text.language import detect_language, is_traditional
from fairtrial.text.lazy_pattern import LazyPattern

_READ = 4_000

_REFUSAL = LazyPattern(
    r"\b(?:I|we)(?:'|’)?(?:m| am| are|'re|’re)?\s+(?:(?:really|very|so)\s+)?(?:sorry,?\s+(?:but\s+)?(?:I|we)\s+)?"
    r"(?:am\s+|are\s+)?(?:cannot|can't|can’t|can not|unable to|not able to|not allowed to|not permitted to"
    r"|won't be able to)\b"
    r"|\bunable to (?:assist|help|process|complete|fulfil+)\b"
    r"|(?:도와드릴|도움을 드릴|처리해 드릴|답변해 드릴|답변드릴|제공해 드릴|해 드릴|진행해 드릴) 수 (?:가 )?없"
    r"|(?:할|드릴) 수 없(?:습니다|어요|네요)"
    r"|(?:お(?:手伝い|答え|応え)|ご(?:案内|提供|対応|協力)|対応|提供|回答)(?:することは?)?(?:は|が)?"
    r"でき(?:ません|かねます)|致しかねます|いたしかねます"
    r"|(?:我|我们|我們)?(?:无法|無法|不能)(?:为您|為您|帮|幫|协助|協助|处理|處理|提供|完成|回答|执行|執行)",
    flags=re.IGNORECASE,
)
_HAND_OVER = LazyPattern(
    r"\btransfer(?:red|ring)?\s+(?:you|the (?:user|customer|call))?\s*(?:over\s+)?to\s+(?:a|an|our|the)?\s*"
    r"(?:human|live|person|agent|representative|specialist)"
    r"|(?:상담원|상담사|담당자)(?:에게|께|으로|로)?\s*(?:연결|이관|전달)"
    r"|(?:担当者|オペレーター|有人)(?:に|へ|へと)?(?:お)?(?:つな|繋|引き継|転送)"
    r"|转(?:接|交|到)?(?:给)?人工|轉(?:接|交|到)?(?:給)?(?:人工|真人|專員)|(?:转接|轉接)(?:人工|真人|客服|專員|专员)",
    flags=re.IGNORECASE,
)
_HAND_OVER_TOOL = LazyPattern(
    r"(?:transfer|hand_?(?:off|over)|escalat)\w*?(?:human|agent|person|support|staff)|^hand_?(?:off|over)|^escalate",
    flags=re.IGNORECASE,
)
_ENOUGH_LETTERS = 15
"""A text with fewer letters, for example an id, says little about its language."""


def refuses(text: str) -> bool:
    """Return whether a reply declines to help."""
    return _REFUSAL.search(text[:_READ]) is not None


def hands_over(text: str) -> bool:
    """Return whether a reply hands the user over to a person."""
    return _HAND_OVER.search(text[:_READ]) is not None


def is_hand_over_tool(name: str) -> bool:
    """Return whether a tool hands over to a person, by its name, for example `transfer_to_human_agents`."""
    return _HAND_OVER_TOOL.search(name[:200]) is not None


def language(text: str) -> str:
    """Return the language of a text, or an empty text if it is too short to tell."""
    findings = detect_language(text)
    if findings == "en" and sum(map(str.isalpha, text[:200])) < _ENOUGH_LETTERS:
        return ""
    return "zh-Hant" if findings == "zh" and is_traditional(text) else findings


def other_language(reply: str, model: str) -> tuple[str, str] | None:
    """Return the languages of a reply and of the text that it should match, or None if they are one or unknown.

    Traditional and simplified Chinese are one language here, because many short texts have neither.
    """
    ours, theirs = language(reply).partition("-")[0], language(model).partition("-")[0]
    return (ours, theirs) if ours and theirs and ours != theirs else None
