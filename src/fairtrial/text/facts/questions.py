"""Details that a reference adds to its answer, and that the question does not ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.finding import Finding

_NAME_QUESTION = LazyPattern(r"(?i)\b(?:who|whose|whom|where|which|what)\b")
_VALUE_QUESTION = LazyPattern(
    r"(?i)\b(?:when|how|why|years?|dates?|days?|months?|times?|(?:what|which|the|in) numbers?(?! one)|ages?|old|many|much|long|often|far|costs?|prices?"
    r"|amounts?|fees?|percent|percentage|scores?|sizes?|length|height|weight|temperature|distance|speed|rates?|population"
    r"|codes?|versions?|totals?|sum|counts?|values?|terms?|details?|status|about)\b|\?.*\?"
)
_PERSON_QUESTION = LazyPattern(r"(?i)\bwho(?:se|m)?\b")
_HEAD_END = LazyPattern(r",|\s\(|\s(?:in|of|from) (?=\d)|[.;:](?=\s)|\s[-–—]\s|\s(?:who|which)\s")
_WORD = LazyPattern(r"[^\W\d_]+")
_SMALL = frozenset("the a an of and in on at to for by from with is was are were".split())
_LONGEST_HEAD = 12
_ALTERNATIVE = LazyPattern(r"\s+or\s+")
_MOST_WORDS = 8


def soften_details(findings: Sequence[Finding], reference: str, reply: str, question: str) -> list[Finding]:
    """Return the findings, those of details undecided that the question does not ask for and the reply leaves out.

    For example, "Who sang it?" asks for no year, and "Cher, in 1998" begins with its answer. An answer is a name. In
    "physical layer or layer 1", either side is the answer.
    """
    lacking = [item for item in findings if item.state == "missing"]
    if not lacking or any(item.state == "contradicted" for item in findings):
        return list(findings)
    words = frozenset(word.lower() for word in _WORD.findall(reply))
    start = _find_alternative(findings, reference, words)
    if not start:
        start = _find_head(reference, reply, question, words) if question else 0
    if not start or any(item.fact.start < start for item in findings):
        return list(findings)
    return [
        item._replace(state="undecided", why=f"the reply states the answer, and the user asked for no {item.fact.kind}")
        if item.state == "missing"
        else item
        for item in findings
    ]


def _find_head(reference: str, reply: str, question: str, words: frozenset[str]) -> int:
    """Return where the details of a reference begin if the reply states the name before them, or 0."""
    if not _NAME_QUESTION.search(question) or any(_VALUE_QUESTION.search(line) for line in question.splitlines()):
        return 0
    match = _HEAD_END.search(reference)
    head = [word for word in _WORD.findall(reference[: match.start()]) if word.lower() not in _SMALL] if match else []
    if match is None or not head or len(head) > _LONGEST_HEAD or head[-1].lower() not in words:
        return 0
    if 3 * sum(word.lower() in words for word in head) < len(head):
        return 0
    is_name = any(word[0].isupper() for word in head[1:]) or (
        head[0][0].isupper()
        and bool(_PERSON_QUESTION.search(question) or f" {head[0]}" in reply or reply.strip(" .") == head[0])
    )
    return match.start() if is_name else 0


def _find_alternative(findings: Sequence[Finding], reference: str, words: frozenset[str]) -> int:
    """Return where the second of two alternatives begins if the reply states the first, which has no fact, or 0."""
    cuts = list(_ALTERNATIVE.finditer(reference))
    if len(cuts) != 1 or len(reference.split()) > _MOST_WORDS:
        return 0
    former = [word.lower() for word in _WORD.findall(reference[: cuts[0].start()])]
    if len(former) < 2 or not words.issuperset(former):
        return 0
    return cuts[0].end() if all(item.fact.start >= cuts[0].end() for item in findings) else 0
