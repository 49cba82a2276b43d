"""The difference between a reply and its reference: language, refusal, a fact, a turned statement, or a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairtrial.analysis.failures.refusal_phrases import other_language, refuses
from fairtrial.records.failure_mode import Signature
from fairtrial.text.display import shorten
from fairtrial.text.sentences import sentences

if TYPE_CHECKING:
    from fairtrial.text.facts.fact import Fact

_SHOWN = 80
_LONGEST = 20_000
"""The beginning of a text whose facts are compared."""

FactKey = tuple[str, object]
"""The dimension and the value of a reading. Equal facts share a key, for example "5 km" and "5,000 m"."""


def compare_replies(reply: str, reference: str) -> tuple[Signature, str] | None:
    """Return the difference of a reply from its reference with a reason, or None if only words differ."""
    if not reply.strip():
        return None if not reference.strip() else (Signature("empty"), "the reply is empty")
    languages = other_language(reply, reference)
    if languages is not None:
        return Signature("language"), (f"the reply is in the language {languages[0]}, the reference in {languages[1]}")
    if refuses(reply) and not refuses(reference):
        return Signature("refusal"), "the agent refuses, and the reference does not"
    reply, reference = reply[:_LONGEST], reference[:_LONGEST]
    return _compare_facts(reply, reference)


def _compare_facts(reply: str, reference: str) -> tuple[Signature, str] | None:
    """Return the first fact that the reply contradicts, otherwise a clause that it turns, otherwise a lacking fact."""
    # The patterns of facts take longer to import than all other differences.
    from fairtrial.text.facts.fact_agreement import compare_facts, find_oppositions

    agreement = compare_facts(reference, reply, polarity=False)
    for finding in agreement.findings:
        if finding.state == "contradicted" and finding.counterpart is not None:
            theirs, ours = fact_text(finding.fact, reference), fact_text(finding.counterpart, reply)
            return Signature("value_differs", field=finding.fact.kind), f"the reply states {ours}, expected {theirs}"
    for item in () if agreement.unread else find_oppositions(reference, reply, agreement.findings)[0]:
        theirs, ours = reference[item.start : item.end], reply[item.other_start : item.other_end]
        reason = f"the reply says {shorten(ours, _SHOWN)!r}, and the reference {shorten(theirs, _SHOWN)!r}"
        return Signature("opposed", field=item.name), reason
    for finding in agreement.findings:
        if finding.state == "missing":
            text = fact_text(finding.fact, reference)
            reason = f"the reply does not state {text}, which the reference has"
            return Signature("value_missing", field=finding.fact.kind), reason
    return None


def fact_text(fact: Fact, text: str) -> str:
    """Return a fact as its text writes it."""
    return shorten(text[fact.start : fact.end].strip(), _SHOWN)


def lacking_sentence(reply: str, reference: str) -> str:
    """Return the sentence of the reference that shares the fewest words with the reply, or "" if it has all of them."""
    words = _split_words(reply[:_LONGEST])
    shares = [
        (len(own & words) / len(own), number, sentence)
        for number, sentence in enumerate(sentences(reference[:_LONGEST]))
        if (own := _split_words(sentence))
    ]
    share, _, sentence = min(shares, default=(1.0, 0, ""))
    return sentence if share < 1 else ""


def _split_words(text: str) -> set[str]:
    """Return the words of a text, or pairs of letters if it is written without spaces."""
    words = text.lower().split()
    if text and len(words) < len(text) / 12:
        return {text[at : at + 2] for at in range(len(text) - 1)}
    return {word.strip(".,;:!?()[]\"'") for word in words} - {""}


def collect_facts(texts: Iterable[str]) -> dict[FactKey, str]:
    """Return the facts of texts as they are written, by all of their readings."""
    from fairtrial.text.facts.fact_reading import read_facts  # its patterns take long to import, as above

    facts: dict[FactKey, str] = {}
    for text in texts:
        for fact in read_facts(text[:_LONGEST]):
            if not fact.weak:
                for reading in fact.readings:
                    facts.setdefault((reading.dimension, reading.value), fact_text(fact, text))
    return facts
