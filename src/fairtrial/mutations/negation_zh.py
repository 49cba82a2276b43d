"""Negation of Chinese sentences. One verb decides, in simplified or traditional characters."""

from __future__ import annotations

import regex

_LEFT_ALONE = regex.compile(
    r"[?？吗嗎]|是否|有没有|有沒有|能不能|会不会|會不會|是不是|可不可以|不[仅僅但只光]|不得不|不[能会會可]不|如[果有需]|若|只有"
    r"|只要|除非|请|請|才能|抱歉|对不起|對不起|谢谢|謝謝"
)
_PREDICATE = regex.compile(
    r"不可以|不能够|不能夠|不能|无法|無法|不会|不會|不需要|无需|無需|不必|不是|没有|沒有|尚未|还没有?|還沒有?"
    r"|不(?:支持|支援|允许|允許|包括|包含|提供|营业|營業|开放|開放|接受|收取|退款|适用|適用)"
    r"|必[须須]|必需(?![品的])|(?:提供|接受|收取)(?!的|者|商)|(?<![正的])(?:营业|營業|开放|開放)(?![时時性额額])"
    r"|可以|能够|能夠|(?<![功可智性才技职職节節只动動万萬体體])能(?![力量源不否])"
    r"|(?<![机機社协協大宴聚宴学學委晚开開])[会會](?![议議员員计計场場面])|需要"
    r"|(?<![但可还還于於要就凡总總只或正若])是(?![否的])|(?<![所拥擁只还還如若具含享持])有(?![效限关關时時些期机機人点點助意趣名])"
    r"|已经|已經|(?<![而早])已|(?<!从|從)未(?![来來必知成])|支持|支援|允许|允許|包括|包含"
)
_OTHER_NEGATIVE = regex.compile(r"[不没沒无無别別非勿]")
_LASTING = regex.compile(r"了(?=[\s。.!！”」』]*\Z)")
"""尚未 has no 了 at the end of its sentence."""
_TRADITIONAL = regex.compile(r"[沒無會經還這為訂單價時間開關們個來說對請飯國]")
_OPPOSITES = {
    "不可以": "可以",
    "不能够": "能够",
    "不能夠": "能夠",
    "不能": "能",
    "无法": "可以",
    "無法": "可以",
    "不必": "需要",
    "必须": "不必",
    "必須": "不必",
    "必需": "不必",
    "无需": "需要",
    "無需": "需要",
    "没有": "有",
    "沒有": "有",
    "还没": "已经",
    "还没有": "已经",
    "還沒": "已經",
    "還沒有": "已經",
    "已经": "尚未",
    "已經": "尚未",
    "已": "未",
    "未": "已",
}


def negate(sentence: str) -> str | None:
    """Return a sentence with its predicate negated, or un-negated. None if no rule fits exactly one predicate."""
    if _LEFT_ALONE.search(sentence):
        return None
    matches = list(_PREDICATE.finditer(sentence))
    if len(matches) != 1:
        return None
    before, predicate, after = (
        sentence[: matches[0].start()],
        matches[0][0],
        sentence[matches[0].end() :],
    )
    if _OTHER_NEGATIVE.search(before + after):
        return None
    if predicate in ("已经", "已經"):
        after = _LASTING.sub("", after)
    return before + _opposite(predicate, traditional=bool(_TRADITIONAL.search(sentence))) + after


def _opposite(predicate: str, *, traditional: bool) -> str:
    if predicate in _OPPOSITES:
        return _OPPOSITES[predicate]
    if predicate == "尚未":
        return "已經" if traditional else "已经"
    if predicate == "有":
        return "沒有" if traditional else "没有"
    return predicate.removeprefix("不") if predicate.startswith("不") else f"不{predicate}"
