"""Criteria that compare the characters of a reply with the reference: equal, or contained."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.pairing import compare_each, no_reference
from fairtrial.records.case import EvalCase
from fairtrial.records.contents import not_recorded
from fairtrial.records.score import PartKey, Quote, Score
from fairtrial.records.trace import Invocation, Trace

IgnoreCase = Annotated[bool, Meta(description="whether capital and small letters, and full and half width, are equal")]


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """`exact_match`: 1 if the reply is the reference, else 0. A case is the mean of its invocations.

    Both are normalised by NFC, and white space at their ends does not count. Without a reference an invocation is not
    applicable.
    """

    ignore_case: IgnoreCase = False

    def __post_init__(self) -> None:
        check_options(self)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation that has a reference, and take the mean."""
        return compare_each(trace, case, self._compare, excluded=no_reference)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def _compare(self, actual: Invocation, expected: Invocation, key: PartKey) -> Score:
        reply, reference = (_normalised(text, self.ignore_case) for text in (actual.reply, expected.reply))
        return _score(actual, expected, key, reply == reference, "the reply is not the reference")


@dataclass(frozen=True, slots=True)
class Contains:
    """`contains`: 1 if the reply contains the reference, else 0. A case is the mean of its invocations.

    Both are normalised by NFC, and white space at the ends of the reference does not count. Without a reference, or
    with a blank reference, an invocation is not applicable.
    """

    ignore_case: IgnoreCase = False

    def __post_init__(self) -> None:
        check_options(self)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation that has a reference, and take the mean."""
        return compare_each(trace, case, self._compare, excluded=_no_text)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def _compare(self, actual: Invocation, expected: Invocation, key: PartKey) -> Score:
        reply, reference = (_normalised(text, self.ignore_case) for text in (actual.reply, expected.reply))
        return _score(actual, expected, key, reference in reply, "the reply does not contain the reference")


def _no_text(expected: Invocation) -> str:
    """Return a reason if an invocation has no reference, or a reference that any reply contains."""
    return no_reference(expected) or ("" if expected.reply.strip() else "a blank reference")


def _normalised(text: str, ignore_case: bool) -> str:
    # Only NFKC joins the full and the half width of a character.
    text = unicodedata.normalize("NFKC", text).casefold() if ignore_case else text
    return unicodedata.normalize("NFC", text).strip()


def _score(actual: Invocation, expected: Invocation, key: PartKey, matches: bool, reason: str) -> Score:
    message = actual.final_response
    if message is not None and message.withheld:
        return Score(None, not_recorded(message, "reply"), side="infrastructure", key=key)
    if matches:
        return Score(1.0, key=key)
    quotes = (Quote(expected.reply, "expected"), Quote(actual.reply, "actual"))
    return Score(0.0, reason, quotes=quotes, key=key)
