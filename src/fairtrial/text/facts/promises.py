"""Promises and conditions that only a reply states: a refund, an upgrade, a fee, a proof that no other text names."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from fairtrial.text.facts.canonical import canonicalise
from fairtrial.text.facts.fact_equality import equal_facts
from fairtrial.text.facts.fact_reading import read_facts
from fairtrial.text.facts.memory import remember_short
from fairtrial.text.facts.word_patterns import alternatives, read_cues, split_sentences
from fairtrial.text.lazy_pattern import LazyPattern

_CLAUSE = LazyPattern(
    r"[,，;；](?!\d)|、(?=[^、。]{8})|\b(?:but|although)\b|(?<=[가-힣])(?:지만|으며|하며|이며|고)(?=[ ,])|(?<=[すた])が、|不过|不過|但"
)
_FRAME = LazyPattern(
    # The speaker gives something, or the user may take it.
    r"\b(?:i|i'll|i've|i'm|we|we'll|we've|us|our)\b|\byou(?:'ll| will| can| may)? (?:also )?(?:get|receive|return|cancel|claim|change|exchange|keep)\b"
    r"|\b(?:colleague|agent|manager|specialist|representative|team|expert|technician|supervisor|someone) (?:will|can)\b"
    r"|\byou are entitled\b|\bthe \w+ is free\b|드[려리립릴렸]|하실 수|받으실|약속|[해하]겠습니다|いたし(?:ます|ました)|できます|お約束|させていただ|しておきました|お送りし"
    r"|[我您]"
    # A thing is offered, or comes with another.
    r"|\b(?:is|are|will be) (?:also )?(?:included|complimentary)\b|제공[하합해되됩]|포함[되됩돼]|付[いき]|含まれ"
    r"|提供|附赠|附贈|包含|赠送|贈送"
)
_FRAMES = {
    "any": LazyPattern(""),
    "charged": LazyPattern(
        r"\b(?:appl(?:y|ies)|charged?|charges|required?|requires|due|payable|pay|costs?|there (?:is|are|will be)|added|incurs?"
        r"|subject to|levied|levy|levies|collects?|collected|billed|deducted)\b"
        r"|부과|발생|청구|필요|붙|있습|있어|내[셔야]|납부|추가[되됩돼]|받[습아]|징수|공제|차감|결제|부담"
        r"|かか|必要|発生|申し受|いただ|頂|加算|徴収|請求|差し引|負担|支払|[收付缴繳需须須加]"
    ),
    "needed": LazyPattern(
        r"\b(?:must|needs?|required|requires?|have to|has to|mandatory|only with|bring|show)\b|지참|필요|제시|제출|필수|必要|提示|必須|持参|提出|必须|須|须|需|出示|[凭憑]"
    ),
    "limited": LazyPattern(r"\b(?:only|exclusive(?:ly)?|limited|reserved)\b|만|한정|限定|のみ|だけ|限り|[仅僅只限]"),
}
"""The sentences in which the words of a condition count."""
_COURTESY = LazyPattern(
    r"feel free|let (?:me|us) know|reach out|any (?:other|more|further) question|happy to help|contact (?:me|us)\b|문의|말씀|알려|궁금"
    r"|お問い|お気軽|お申し付け|お知らせください|ご連絡ください|[告吿][诉訴]|咨[询詢]|諮詢|[联聯][系繫絡络](?:我|客服)|提[问問]"
)
_NEGATED = LazyPattern(
    r"\b(?:not|cannot|never|no|without|unable|unfortunately)\b|n't\b|않|못|없|안 [되돼됩]|어렵|불가|ません|ない|かね|不|没|沒|未|无法|無法"
)
_THIRD_PARTIES = LazyPattern(
    r"\b(?:some|many|most|certain|other|different|several|various) (?:[a-z]+ )?[a-z]+s (?:(?:may|might|can|could|also|do) ){0,2}"
    r"(?:charge|require|ask|impose|collect|levy)\b|\bthe only (?:[a-z]+ )?members of\b"
    r"|\b(?:it|he|she) (?:was|had|gave|sold|offered|charged|required|used to)\b"
)
"""Conditions of third parties, as in "some banks charge a fee" or "it offered books to members only", and members of a family or a band."""
_LATIN = LazyPattern("[a-z]+")
_CHANGE = LazyPattern(
    r"\b(?:return|cancel|exchange|withdraw|change)|반품|취소|해지|교환|환불|변경|返品|キャンセル|解約|交換|返金|取消|退|更改|改签|改簽"
)
_FREEDOMS = LazyPattern(
    r"feel free|free to|-free\b|toll.free|free of (?!charge)|免费电话|免費電話|フリーダイヤル|무료 전화"
)


_COMPENSATIONS = frozenset(("refund", "replacement", "voucher", "upgrade", "discount"))


class Promise(NamedTuple):
    """A promise of a reply, or a condition such as a fee: its topic, and the place of its sentence.

    `is_known` is whether another text names the topic, so that the amount alone is invented.
    """

    topic: str
    start: int
    end: int
    is_condition: bool = False
    is_known: bool = False


def find_promises(reply: str, grounds: Iterable[str], *, prices: bool = False) -> list[Promise]:
    """Return the promises of a reply whose topic none of the other texts names.

    With `prices`, a fee counts although another text names a price, if its amount stands in none of them and
    follows from none of their values: "The ticket is $80. A service charge of $9 will be added."

    A promise is a statement that the speaker gives or does something, or that the user may take it. Questions, negated
    clauses and courtesies are none. A condition is a statement about a fee, a proof that is needed, members, a sale
    without return, or an obligation.
    """
    promises = () if reply.isascii() and not _cues(reply) else _promises(reply)
    if not promises:
        return []
    grounds = tuple(grounds)
    topics = set[str]().union(*(_topics(text) for text in grounds))
    if not topics.isdisjoint(_COMPENSATIONS):
        topics |= {"compensation"}
    invented: dict[str, Promise] = {}
    for item in promises:
        is_known = item.topic in topics or (item.is_condition and any(_names(item, text) for text in grounds))
        if not is_known or (prices and item.topic == "fee" and _adds_price(item, reply, grounds)):
            invented.setdefault(item.topic, item._replace(is_known=is_known))
    return list(invented.values())


def _names(item: Promise, text: str) -> bool:
    return bool(_conditions()[item.topic].named.search(_NO_PRICES.sub("", text.lower())))


def _adds_price(item: Promise, reply: str, grounds: tuple[str, ...]) -> bool:
    """Return whether a fee has an amount that the other texts neither state nor lead to."""
    amounts = [fact for fact in read_facts(reply) if fact.kind == "amount" and item.start <= fact.start < item.end]
    known_facts = [fact for text in grounds for fact in read_facts(text)][:_MOST_VALUES]
    is_asked = item.topic in _topics(grounds[-1]) or _names(item, grounds[-1])
    if not amounts or (is_asked and all(fact.kind != "amount" for fact in known_facts)):
        return False
    values = {fact.readings[0].as_written for fact in known_facts}
    results = values | {result for a in values for b in values for result in (a + b, abs(a - b), a * b, a * b / 100)}
    return not any(
        any(abs(fact.readings[0].as_written - result) < _CENT for result in results)
        or any(equal_facts(former, fact) for former in known_facts)
        for fact in amounts
    )


_MOST_VALUES = 30
_CENT = 0.01
_NO_PRICES = LazyPattern(
    r"资料|資料|材料|饮料|飲料|料理|原料|燃料|塗料|食料|史料|肥料|给料|給料|消费|消費|浪费|浪費|免费|免費|元気|公元|单元|單元|元年|元旦|収集|收到|收拾|收藏|收音|付近|付き|受付"
)
"""Words with the sign of a price that name none."""


@remember_short
def _promises(text: str) -> tuple[Promise, ...]:
    small = text.lower()
    cues = _cues(text) if text.isascii() else frozenset[str]()
    if len(small) != len(text) or not (
        any(_phrases(word).search(small) for word in cues) if text.isascii() else _words().search(small)
    ):
        return ()
    promises: list[Promise] = []
    for start, end in split_sentences(small):
        sentence = small[start:end]
        if cues and not any(word in sentence for word in cues):
            continue
        if sentence and sentence.rstrip()[-1:] not in {"?", "？"}:
            for topic in _find_promised_topics(sentence):
                condition = _conditions().get(topic)
                if condition and _THIRD_PARTIES.search(sentence):
                    continue
                if (condition.frame if condition else _FRAME).search(sentence):
                    promises.append(Promise(topic, start, end, condition is not None))
    return tuple(promises)


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
    pattern = _words()
    if small.isascii():
        cues = _cue_words().intersection(_LATIN.findall(small))
        if not cues:
            return ()
        if len(cues) == 1:
            pattern = _phrases(*cues)
    return tuple(dict.fromkeys(_table()[word] for word in pattern.findall(small)))


def _cues(text: str) -> frozenset[str]:
    """Return the words of a text in ASCII that may belong to an English topic."""
    # The canonical text has the same words apart from numerals, and its cues are known from the facts.
    return read_cues(canonicalise(text).text).words & _cue_words()


@cache
def _cue_words() -> frozenset[str]:
    """Return the longest word of each English topic: the first is often a word such as "no" or "you"."""
    return frozenset(map(_longest_word, filter(str.isascii, _table())))


def _longest_word(phrase: str) -> str:
    words: list[str] = _LATIN.compiled.findall(phrase)
    return max(words, key=len)


@cache
def _phrases(cue_word: str) -> LazyPattern:
    """Return the pattern of the English topics with a word, which is faster than that of all topics."""
    phrases = (item for item in _table() if item.isascii() and _longest_word(item) == cue_word)
    return LazyPattern(alternatives(phrases, starts=True, ends=True))


class _Condition(NamedTuple):
    """A kind of condition: the words of a sentence that states it, and the words by which another text names it."""

    frame: LazyPattern
    named: LazyPattern


@cache
def _table() -> dict[str, str]:
    rows = [*_rows("promises.txt"), *_rows("conditions.txt")]
    return {word.strip(): topic for topic, words, *_ in rows for word in words.split(",")}


@cache
def _conditions() -> dict[str, _Condition]:
    return {
        topic: _Condition(
            _FRAMES[frame],
            LazyPattern(alternatives((word.strip() for word in names.split(",")), starts=True, ends=True)),
        )
        for topic, _, frame, names in _rows("conditions.txt")
    }


def _rows(name: str) -> list[list[str]]:
    from importlib import resources  # takes longer than the rest of the import

    text = (resources.files("fairtrial.text.facts") / name).read_text(encoding="utf-8")
    return [
        [cell.strip() for cell in line.split("|")] for line in text.splitlines() if line and not line.startswith("#")
    ]


@cache
def _words() -> LazyPattern:
    return LazyPattern(alternatives(_table(), starts=True, ends=True))
