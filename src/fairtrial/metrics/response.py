"""The criterion `response_match_score`: the word overlap of reply and reference, measured by ROUGE."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.pairing import compare_each, no_reference
from fairtrial.records.contents import not_recorded
from fairtrial.records.score import PartKey, Quote, Score
from fairtrial.text import rouge

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True, slots=True)
class ResponseMatch:
    """`response_match_score`: the F-measure of ROUGE between reply and reference, 0..1. A case is the mean.

    Without a reference an invocation is not applicable. Texts without tokens, for example blank texts or emoji, have
    the value 1 if they are equal after NFKC and strip, else 0.
    """

    rouge_type: Annotated[
        rouge.RougeType, Meta(description="the n-gram that is counted, or the longest common subsequence")
    ] = "rouge1"
    tokens: Annotated[
        rouge.Tokens,
        Meta(
            description="`characters` cuts Chinese, Japanese and Korean into characters, as ADK does. `words` finds "
            "words with ICU, Korean words at spaces (extra `words`)"
        ),
    ] = "characters"

    def __post_init__(self) -> None:
        check_options(self)
        if self.tokens == "words":
            rouge.require_words()

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation that has a reference, and take the mean."""
        return compare_each(trace, case, self._compare, excluded=no_reference)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def _compare(self, actual: Invocation, expected: Invocation, key: PartKey) -> Score:
        message = actual.final_response
        if message is not None and message.withheld:
            return Score(None, not_recorded(message, "reply"), side="infrastructure", key=key)
        reply, reference = actual.reply, expected.reply
        value = self._value(reply, reference)
        if value == 1:
            return Score(1.0, key=key)
        quotes = (Quote(reference, "expected"), Quote(reply, "actual"))
        return Score(value, f"{self.rouge_type} F {value:.3f} against the reference", quotes=quotes, key=key)

    def _value(self, reply: str, reference: str) -> float:
        if reply == reference and self.rouge_type != "rouge2":  # A text of one word has no pair of words to share.
            return 1.0
        if self.rouge_type == "rouge1" and self.tokens == "characters":
            counts, expected = rouge.count_characters(reply), rouge.remember_counts(reference)
            return rouge.overlap(counts, expected).f if counts or expected else _equality(reply, reference)
        tokens = rouge.words if self.tokens == "words" else rouge.characters
        ours, theirs = tokens(reply), rouge.remember_tokens(reference, self.tokens)
        if not ours and not theirs:
            return _equality(reply, reference)
        return rouge.rouge(ours, theirs, kind=self.rouge_type).f


def _equality(reply: str, reference: str) -> float:
    return float(_strip_text(reply) == _strip_text(reference))


def _strip_text(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()
