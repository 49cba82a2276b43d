"""What became of a question: every vote, whose, why, what it cost, and what they decided together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from assay.data.noun import Noun
from assay.data.outcome import Judging, Score
from assay.data.spent import Spent
from assay.judge.question import Opinion
from assay.judge.voting import Answer, Result, agreement
from assay.llm.model import Reply


class Asked(Noun, frozen=True):
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


class Vote(Noun, frozen=True):
    """One draw: its opinions, and for each item without one why the voter abstained or was not heard to the end.

    `wave` is the round in which the draw was first asked, from 1.
    """

    draw: int
    voter: str
    wave: int
    opinions: dict[str, Opinion] = {}
    problems: dict[str, str] = {}
    calls: tuple[Asked, ...] = ()


class Decision(Noun, frozen=True):
    """The result on one item and the votes that were counted for it; `abstained` are the draws that gave none."""

    result: Result
    counted: dict[Answer, int] = {}
    abstained: int = 0
    draws: tuple[int, ...] = ()


class Ballot(Noun, frozen=True):
    """One question with all that was said to it. `first_wave` is how many draws went out before any answer."""

    id: str
    prompt: str
    k: int
    first_wave: int
    votes: tuple[Vote, ...]
    decisions: dict[str, Decision]

    def opinions(self, item: str) -> tuple[Opinion, ...]:
        """The counted opinions on an item, in the order of their draws."""
        counted = self.decisions[item].draws
        return tuple(vote.opinions[item] for vote in self.votes if vote.draw in counted and item in vote.opinions)

    @property
    def calls(self) -> tuple[Asked, ...]:
        """Every call that was made for it."""
        return tuple(call for vote in self.votes for call in vote.calls if call.sent)

    @property
    def spent(self) -> Spent:
        """What its calls took."""
        calls = self.calls
        return Spent(
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


def ballot_id(keys: Iterable[str], k: int) -> str:
    """Return the id of a ballot, by the keys of its calls and the number of votes: 32 hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode([k, list(keys)])).hexdigest()[:32]


class Reusable(Mapping[str, Reply]):
    """The replies of an earlier run but for those that led to an abstention: those are asked for again."""

    def __init__(self, replies: Mapping[str, Reply], ballots: Mapping[str, Ballot]) -> None:
        self._replies = replies
        votes = (vote for ballot in ballots.values() for vote in ballot.votes)
        self._open = {call.key for vote in votes if vote.problems for call in vote.calls}

    def __getitem__(self, key: str) -> Reply:
        if key in self._open:
            raise KeyError(key)
        return self._replies[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._replies if key not in self._open)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def ballots_of(score: Score) -> tuple[str, ...]:
    """Return the ids of all ballots that a score rests on, its parts' included, each once."""
    found = dict.fromkeys(score.ballots)
    for part in score.parts:
        found |= dict.fromkeys(ballots_of(part))
    return tuple(found)


def judging(score: Score, ballots: Mapping[str, Ballot]) -> Judging | None:
    """Return what asking cost for a score; None where no ballot was held.

    Money and tokens are None where any call does not tell, agreement where there is no pair of votes.
    """
    held = [ballots[one] for one in ballots_of(score) if one in ballots]
    if not held:
        return None
    spent = sum((ballot.spent for ballot in held), Spent())
    own_equal, own, other_equal, other = (sum(column) for column in zip(*(b.agreements for b in held), strict=True))
    return Judging(
        calls=spent.calls,
        calls_saved=sum(ballot.k - len(ballot.votes) for ballot in held),
        abstentions=sum(ballot.abstentions for ballot in held),
        cost=spent.cost,
        self_agreement=own_equal / own if own else None,
        panel_agreement=other_equal / other if other else None,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
    )


N = TypeVar("N", int, float)


def _total(numbers: Iterable[N | None]) -> N | None:
    """The sum; None where one of the numbers is."""
    given = list(numbers)
    known = [number for number in given if number is not None]
    return sum(known) if len(known) == len(given) else None
