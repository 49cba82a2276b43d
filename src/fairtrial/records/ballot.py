"""What became of a question: every vote, whose, why, what it cost, and what they decided together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Record


class JudgeCall(Record, frozen=True):
    """One call: its key in the store of calls, who was asked, what it took, and what was wrong with the reply.

    `sent` is whether it was made at all.
    """

    key: str
    voter: str
    served: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    problem: str = ""
    sent: bool = True


class Vote(Record, frozen=True):
    """One draw: its opinions, and for each item without one why the voter abstained or was not heard to the end.

    `wave` is the round in which the draw was first asked, from 1.
    """

    draw: int
    voter: str
    wave: int
    opinions: dict[str, JudgeAnswer] = {}
    problems: dict[str, str] = {}
    calls: tuple[JudgeCall, ...] = ()


class Decision(Record, frozen=True):
    """The result on one item and the votes that were counted for it; `abstained` are the draws that gave none."""

    result: VoteResult
    counted: dict[Answer, int] = {}
    abstained: int = 0
    draws: tuple[int, ...] = ()


class Ballot(Record, frozen=True):
    """One question with all that was said to it. `first_wave` is how many draws went out before any answer."""

    id: str
    prompt: str
    k: int
    first_wave: int
    votes: tuple[Vote, ...]
    decisions: dict[str, Decision]

    def opinions(self, item: str) -> tuple[JudgeAnswer, ...]:
        """The counted opinions on an item, in the order of their draws."""
        counted = self.decisions[item].draws
        return tuple(vote.opinions[item] for vote in self.votes if vote.draw in counted and item in vote.opinions)

    @property
    def calls(self) -> tuple[JudgeCall, ...]:
        """Every call that was made for it."""
        return tuple(call for vote in self.votes for call in vote.calls if call.sent)

    @property
    def model_usage(self) -> ModelUsage:
        """What its calls took."""
        calls = self.calls
        return ModelUsage(
            len(calls),
            _total(call.input_tokens for call in calls),
            _total(call.output_tokens for call in calls),
            _total(call.cost for call in calls),
        )

    @property
    def abstentions(self) -> int:
        """How many votes on items were counted as abstentions."""
        return sum(decision.abstained for decision in self.decisions.values())

    @property
    def agreements(self) -> tuple[int, int, int, int]:
        """Pairs of first-wave votes that agree and pairs in all: of one voter with itself, and of two voters.

        Only the first wave counts: how many votes it has does not depend on the answers.
        """
        sums = (0, 0, 0, 0)
        for item in self.decisions:
            first = (vote for vote in self.votes if vote.draw <= self.first_wave and item in vote.opinions)
            pairs = agreement((vote.voter, vote.opinions[item].answer) for vote in first)
            sums = (sums[0] + pairs[0], sums[1] + pairs[1], sums[2] + pairs[2], sums[3] + pairs[3])
        return sums

    def why_unscored(self, item: str) -> str:
        """Why there is no result on an item: how many abstained of how many, and their first reason."""
        decision = self.decisions[item]
        causes = [vote.problems[item] for vote in self.votes if item in vote.problems and vote.draw in decision.draws]
        first = f": {causes[0]}" if causes else ""
        return f"{decision.abstained} of {self.k} votes are abstentions{first}"


N = TypeVar("N", int, float)


def _total(numbers: Iterable[N | None]) -> N | None:
    """The sum; None where one of the numbers is."""
    given = list(numbers)
    known = [number for number in given if number is not None]
    return sum(known) if len(known) == len(given) else None


class JudgeAnswer(Record, frozen=True):
    """One vote on one item: the answer, and what was said for it."""

    answer: Answer
    rationale: str = ""
    quote: str = ""
    marks: tuple[str, ...] = ()


Answer = str


class VoteResult(Record, frozen=True):
    """What the votes on one item say: a number, "does not apply", or (both absent) nothing that could be counted on."""

    value: float | None = None
    applicable: bool = True


def agreement(votes: Iterable[tuple[str, Answer]]) -> tuple[int, int, int, int]:
    """Return how many pairs of votes agree, as (same voter: agreeing, pairs; different voters: agreeing, pairs).

    A vote is (who cast it, what). Abstentions are no votes and must be left out.
    """
    own_equal = own = other_equal = other = 0
    groups = Counter(votes)
    kinds = list(groups.items())
    for index, ((voter, answer), number) in enumerate(kinds):
        pairs = number * (number - 1) // 2
        own, own_equal = own + pairs, own_equal + pairs
        for (next_voter, next_answer), next_number in kinds[index + 1 :]:
            pairs = number * next_number
            equal = pairs if answer == next_answer else 0
            if voter == next_voter:
                own, own_equal = own + pairs, own_equal + equal
            else:
                other, other_equal = other + pairs, other_equal + equal
    return own_equal, own, other_equal, other
