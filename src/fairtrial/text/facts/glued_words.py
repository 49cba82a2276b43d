"""Words that lost the space beside a number or a month, as in "in2013after" and "onMarch 2", in copied web pages."""

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


def split_glued(text: str) -> list[tuple[int, int, str]]:
    """Return the edits that put a space between a small word and a number or a month: their spans, and the space."""
    if not (_BESIDE_DIGIT.search(text) or not _GLUED_MONTHS.isdisjoint(read_cues(text).words)):
        return []
    return [(match.end(), match.end(), " ") for match in _GLUED.finditer(text)]
