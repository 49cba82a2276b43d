"""Split language model text into sentences, in Korean, Japanese, Chinese and English.

The rules are our own and not a library's, because the judge's questions depend on the cut. The same text must be cut
alike on every machine, whatever the versions of other packages. Every character belongs to exactly one piece.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from fairtrial.records.record import Record
from fairtrial.text.facts.memory import remember_short
from fairtrial.text.lazy_pattern import LazyPattern, compile_properties


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALWAYS = _words(
    "mr mrs ms mx dr prof rev hon gen col capt lt sgt maj gov sen rep pres supt st mt ft messrs mme mlle "
    "fig figs eq eqs vol vols pp ch sec art ver e.g i.e cf viz vs approx ca"
)
"""Abbreviations that never end a sentence."""

BEFORE_NUMBER = _words("no nos")
"""Words that are abbreviations only before a number. For example, "No. 5", but not "We answer no."."""

MAYBE = _words(
    "etc inc ltd co corp bros jr sr ph.d m.d b.a m.a d.c u.s u.k u.n e.u a.m p.m al dept est ext min max misc avg "
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
"""Abbreviations that may end a sentence.

They do if the next word begins with a capital. If they have inner full stops, the next word must be a starter.
"""

STARTERS = _words(
    "The A An He She It They We You I This That These Those There Then In On At But And So If When While After "
    "Before However Also Please Our Your His Her Its Their Is Are Was Were Do Does Did Can Could Will Would No Not Yes "
    "What How Let Let's For As With To All Some My Here Now Thank Thanks Who Where Why Which Since Because"
)
"""Words that begin a sentence rather than continue a name. For example, "the U.S. It", but not "the U.S. Army"."""


class Piece(Record, frozen=True):
    """A text part: a sentence, or the characters between sentences."""

    text: str
    is_sentence: bool


@remember_short
def cut(text: str) -> tuple[Piece, ...]:
    """Return a text's pieces in order. Joined together they are the text.

    A code block, a table row and a heading are one sentence each. A list item may hold several. White space, rules,
    table frames and pieces without letters and digits are not part of any sentence.
    """
    ends = [end for start, stop in _blocks(text) for end in _ends(text, start, stop)]
    pieces: list[Piece] = []
    start = 0
    for end in ends:
        pieces += _pieces(text[start:end])
        start = end
    return _merge_parts([*pieces, *_pieces(text[start:])])


def sentences(text: str) -> tuple[str, ...]:
    """Return a text's sentences, without the white space around them."""
    return tuple(piece.text for piece in cut(text) if piece.is_sentence)


_WORD = LazyPattern(r"[\p{L}\p{N}]", compile_properties)
_EDGES = LazyPattern(r"\A(\s*)(.*?)(\s*)\Z", compile_properties, re.DOTALL)
_FRAME = LazyPattern(r"\A\s*\|?[\s:|+-]+\|?\s*\Z", compile_properties)


def _pieces(text: str) -> list[Piece]:
    """Return a sentence and the white space around it as separate pieces."""
    before, core, after = _EDGES.findall(text)[0]
    is_sentence = bool(_WORD.search(core)) and not _FRAME.match(core)
    return [Piece(part, is_sentence=is_sentence and part is core) for part in (before, core, after) if part]


def _merge_parts(pieces: list[Piece]) -> tuple[Piece, ...]:
    """Join adjacent pieces that are not sentences."""
    merged: list[Piece] = []
    for piece in pieces:
        if merged and not piece.is_sentence and not merged[-1].is_sentence:
            merged[-1] = Piece(merged[-1].text + piece.text, is_sentence=False)
        else:
            merged.append(piece)
    return tuple(merged)


_LINE = LazyPattern(r"[^\n\r\u2028\u2029]*(?:\r\n|[\n\r\u2028\u2029]|\Z)", compile_properties)
_CODE = LazyPattern(r"[ \t]{0,3}(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})", compile_properties)
_MARKER = (
    r"(?:[-*+•‣◦▪·○●■□※–—] *(?=\S)|[-*+] +|\(?\d{1,3}[.)] +|\d{1,3}[.)](?=[\p{Han}\p{Hangul}\p{Kana}\p{Hira}])"
    r"|\(?[a-zA-Z][.)] +|[①-⑳㉠-㉭] *|[가나다라마바사아자차카타파하][.)] +"
    r"|[一二三四五六七八九十]+[、.．] *|[（(][一二三四五六七八九十\d]+[）)] *)"
)
_ITEM = LazyPattern(rf"[ \t　]*{_MARKER}", compile_properties)
_ROW = LazyPattern(r"[ \t]*\|", compile_properties)
_OWN_LINE = LazyPattern(r"[ \t]*(?:#{1,6} |\||[-=*_]{3,}[ \t]*$|[^\n]* \| )", compile_properties, re.MULTILINE)
_GOES_ON = LazyPattern(r"[ \t]*(?:\p{Ll}|[,，、;；)）\]])", compile_properties)
_CLOSED = LazyPattern(r"[.!?。！？…:：;；|][\"'”’」』)）\]】*_`~]*\s*\Z", compile_properties)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield a text's blocks, which no sentence crosses: paragraphs, items, headings, rows, code."""
    lines = [line.span() for line in _LINE.finditer(text) if line.end() > line.start()]
    place = 0
    while place < len(lines):
        last = _code_end(text, lines, place) if _CODE.match(text, *lines[place]) else place
        start = lines[place][0]
        if last == place:
            while last + 1 < len(lines) and _continues(text, lines[last], lines[last + 1]):
                last += 1
        yield start, lines[last][1]
        place = last + 1


def _code_end(text: str, lines: list[tuple[int, int]], place: int) -> int:
    mark = _CODE.findall(text, *lines[place])[0]
    for later in range(place + 1, len(lines)):
        if text[slice(*lines[later])].strip().startswith(mark):
            return later
    return len(lines) - 1


def _continues(text: str, line: tuple[int, int], following: tuple[int, int]) -> bool:
    """Return whether a line was only wrapped: it is not closed, and the next line continues a sentence."""
    content = text[slice(*line)]
    if not content.strip() or _CLOSED.search(content) or _OWN_LINE.match(content):
        return False
    starts_anew = any(pattern.match(text, *following) for pattern in (_CODE, _ITEM, _OWN_LINE))
    return not starts_anew and bool(_GOES_ON.match(text, *following))


_OPENERS = "([{（［｛〔【「『《〈“‘"
_CLOSERS = ")]}）］｝〕】」』》〉”’"
_PAIRS = dict(zip(_OPENERS, _CLOSERS, strict=True))
_REACH = 300
_AFTER = r"[\"'”’」』)）\]】》〉*_~`｣]*(?:\[\d+\])*"
_PICTURE = r"[\p{Extended_Pictographic}\U0001F1E6-\U0001F1FF]"
_EMOJI = rf"(?:[ \t]*{_PICTURE}(?:[\uFE0F\u200D\U0001F3FB-\U0001F3FF]|{_PICTURE})*)*"
_STOP = LazyPattern(rf"(?P<stop>[.!?。！？｡．‼⁇⁈⁉…]+)(?P<after>{_AFTER})(?P<emoji>{_EMOJI})", compile_properties)
_OPAQUE = LazyPattern(
    r"`[^`\n]+`|(?<![A-Za-z0-9])(?:https?://|www\.)[^\s<>\"'“”‘’「」『』（）)《》【】。、，；：！？…]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    compile_properties,
)
_DATE = LazyPattern(r"(?<!\d)\d{4}\. ?\d{1,2}\. ?\d{1,2}(?:\.(?= ?[\p{Hangul}(~]))?", compile_properties)
"""A date as it is written in Korean, for example 2026. 7. 13."""
_BLANK = LazyPattern(r"\s*", compile_properties)
_NEAR = 60
_CJK = LazyPattern(r"[\p{Han}\p{Hangul}\p{Hira}\p{Kana}]", compile_properties)
_BEFORE_QUOTE = LazyPattern(r"[\p{L}\p{N}.!?,]", compile_properties)
_WIDE_STOPS, _QUOTES, _BRACKETS = frozenset("。！？｡．‼⁇⁈⁉"), frozenset("」』”’\"'"), frozenset(")）]】")
_SMALL = LazyPattern(r"\p{Ll}(?!\p{Lu})", compile_properties)
_CAPITAL = LazyPattern(r"\s*[\"“(]?\p{Lu}", compile_properties)
_QUOTE_PARTICLE = LazyPattern(
    r"(?:と|って|という|とか|など|なんて|です|でした|だ(?!か|が)|で(?!も|は)|へ|から|まで|より|、|，|は(?!い)|が|を|の|に"
    r"|も(?!う)|라고|라며|라는|라면서|라던|고 |고는|하고|하며|이라고|이라는|란 |란다|며 |는 "
    r"|[\p{Han}]{0,6}?(?:说|說|道|问|問|答|喊|表示|写道|寫道)(?!\p{Hira}))",
    compile_properties,
)
_QUOTE_VERB = LazyPattern(r"(?:と|って)(?:言|云|思|聞|考|答|叫|感|い[いうえっわ])", compile_properties)
_FINAL = LazyPattern(r"[다요까죠네]\Z", compile_properties)


def _ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield the sentence ends in a block. The last is the block's own end."""
    if not _CODE.match(text, start, stop) and not _ROW.match(text, start, stop):
        spans = deque(sorted(_closed_spans(text, start, stop)))
        marker = _ITEM.match(text, start, stop)
        at = begin = marker.end() if marker else start
        while full_stop := _STOP.search(text, at, stop):
            while spans and spans[0][1] <= full_stop.start():
                spans.popleft()
            if spans and spans[0][0] <= full_stop.start():
                at = max(full_stop.start() + 1, spans[0][1])
                continue
            at = full_stop.end()
            if _BLANK.fullmatch(text, at, stop):
                break
            if _is_end(text, full_stop, begin, stop):
                yield at
                begin = at
    yield stop


def _closed_spans(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return the spans in which no sentence ends: code, addresses, dates, and text in brackets or quotes.

    A quoted sentence's span ends before its full stop, so that the text after the quote decides.
    """
    spans = [match.span() for match in _OPAQUE.finditer(text, start, stop)]
    spans = [
        (begin, end - len(text[begin:end]) + len(text[begin:end].rstrip(".!?。！？,，、"))) for begin, end in spans
    ]
    spans += [match.span() for match in _DATE.finditer(text, start, stop)]
    place = start
    while place < stop:
        closer = _closing(text, place, stop)
        if closer is None:
            place += 1
            continue
        end = closer
        while end > place + 1 and text[end - 1] in ".!?。！？…":
            end -= 1
        spans.append((place, end))
        place = closer + 1
    return spans


def _closing(text: str, place: int, stop: int) -> int | None:
    """Return where the bracket or quote stands that closes the one at `place`, or None if none is within reach."""
    opener = text[place]
    if opener == '"':
        opens = place == 0 or not _BEFORE_QUOTE.match(text, place - 1)
        end = text.find('"', place + 1, min(stop, place + _REACH)) if opens else -1
        return end if end > 0 else None
    if opener not in _PAIRS or text.find(_PAIRS[opener], place, min(stop, place + _REACH)) < 0:
        return None
    depth = 0
    for at in range(place, min(stop, place + _REACH)):
        if text[at] == opener:
            depth += 1
        elif text[at] == _PAIRS[opener]:
            depth -= 1
            if depth == 0:
                return at
    return None


def _is_end(text: str, full_stop: re.Match[str], begin: int, stop: int) -> bool:
    """Return whether the sentence that begins at `begin` ends with this full stop and the closing marks after it.

    At most `_NEAR` characters on either side decide.
    """
    before = text[max(begin, full_stop.start() - _NEAR) : full_stop.start()]
    rest = text[full_stop.end() : min(stop, full_stop.end() + _NEAR)]
    mark, after = full_stop["stop"], full_stop["after"]
    if _goes_on_after(after, rest, text[begin : begin + 9].lstrip("* _~")[:1]):
        return False
    if not _WIDE_STOPS.isdisjoint(mark):
        decimal = mark == "．" and (before[-1:] + rest[:1]).isdecimal()
        return not (decimal or rest.startswith(("、", "，", ",", "・")) or _QUOTE_VERB.match(rest))
    if "…" in mark or (len(mark) > 1 and set(mark) == {"."}):
        return _after_ellipsis(before, rest)
    if not rest[:1].isspace() and not full_stop["emoji"]:
        return bool(_CJK.match(rest) and _CJK.match(before[-1:]))
    following = rest.lstrip()
    if _SMALL.match(following) or following[:1] in {",", ";", ")", "）"}:
        return False
    return mark != "." or not _is_abbreviation(before, following)


def _goes_on_after(after: str, rest: str, first: str) -> bool:
    """Return whether the sentence continues behind closing marks, with a speaker or with the text around brackets."""
    if not _QUOTES.isdisjoint(after) and _QUOTE_PARTICLE.match(rest.lstrip(" ")):
        return True
    if "》" in after or "〉" in after:
        return True
    return not _BRACKETS.isdisjoint(after.partition("[")[0]) and first not in "(（[【"


def _after_ellipsis(before: str, rest: str) -> bool:
    if not rest[:1].isspace():
        return False
    return bool(_CAPITAL.match(rest)) or bool(_FINAL.search(before))


_ANEW = LazyPattern(rf"[\"“(]?(?:{'|'.join(sorted(STARTERS))})\b|[\p{{Han}}\p{{Hangul}}]", compile_properties)
_NUMERAL = LazyPattern(r"\p{N}", compile_properties)
_BEGINNING = LazyPattern(r"[\"“(]?\p{Lu}|[\p{Han}\p{Hangul}]", compile_properties)
_LAST_WORD = LazyPattern(r"(?<![\p{L}\p{N}.°])(?:(?:\p{L}\.)+\p{L}|[\p{L}\p{N}]+)\Z", compile_properties)
_LETTERED = LazyPattern(
    r"\b(?:plan|vitamin|type|option|section|grade|class|team|part|appendix|hepatitis|group)\s+\Z",
    compile_properties,
    re.IGNORECASE,
)


def _is_abbreviation(before: str, following: str) -> bool:
    """Return whether the full stop after `before` belongs to an abbreviation, and the sentence continues."""
    last_word = _LAST_WORD.search(before)
    if not last_word:
        return False
    word = last_word[0]
    lower = word.lower()
    if lower in ALWAYS or lower in BEFORE_NUMBER:
        return lower in ALWAYS or bool(_NUMERAL.match(following))
    if len(word) == 1 and word.isascii() and word.isalpha():
        earlier = before[: last_word.start()]
        starts_anew = bool(earlier.strip()) and bool(_ANEW.match(following))
        return word.isupper() and word != "I" and not starts_anew and not _LETTERED.search(earlier)
    if "." in word:
        return not _ANEW.match(following)
    return lower in MAYBE and not _BEGINNING.match(following)
