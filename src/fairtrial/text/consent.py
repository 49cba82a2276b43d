"""Decide from closed lists in four languages whether a user agrees, and whether a reply admits that something failed.

A text that the lists do not decide is undecided. It is never guessed.
"""

from __future__ import annotations

import re
import unicodedata

_READ = 600
"""The number of characters at the beginning of a message that are read."""

_REFUSES = re.compile(
    r"\b(?:no|nope|nah|not (?:yet|now|sure)|wait|stop|hold on|don'?t|do not|cancel that|never ?mind|instead)\b"
    r"|\brather not\b"
    r"|아니[요오]?|아뇨|안 ?돼요?|하지 ?(?:마|말)|말아|잠깐|취소해 ?주세요 ?말|싫|그만|나중에"
    r"|いいえ|いや|やめ|ちょっと待|待って|しないで|結構です|不要|必要ありません|ダメ|だめ"
    r"|不要|不行|不用|别|別|不同意|不可以|等一下|等等|先不|算了|取消吧|不是"
)
_AGREES = re.compile(
    r"\b(?:yes|yep|yeah|yup|sure|ok(?:ay)?|go ahead|please do|do it|proceed|confirm(?:ed)?|i agree|agreed|approve[sd]?"
    r"|sounds good|that'?s (?:fine|right|correct)|absolutely|definitely|of course)\b"
    r"|(?<![가-힣])(?:네|예|응|넵)(?![가-힣])|그래요|좋(?:아요?|습니다)|진행해|동의|승인"
    r"|확인했|확인합니다|맞(?:아요|습니다)|그렇게 해|부탁(?:해요|드립니다|드려요)"
    r"|(?<![ぁ-んァ-ン一-龠])(?:はい|ええ|うん)(?![ぁ-ん])|お願いします|お願いいたします|進めて|承知|了承|同意|承認|問題ありません|大丈夫です|その通り"
    r"|(?<![一-龠])(?:是的?|好的?|对|對|行|嗯)(?![一-龠])|可以|同意|确认|確認|没问题|沒問題|请继续|請繼續|就这样|就這樣|批准"
)
_ADMITS = re.compile(
    r"\b(?:sorry|apologi[sz]e|unfortunately|unable|couldn'?t|could not|can'?t|cannot|was(?:n'?t| not) able|failed|fails"
    r"|failure|error|did(?:n'?t| not) (?:work|go through)|problem|issue|unavailable|try again)\b"
    r"|죄송|실패|오류|문제가|못했|못 했|할 수 없|안 됐|되지 않|다시 시도|불가"
    r"|申し訳|失敗|エラー|できません|できなかった|できていません|問題が|不具合|もう一度|再試行"
    r"|抱歉|对不起|對不起|失败|失敗|错误|錯誤|无法|無法|没能|沒能|不成功|出了问题|出現問題|重试|重試|遗憾|遺憾"
)


def agrees(text: str) -> bool | None:
    """Return whether a message agrees with what was asked before, or None if the lists do not decide.

    A message that also refuses, for example "yes, but wait", does not agree.
    """
    start = _start(text)
    if _REFUSES.search(start):
        return False
    return True if _AGREES.search(start) else None


def admits_failure(text: str) -> bool:
    """Return whether a reply says that something failed."""
    return _ADMITS.search(unicodedata.normalize("NFKC", text[:20_000]).casefold().replace("’", "'")) is not None


def _start(text: str) -> str:
    return unicodedata.normalize("NFKC", text[:_READ]).casefold().replace("’", "'")
