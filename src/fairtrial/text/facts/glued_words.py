"""Words beside a number: those that lost their space, as in "onMarch 2", months of two days, and Roman numerals."""

from __future__ import annotations

from fairtrial.text.facts.word_patterns import read_cues
from fairtrial.text.lazy_pattern import LazyPattern

_SMALL = "in into on of from about takes take the has is was since by at and until between around to for than are or over only"
_AFTER = "after as at by for in on and with to when from until during every"
_MONTHS = "january february march april may june july august september october november december".split()
_GLUED_MONTHS = frozenset(
    word + month for word in ("in", "on", "of", "from", "since", "by", "until") for month in _MONTHS
)
_BESIDE_DIGIT = LazyPattern(r"\d(?:(?<=[a-z]\d)|[a-z])")
_GLUED = LazyPattern(
    rf"(?<![a-z0-9_.@/#-])(?P<word>{_SMALL.replace(' ', '|')})(?=\d{{1,4}}(?![a-z0-9_-])|\d{{4}}s|\d{{4}}(?:{_AFTER.replace(' ', '|')})(?![a-z]))"
    rf"|(?<=\d\d\d\d)(?=(?:{_AFTER.replace(' ', '|')})(?![a-z0-9]))|(?<=\dth)(?=every)"
    rf"|(?<=[a-z ]\d)(?=(?:{_AFTER.replace(' ', '|')}) (?:the|an?|his|her|its)\b)"
    rf"|(?<![a-z])(?P<before>in|on|of|from|since|by|until)(?=(?:{'|'.join(_MONTHS)}) \d)"
)


_MONTH = "|".join(_MONTHS)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DAYS = LazyPattern(
    rf"(?<![\d.,:/$-])(?P<day>{_DAY})(?=[ ]?(?:-|to|and|or|through|until)[ ]?{_DAY} (?:of )?(?P<month>{_MONTH})\b)"
    rf"|\b(?P<first>{_MONTH}) {_DAY}[ ]?(?:-|to|through|until)[ ]?(?=\d{{1,2}}(?:st|nd|rd|th)?(?![\d:/.]|[ ]?[ap]\.?m\b))"
)
_ROMAN = LazyPattern(
    r"\b(?:article|section|chapter|title|part|war|volume|act|book|phase|amendment) (?P<roman>iii|ii|iv|vi{1,3}|ix|xi{0,3}v?)\b"
)
_PARTS = frozenset("article section chapter title part war volume act book phase amendment".split())
_ROMANS = {
    "ii": 2,
    "iii": 3,
    "iv": 4,
    "vi": 6,
    "vii": 7,
    "viii": 8,
    "ix": 9,
    "xi": 11,
    "xii": 12,
    "xiii": 13,
    "xiv": 14,
}
_MONTH_SET = frozenset(_MONTHS)


def spread_words(text: str) -> list[tuple[int, int, str]]:
    """Return the edits that write the month of a range of days twice ("6-14 july"), and digits for "article ii"."""
    words = read_cues(text).words
    edits: list[tuple[int, int, str]] = []
    if not words.isdisjoint(_MONTH_SET):
        for match in _DAYS.finditer(text):
            if match["day"]:
                edits.append((match.end("day"), match.end("day"), f" {match['month']}"))
            else:
                edits.append((match.end(), match.end(), f"{match['first']} "))
    if not words.isdisjoint(_PARTS) and not words.isdisjoint(_ROMANS):
        edits += [
            (*match.span("roman"), str(value))
            for match in _ROMAN.finditer(text)
            if (value := _ROMANS.get(match["roman"]))
        ]
    return sorted(edits)


def split_glued(text: str) -> list[tuple[int, int, str]]:
    """Return the edits that put a space between a small word and a number or a month: their spans, and the space."""
    if not (_BESIDE_DIGIT.search(text) or not _GLUED_MONTHS.isdisjoint(read_cues(text).words)):
        return []
    return [(match.end(), match.end(), " ") for match in _GLUED.finditer(text)]
