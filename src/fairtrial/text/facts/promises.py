"""Promises that only a reply makes: a refund, an upgrade, a call, an exception that no other text names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from fairtrial.text.facts.memory import remember_short
from fairtrial.text.facts.word_patterns import LazyPattern, alternatives, cues_of

_SENTENCE = LazyPattern(r"(?<=[.!?])\s+|(?<=[。!?！？])|\n+")
_CLAUSE = LazyPattern(
    r"[,，;；](?!\d)|、(?=[^、。]{8})|\b(?:but|although)\b|(?<=[가-힣])(?:지만|으며|하며|이며|고)(?=[ ,])|(?<=[すた])が、|不过|不過|但"
)
_FRAME = LazyPattern(
    # The speaker gives something, or the user may take it.
    r"\b(?:i|i'll|i've|i'm|we|we'll|we've|us|our)\b|\byou(?:'ll| will| can| may)? (?:also )?(?:get|receive|return|cancel|claim|change|exchange|keep)\b"
    r"|\b(?:colleague|agent|manager|specialist|representative|team|expert|technician|supervisor|someone) (?:will|can)\b"
    r"|\byou are entitled\b|\bthe \w+ is free\b|드[려리립릴렸]|하실 수|받으실|약속|[해하]겠습니다|いたし(?:ます|ました)|できます|お約束|させていただ|しておきました|お送りし"
    r"|[我您]"
)
_COURTESY = LazyPattern(
    r"feel free|let (?:me|us) know|reach out|any (?:other|more|further) question|happy to help|contact (?:me|us)\b|문의|말씀|알려|궁금"
    r"|お問い|お気軽|お申し付け|お知らせください|ご連絡ください|[告吿][诉訴]|咨[询詢]|諮詢|[联聯][系繫絡络](?:我|客服)|提[问問]"
)
_NEGATED = LazyPattern(
    r"\b(?:not|cannot|never|no|without|unable|unfortunately)\b|n't\b|않|못|없|안 [되돼됩]|어렵|불가|ません|ない|かね|不|没|沒|未|无法|無法"
)
_LATIN = LazyPattern("[a-z]+")
_CHANGE = LazyPattern(
    r"\b(?:return|cancel|exchange|withdraw|change)|반품|취소|해지|교환|환불|변경|返品|キャンセル|解約|交換|返金|取消|退|更改|改签|改簽"
)
_FREEDOMS = LazyPattern(
    r"feel free|free to|-free\b|toll.free|free of (?!charge)|免费电话|免費電話|フリーダイヤル|무료 전화"
)


_COMPENSATIONS = frozenset(("refund", "replacement", "voucher", "upgrade", "discount"))


class Promise(NamedTuple):
    """A promise of a reply: its topic, and the place of its sentence."""

    topic: str
    start: int
    end: int


def find_promises(reply: str, grounds: Iterable[str]) -> list[Promise]:
    """Return the promises of a reply whose topic none of the other texts names.

    A promise is a statement that the speaker gives or does something, or that the user may take it. Questions, negated
    clauses and courtesies are none.
    """
    promises = _promises(reply)
    if not promises:
        return []
    topics = set[str]().union(*(_topics(text) for text in grounds))
    if not topics.isdisjoint(_COMPENSATIONS):
        topics |= {"compensation"}
    return [item for item in promises if item.topic not in topics]


@remember_short
def _promises(text: str) -> tuple[Promise, ...]:
    small = text.lower()
    if len(small) != len(text) or not (_may_name_topic(small) and _words().search(small)):
        return ()
    promises_by_topic: dict[str, Promise] = {}
    start = 0
    for match in [*_SENTENCE.finditer(small), None]:
        end = match.start() if match else len(small)
        sentence = small[start:end]
        if sentence and sentence.rstrip()[-1:] not in {"?", "？"} and _FRAME.search(sentence):
            for topic in _find_promised_topics(sentence):
                promises_by_topic.setdefault(topic, Promise(topic, start, end))
        start = match.end() if match else end
    return tuple(promises_by_topic.values())


def _find_promised_topics(sentence: str) -> list[str]:
    if _COURTESY.search(sentence):
        return []
    return [
        topic
        for clause in _CLAUSE.split(sentence)
        for topic in _topics(clause or "")
        if not _NEGATED.search(_words().sub("", clause)) and (topic != "any time" or _CHANGE.search(sentence))
    ]


@remember_short
def _topics(text: str) -> tuple[str, ...]:
    small = text.lower()
    if "free" in small or not small.isascii():
        small = _FREEDOMS.sub("", small)
    if not _may_name_topic(small):
        return ()
    return tuple(dict.fromkeys(_table()[word] for word in _words().findall(small)))


def _may_name_topic(small: str) -> bool:
    return not small.isascii() or not cues_of(small).words.isdisjoint(_cue_words())


@cache
def _cue_words() -> frozenset[str]:
    """Return the longest word of each English topic: the first is often a word such as "no" or "you"."""
    return frozenset(max(_LATIN.compiled.findall(word), key=len) for word in _table() if word.isascii())


@cache
def _table() -> dict[str, str]:
    from importlib import resources  # takes longer than the rest of the import

    text = (resources.files("fairtrial.text.facts") / "promises.txt").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line and not line.startswith("#")]
    return {word.strip(): topic.strip() for topic, words in rows for word in words.split(",")}


@cache
def _words() -> LazyPattern:
    return LazyPattern(alternatives(_table(), starts=True, ends=True))
