"""Polarity: clauses of a reply that say the opposite of a clause of the reference.

Two clauses are compared if they share most of their words. Each may hold negations ("not", 지 않, ません, 不) and values
that exclude one another ("open" and "closed"). An odd number of differences turns a clause round.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from fairtrial.text.facts.canonical import canonicalise
from fairtrial.text.facts.memory import remember_short
from fairtrial.text.facts.opposites import find_values, has_two_values, may_hold_values
from fairtrial.text.facts.stems import read_stems
from fairtrial.text.facts.word_patterns import StartPattern, read_cues
from fairtrial.text.lazy_pattern import LazyPattern

_SHARED = 0.7
"""The share of the words of the shorter clause that both clauses must have."""
_SHARED_OF_ALL = 0.6
"""The share of the words of both clauses that both must have."""
_REPEATED = 0.8
"""The share of the words of a sentence that a sentence must repeat to deny it."""
_ROUNDING = 1e-6
_MOST_CLAUSES = 200
"""The number of clauses that are compared, so that the time stays linear in the length of the texts."""
_LONGEST_CLAUSE = 600


class Opposition(NamedTuple):
    """A clause of the reference and its opposite in the reply, with their places in both texts."""

    name: str
    start: int
    end: int
    other_start: int
    other_end: int


class _Content(NamedTuple):
    """What a clause says: its stems, its number of negations, its values, and whether it is limited, as by "only".

    `within` has the question of a value for each negation that belongs to it, as in "none", 재고가 없 or 誰も…ません.
    `everybody` says whether it is about all persons.
    """

    words: frozenset[str]
    negations: int
    values: tuple[tuple[str, int], ...]
    only: bool
    within: tuple[str, ...] = ()
    everybody: bool = False

    def count_negations(self, axes: Container[str]) -> int:
        """Return the number of negations, apart from those inside the values of some questions."""
        return self.negations - sum(map(axes.__contains__, self.within)) if self.within else self.negations


class _Clause(NamedTuple):
    start: int
    end: int
    content: _Content

    @property
    def is_decisive(self) -> bool:
        """Return whether a clause answers a question whose values exclude one another."""
        values = self.content.values
        return bool(values) and any(axis in _DECISIVE for axis, _ in values)

    def has_other_numbers(self, counterpart: _Clause) -> bool:
        """Return whether both have a number that the other lacks: "1,050 with tax" does not deny "1,000 without tax"."""
        numbers, other_numbers = (
            {word for word in item.content.words if word.isdecimal()} for item in (self, counterpart)
        )
        return bool(numbers - other_numbers and other_numbers - numbers)

    def may_be_repeated(self, text: str) -> bool:
        """Return whether a text holds enough of the stems, which are beginnings of words."""
        words = self.content.words
        return sum(map(text.__contains__, words)) >= _SHARED_OF_ALL * len(words)


_new_clause: Callable[[tuple[int, int, _Content]], _Clause] = partial(tuple.__new__, _Clause)
_new_content: Callable[
    [tuple[frozenset[str], int, tuple[tuple[str, int], ...], bool, tuple[str, ...], bool]], _Content
] = partial(tuple.__new__, _Content)
_BREAK = LazyPattern(
    r"[.!?](?=\s|$)|[。!?;:\n|]|,(?!\d)\s*|、(?=[^、。]{8})|\s[-–]\s|\((?=[^)]{6})|\)"
    r"|(?<=[가-힣])(?:지만|는데|으며|하며|이며|(?<![재창광경권예최중출장])고)(?=[ ,])|(?<=[ますでした])が、?(?=[^、]{4})"
    r"|\b(?:but|and|because|so|although|while|whereas|however)\b"
)
_ASCII_BREAK = LazyPattern(
    # A search goes to the signs of the first set at once.
    r"[.!?;:\n|,()\-baswh](?:(?<=[.!?])(?=\s|$)|(?<=[;:\n|)])|(?<=,)(?!\d)\s*|(?<=\s-)(?=\s)|(?<=\()(?=[^)]{6})"
    r"|(?<=\bb)(?:ut|ecause)\b|(?<=\ba)(?:nd|lthough)\b|(?<=\bs)o\b|(?<=\bw)h(?:ile|ereas)\b|(?<=\bh)owever\b)"
)
_NEGATION = StartPattern(
    r"[acdfhinruw-](?:(?<=n)(?=[oe'])|(?<=d)(?=o)|(?<=w)(?=[iho])|(?<=i)(?=s)|(?<=r)(?=e)|(?<=[fu])(?=[an])|(?<=[ach])(?=[va])|(?<=-)(?=f))"
    r"|[가관금끊넘못문변불빠뿐상수아안않없에이중지진초틀할휴おかくざしすずでとなぬま不休会停免别別勿危可好定对対對少差控无是會有未沒没無申禁能莫行要超閉間闭非]",
    # What looks like a negation and is none, or belongs to a limit, comes first.
    r"(?P<none>not only|no (?:later|earlier|sooner|more|less|fewer|longer|greater) than|not (?:more|less|fewer|later|over|exceed\w*) |no problem|no worries|no doubt"
    r"|(?:do not|don't) hesitate|(?:do not|don't) worry|whether or not|no matter|not exceed|never exceeds?|never more than|\bno\.? ?(?=\d)"
    r"|(?:won't|will not|doesn't|does not|isn't|is not|not) [a-z]+ (?:until|before)\b|^no,|\bno, "
    r"|(?:넘|초과하|상회하)(?:지|진) ?(?:않|말|마)[가-힣]*|수밖에 없|틀림없|문제없|상관없|관계없|끊임없|변함없|빠짐없|뿐(?:만)? 아니라|[이가] 아니라|[이가] 아닌|에 불과|못지않|안녕|안내|안전|안에|안으로|안쪽|안심|안정|안경|안건|안과"
    r"|かもしれ(?:ない|ません)|しか.{0,10}?(?:ない|ません)|間違いな|申し訳(?:あり|ござい)ません|すみません|ませんか|くださいません|少な(?:い|く)|危な|超え(?:ない|ません|ず)|ではないで?しょうか|とんでもな|おかげさま"
    r"|不过(?!敏|滤|期)|不過(?!敏|濾|期)|不仅|不僅|不但|不只|不管|不论|不論|不错|不錯|不久|不少(?!于|於)|不断|不斷|差不多|对不起|對不起|不好意思|不客气|不客氣|不用谢|不用謝|不(?:得|能|要|可)?(?:超过|超過|少于|少於|低于|低於|高于|高於|多于|多於|早于|晚于|晚於|足)"
    r"|没关系|沒關係|无论|無論|未来|未來|无线|無線|非常|是否|[能会會要可好行对對是]不[能会會要可好行对對是]|有没有|有沒有|不满|不滿|未满|未滿|未満|不到|不锈|不鏽|无人机|無人機|不同|別忘|别忘|別人|别人|別途|無料|無事|不動|不在のため)"
    r"|(?P<two>不得不|没有不|沒有不|不能不|ないのではな|不会不|不會不|없지 않|않을 수 없|ざるを得|ないわけでは?ない|ないわけがない)"
    r"|(?P<one>\b(?:refrain|avoid|repealed)\b|-free\b|금물|금지|중단|휴진|禁止|禁煙|控え|対象外|休診|休み|休館|定休|停诊|停診|闭馆|閉館|免签|免簽"
    r"|\b(?:not|never|none|nobody|neither|nor|cannot|without|unable|hardly|no)\b|\b(?:fails?|failed|refuses?|refused) to\b|n't\b"
    r"|(?<![가-힣])안 ?(?=[되돼됩됐했하합해할가나오와먹쓰보받열])|(?<![가-힣])못 ?(?=[하했합해할가간갔오온와받먹쓰])|지[는도를]? ?(?:않|못|말|마(?=[세시십]))|진 ?않|없|아니(?!면|라)|아닙|아닌|아님|불가(?!피)|할 수 ?없"
    r"|な(?:い(?!で?しょうか)|かった|けれ|く(?=て|な|は|も)|し(?=[。で、]|$))|ませ?ん|まい(?=[。、]|$)|ず(?=に|、|。|$)|不可|ぬ(?=[。、]|$)"
    r"|免(?=手续|手續|收|运费|運費|押金|服务费|服務費|付)|不|没|沒|未|无|無|非|勿|莫|别|別)",
)
_MAY_NEGATE = LazyPattern(
    r"n't|no|without|unable|fail|refuse|hardly|refrain|avoid|repeal|-free|[안못않없아말마금중휴불]|[な無ぬまず不禁控対休定停闭閉免没沒未无非勿莫别別]"
)
_ONLY = StartPattern(
    r"[abeiouしだの仅以僅只除만외이]",
    r"\b(?:only|except|besides|other than|apart from|unless|if)\b|(?<=[가-힣])만(?=[ 이은을])|외에|이외|のみ|だけ|しか|以外|只|仅|僅|除了|除非|以外",
)
_WORD = LazyPattern(r"[\u4e00-\u9fff]|[가-힣]+|[\u30a0-\u30ff]{2,}|[a-z]+|\d+(?:\.\d+)?")
_ASCII_WORD = LazyPattern(r"[a-z]+|\d+(?:\.\d+)?")
"""Finds the same in a text in ASCII."""
_WITH_NEGATION = frozenset("誰も 一つも 아무도 하나도".split())
"""Words that mean nobody or nothing only with the negation of their clause."""
_EVERYBODY = LazyPattern(
    r"[誰全皆大所每](?:(?<=誰)(?:で?も|一人|か)|(?<=全)員|(?<=皆)(?:さん|様)?|(?<=大)家都?|(?<=所)有人|(?<=每)[个個]人)"
)
"""Persons without a name, who are people as those of a number are: 全員 and 誰も beside 3人."""
_ALL_PERSONS = LazyPattern(
    r"\b(?:every|any)(?:one|body)\b|全員|皆|誰でも|誰もが|모두|전원|누구나|大家|所有人|每[个個]人"
)
"""Words for all persons. A clause with one says more than the same clause about somebody, or about two persons."""


class Polarity(NamedTuple):
    """The clauses of a reference that a reply turns round, and whether it repeats any clause as it is.

    Whether it does is known only if `compare_polarity` was asked for it.
    """

    oppositions: tuple[Opposition, ...]
    agreed: bool


def compare_polarity(reference: str, reply: str, *, repeats: bool = True) -> Polarity:
    """Compare the clauses of a reference with those of a reply, for example "it is shipped" with "it is not shipped".

    A clause is compared with the clause of the reply that shares the most words with it, if they share enough. The
    time is linear in the length of the texts, because only the first 200 clauses of each are compared. Without
    `repeats`, it may remain unknown whether the reply repeats a clause.
    """
    expected = clauses = _clauses(reference)
    text = canonicalise(reply).text
    if not repeats and not _may_turn_round(text):
        # Only a clause that holds a negation or a value may be turned round by a reply that holds none.
        clauses = tuple([clause for clause in expected if clause.content[1] or clause.content[2]])
    named = text if text.isascii() or _EVERYBODY_SIGNS.isdisjoint(text) else _EVERYBODY.sub("人", text)
    if not any(clause.is_decisive or clause.may_be_repeated(named) for clause in clauses):
        return Polarity(_find_denial(reference, reply) if expected else (), False)
    actual = _clauses(reply)
    hits: list[Opposition] = []
    agreed = False
    for clause in expected:
        counterpart = _nearest(clause, actual)
        if (
            counterpart is None
            or _nearest(counterpart, expected) is not clause
            or clause.content.only != counterpart.content.only
            or clause.has_other_numbers(counterpart)
        ):
            continue
        flips = [axis for axis, value in clause.content.values if _flips(axis, value, clause, counterpart)]
        if _is_turned_round(clause.content, counterpart.content, flips):
            if not flips and len(expected) == 1 and _is_repeated(clause, counterpart, actual):
                agreed = True
                continue
            name = flips[0] if flips else "negation"
            hits.append(Opposition(name, clause.start, clause.end, counterpart.start, counterpart.end))
        elif clause.content.everybody == counterpart.content.everybody:
            agreed = True
    return Polarity(tuple(hits) or _find_denial(reference, reply) or _whole(expected, actual), agreed)


def _may_turn_round(text: str) -> bool:
    """Return whether a canonical text may hold a negation or one of the values that exclude one another."""
    cues = read_cues(text)
    return (
        not cues.words.isdisjoint(_NEGATIVE_WORDS)
        or (not cues.ascii and bool(_MAY_NEGATE.search(text)))
        or may_hold_values(text, cues.words, cues.signs)
    )


def _is_turned_round(former: _Content, latter: _Content, flips: list[str]) -> bool:
    """Return whether an odd number of negations and of values differs. A value that both answer has its own inside."""
    shared = {axis for axis, _ in former.values} & {axis for axis, _ in latter.values}
    return (former.count_negations(shared) + latter.count_negations(shared) + len(flips)) % 2 == 1


_FALSE = StartPattern(
    r"[afinuwう不事假嘘有正誤謊谎錯错間거맞사잘틀]",
    r"\b(?:not|n't|never) (?:\w+ )?(?:true|correct|accurate|the case)\b|\b(?:untrue|a myth)\b|\b(?:false|incorrect|wrong|inaccurate)\b(?! (?!that|to|and|or|because|as|when|if|for|in|on|about|statement|information)[a-z])"
    r"|사실이 아[니닙]|사실과 [달다]|거짓|틀[린립렸]|맞지 않|잘못된|사실무근"
    r"|事実では(?:な|あ)|事実と異な|嘘|うそ|誤り|間違い(?:です|だ|であ)|正しくな|正しくあ"
    r"|不属实|不屬實|不是真的|不是事实|不是事實|不真实|不真實|假的|谎|謊|错误|錯誤|不正确|不正確|不准确|不準確|有误|有誤|不对|不對",
)
_FALSE_WORDS = frozenset("true correct accurate case untrue myth false incorrect wrong inaccurate".split())
"""One of these stands in each English match of the pattern."""
_WHOLE = LazyPattern(r"[.!?](?=\s|$)|[。!?\n]")


def _is_repeated(clause: _Clause, opposite: _Clause, counterparts: tuple[_Clause, ...]) -> bool:
    """Return whether another clause holds every word with the same polarity, as that of an answer of few words."""
    words, negations = clause.content.words, clause.content.negations
    return any(
        item is not opposite and item.start < opposite.start
        and words < item.content.words and (item.content.negations - negations) % 2 == 0
        for item in counterparts
    )  # fmt: skip


def _find_denial(reference: str, reply: str) -> tuple[Opposition, ...]:
    """Return a sentence of the reference that a sentence of the reply repeats and calls false."""
    whole = canonicalise(reply)
    if whole.text.isascii() and read_cues(whole.text).words.isdisjoint(_FALSE_WORDS):
        return ()
    if not _FALSE.search(whole.text) or _FALSE.search(reference.lower()):
        return ()
    expected = [words for part in _WHOLE.split(canonicalise(reference).text) if (words := _words(part))]
    for start, end in _spans(_WHOLE, whole.text):
        sentence = whole.text[start:end]
        if not _FALSE.search(sentence):
            continue
        actual = _words(sentence)
        if any(len(words & actual) >= _REPEATED * len(words) for words in expected[:_MOST_CLAUSES]):
            return (Opposition("denied", 0, len(reference), *whole.span(start, end)),)
    return ()


def _spans(breaks: LazyPattern, text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the pieces between breaks."""
    start = 0
    for match in breaks.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _flips(axis: str, value: int, clause: _Clause, counterpart: _Clause) -> bool:
    values = {item for name, item in counterpart.content.values if name == axis}
    if axis == "compass" and any((axis, item) in clause.content.values for item in values):
        # "In the south" for "in the southeast" is vaguer.
        return False
    return bool(values) and value not in values


def _whole(expected: tuple[_Clause, ...], actual: tuple[_Clause, ...]) -> tuple[Opposition, ...]:
    """Return the questions that each text answers with one value alone, if the values differ."""
    former, latter = _answers(expected), _answers(actual)
    return tuple(
        Opposition(axis, clause.start, clause.end, counterpart.start, counterpart.end)
        for axis, (value, clause) in former.items()
        if axis in latter and axis in _DECISIVE
        for other_value, counterpart in (latter[axis],)
        if value != other_value and not clause.has_other_numbers(counterpart)
    )


_DECISIVE = frozenset(
    (
        "availability inclusion outcome success test_result side compass seat tax cost trend win "
        "permission alive switch"
    ).split()
)
"""The questions whose values exclude one another even if the clauses share few words."""


def _answers(clauses: tuple[_Clause, ...]) -> dict[str, tuple[int, _Clause]]:
    answers: dict[str, set[int]] = {}
    where: dict[str, _Clause] = {}
    for clause in clauses:
        for axis, value in clause.content.values:
            negations = clause.content.count_negations((axis,))
            answers.setdefault(axis, set()).add((value + negations) % 2 if has_two_values(axis) else value)
            where[axis] = clause
    return {axis: (next(iter(values)), where[axis]) for axis, values in answers.items() if len(values) == 1}


def _nearest(clause: _Clause, counterparts: tuple[_Clause, ...]) -> _Clause | None:
    best, best_share, words = None, 0.0, clause.content.words
    size = len(words)
    least, most = _SHARED_OF_ALL * size - _ROUNDING, size / _SHARED_OF_ALL + _ROUNDING
    for counterpart in counterparts:
        other_words = counterpart.content.words
        counterpart_size = len(other_words)
        # Two sets share the smaller one at most.
        if not least <= counterpart_size <= most or words.isdisjoint(other_words):
            continue
        shared = len(words & other_words)
        of_all = shared / (size + counterpart_size - shared)
        if of_all > best_share and of_all >= _SHARED_OF_ALL and shared >= _SHARED * min(size, counterpart_size):
            best, best_share = counterpart, of_all
    return best


def is_negative(text: str) -> bool:
    """Return whether a text has an odd number of negations in one of its clauses."""
    return any(clause.content.negations % 2 for clause in _clauses(text))


@remember_short
def _clauses(text: str) -> tuple[_Clause, ...]:
    whole = canonicalise(text)
    clauses: list[_Clause] = []
    for start, end in _spans(_ASCII_BREAK if whole.text.isascii() else _BREAK, whole.text):
        content = _read_clause(whole.text[start : min(end, start + _LONGEST_CLAUSE)])
        if content is not None:
            clauses.append(_new_clause((*whole.span(start, end), content)))
            if len(clauses) == _MOST_CLAUSES:
                break
    return tuple(clauses)


@lru_cache(maxsize=4096)  # replies repeat the sentences of one another; a clause has 600 characters at most
def _read_clause(text: str) -> _Content | None:
    is_ascii = text.isascii()
    raw = frozenset(
        _ASCII_WORD.findall(text.replace("no one", "nobody"))
        if is_ascii
        else _WORD.findall(text if _EVERYBODY_SIGNS.isdisjoint(text) else _EVERYBODY.sub("人", text))
    )
    words = read_stems(raw)
    if not words:
        return None
    if is_ascii:
        may_negate, may_limit = not raw.isdisjoint(_NEGATIVE_WORDS), not raw.isdisjoint(_LIMITING_WORDS)
    else:
        may_negate, may_limit = bool(_MAY_NEGATE.search(text)), True
    may_be_everybody = not (raw.isdisjoint(_EVERYBODY_WORDS) and (is_ascii or _EVERYBODY_SIGNS.isdisjoint(text)))
    negations = [match.start() for match in _NEGATION.finditer(text) if match["one"]] if may_negate else []
    values = find_values(text, raw)
    within: tuple[str, ...] = ()
    if values and negations:
        within = tuple(item.axis for item in values for place in negations if item.start <= place < item.end)
        within += tuple(item.axis for item in values if text[item.start : item.end] in _WITH_NEGATION)
    everybody = may_be_everybody and bool(_ALL_PERSONS.search(text))
    distinct = tuple(dict.fromkeys((item.axis, item.number) for item in values)) if values else ()
    only = may_limit and bool(_ONLY.search(text))
    return _new_content((words, len(negations), distinct, only, within, everybody))


_NEGATIVE_WORDS = frozenset(
    "t not never none nobody neither nor cannot without unable hardly no refrain avoid repealed free fails failed refuses "
    "refused fail refuse".split()
)
_EVERYBODY_WORDS = frozenset("everyone everybody anyone anybody".split())
_EVERYBODY_SIGNS = frozenset("全皆誰모전누大所每")
"""The signs with which the other words for all persons begin."""
_LIMITING_WORDS = frozenset("only except besides other apart unless if".split())


def _words(text: str) -> frozenset[str]:
    return read_stems(frozenset(_WORD.findall(text)))
