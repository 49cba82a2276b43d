"""Criteria that compare the characters of a reply with the reference: equal, or contained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.pairing import compare_each, no_reference
from fairtrial.metrics.text_checks import contains_text, difference_place, equal_texts
from fairtrial.records.contents import not_recorded
from fairtrial.records.score import PartKey, Quote, Score

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace

IgnoreCase = Annotated[bool, Meta(description="whether capital and small letters, and full and half width, are equal")]


@dataclass(frozen=True, slots=True)
class _TextMatch(ABC):
    """A criterion that compares each reply with its reference. A subclass says when they match."""

    ignore_case: IgnoreCase = False

    def __post_init__(self) -> None:
        check_options(self)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation that has a reference, and take the mean."""
        return compare_each(trace, case, self._compare, excluded=self._why_excluded)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    @staticmethod
    def _why_excluded(expected: Invocation) -> str:
        """Return why an invocation is not applicable, or an empty text."""
        return no_reference(expected)

    @abstractmethod
    def _mismatch(self, reply: str, reference: str) -> str:
        """Return why a reply does not match, or an empty text."""

    def _compare(self, actual: Invocation, expected: Invocation, key: PartKey) -> Score:
        message = actual.final_response
        if message is not None and message.withheld:
            return Score(None, not_recorded(message, "reply"), side="infrastructure", key=key)
        mismatch = self._mismatch(actual.reply, expected.reply)
        if not mismatch:
            return Score(1.0, key=key)
        quotes = (Quote(expected.reply, "expected"), Quote(actual.reply, "actual"))
        return Score(0.0, mismatch, quotes=quotes, key=key)


@dataclass(frozen=True, slots=True)
class ExactMatch(_TextMatch):
    """`exact_match`: 1 if the reply is the reference, else 0. A case is the mean of its invocations.

    Both are normalised by NFC, and white space at their ends does not count. Without a reference an invocation is not
    applicable.
    """

    def _mismatch(self, reply: str, reference: str) -> str:
        if equal_texts(reply, reference, ignore_case=self.ignore_case):
            return ""
        place = difference_place(reply, reference, ignore_case=self.ignore_case)
        return f"the reply is not the reference: it differs from character {place + 1} on"


@dataclass(frozen=True, slots=True)
class Contains(_TextMatch):
    """`contains`: 1 if the reply contains the reference, else 0. A case is the mean of its invocations.

    Both are normalised by NFC, and white space at the ends of the reference does not count. Without a reference, or
    with a blank reference, an invocation is not applicable.
    """

    @staticmethod
    def _why_excluded(expected: Invocation) -> str:
        return no_reference(expected) or ("" if expected.reply.strip() else "a blank reference")

    def _mismatch(self, reply: str, reference: str) -> str:
        if contains_text(reply, reference.strip(), ignore_case=self.ignore_case):
            return ""
        return "the reply does not contain the reference"
