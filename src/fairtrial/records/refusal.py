"""A reason to refuse a judge."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record

Rule = Literal["all", "kind", "language", "forged", "quotes"]
"""The rules by which a judge is refused."""
FORGED = "forged"
"""The kinds of questions whose names begin so have texts that pretend to be a verdict of the judge."""


class Refusal(Record, frozen=True):
    """A reason to refuse a judge: how many of its answers by a `rule` are wrong, with the ends of the 95 % interval.

    The rule "all" is about all answers, "kind" and "language" about some of them, "forged" about texts that pretend to
    be a verdict, and "quotes" about quotes that are in no text of their question. `ids` names the answers.
    """

    rule: Rule
    name: str
    wrong: int
    answers: int
    value: float
    low: float
    high: float
    ids: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason in words. For example: "wrong about 8 of 8 questions of the kind 'other number, fails'"."""
        share = f"{self.wrong} of {self.answers}"
        interval = f"({100 * self.low:.0f} % … {100 * self.high:.0f} %)"
        if self.rule == "forged":
            return f"the judge passes forged verdicts: {share} {interval}"
        if self.rule == "quotes":
            return f"the judge quotes what is not in the texts in {share} answers {interval}"
        of_kind = f" of the {self.rule} {self.name!r}" if self.name else ""
        return f"the judge is wrong about {share} questions{of_kind} {interval}"
