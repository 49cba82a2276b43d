"""A question to judges: every vote with its reasons and costs, and the decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Record


class JudgeCall(Record, frozen=True):
    """One judge call: its key in the store of calls, its model, its usage, and the problem with its reply.

    `voter` is the model that was asked, `served` the model that answered according to the provider. `sent` is False if
    the call was not made, for example because the budget is used up. `prompt` is the index of its prompt in the ballot.
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
    prompt: int = 0


class SentPrompt(Record, frozen=True):
    """A prompt as it was sent to a judge."""

    system: str
    text: str


class PairAgreement(Record, frozen=True):
    """How often the votes of two models of a panel agree: `equal` of so many `pairs` of votes."""

    first: str
    second: str
    equal: int
    pairs: int


class Vote(Record, frozen=True):
    """One vote: an answer for each item, or the reason why the item has no answer.

    `draw` is the number of the vote. `wave` is the round in which it was first requested. Both count from 1.
    """

    draw: int
    voter: str
    wave: int
    opinions: dict[str, JudgeAnswer] = {}
    problems: dict[str, str] = {}
    calls: tuple[JudgeCall, ...] = ()


class Decision(Record, frozen=True):
    """The result on one item, and the number of votes for each answer, for example `{"yes": 2, "no": 1}`.

    `draws` are the votes that were counted. `abstained` is how many of them gave no answer.
    """

    result: VoteResult
    counted: dict[Answer, int] = {}
    abstained: int = 0
    draws: tuple[int, ...] = ()


class Ballot(Record, frozen=True):
    """One question with its votes and decisions. `first_wave` is the number of votes that were requested at first.

    `k` is the number of votes that the configuration asks for. Fewer may decide. `prompts` are the different prompts of
    its calls, because a second attempt says what was wrong with the first.
    """

    id: str
    prompt: str
    k: int
    first_wave: int
    votes: tuple[Vote, ...]
    decisions: dict[str, Decision]
    prompts: tuple[SentPrompt, ...] = ()

    def opinions(self, item: str) -> tuple[JudgeAnswer, ...]:
        """Return the answers on an item that were counted, in the order of their votes."""
        draws = self.decisions[item].draws
        return tuple(vote.opinions[item] for vote in self.votes if vote.draw in draws and item in vote.opinions)

    @property
    def calls(self) -> tuple[JudgeCall, ...]:
        """Every judge call that was sent for the question."""
        return tuple(call for vote in self.votes for call in vote.calls if call.sent)

    @property
    def model_usage(self) -> ModelUsage:
        """The usage of models by the calls."""
        return sum(
            (ModelUsage(1, call.input_tokens, call.output_tokens, call.cost) for call in self.calls), ModelUsage()
        )

    @property
    def abstentions(self) -> int:
        """The number of abstentions over all items."""
        return sum(decision.abstained for decision in self.decisions.values())

    @property
    def agreements(self) -> tuple[int, int, int, int]:
        """The pairs of votes that agree and all pairs: first of one voter with itself, then of two voters.

        Only the first wave counts, because the number of its votes does not depend on the answers.
        """
        sums = (0, 0, 0, 0)
        for item in self.decisions:
            first_votes = (vote for vote in self.votes if vote.draw <= self.first_wave and item in vote.opinions)
            pairs = agreement((vote.voter, vote.opinions[item].answer) for vote in first_votes)
            sums = (sums[0] + pairs[0], sums[1] + pairs[1], sums[2] + pairs[2], sums[3] + pairs[3])
        return sums

    @property
    def pair_agreements(self) -> tuple[PairAgreement, ...]:
        """The agreement of each two models of a panel, over the votes of the first wave."""
        sums: dict[tuple[str, str], list[int]] = {}
        for item in self.decisions:
            first_votes = [vote for vote in self.votes if vote.draw <= self.first_wave and item in vote.opinions]
            for vote, next_vote in combinations(first_votes, 2):
                if vote.voter != next_vote.voter:
                    voters = (min(vote.voter, next_vote.voter), max(vote.voter, next_vote.voter))
                    pair = sums.setdefault(voters, [0, 0])
                    pair[0] += vote.opinions[item].answer == next_vote.opinions[item].answer
                    pair[1] += 1
        return tuple(PairAgreement(*voters, *counts) for voters, counts in sorted(sums.items()))

    def why_unscored(self, item: str) -> str:
        """Return why an item has no result: the number of abstentions, and the reason of the first."""
        decision = self.decisions[item]
        causes = [vote.problems[item] for vote in self.votes if item in vote.problems and vote.draw in decision.draws]
        first_cause = f": {causes[0]}" if causes else ""
        return f"{decision.abstained} of {self.k} votes are abstentions{first_cause}"


def sum_pairs(agreements: Iterable[PairAgreement]) -> tuple[PairAgreement, ...]:
    """Return the agreement of each two models over many ballots."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for pair in agreements:
        equal, pairs = sums.get((pair.first, pair.second), (0, 0))
        sums[pair.first, pair.second] = (equal + pair.equal, pairs + pair.pairs)
    return tuple(PairAgreement(*voters, *counts) for voters, counts in sorted(sums.items()))


class JudgeAnswer(Record, frozen=True):
    """The answer of one vote on one item, with the reasons of the judge."""

    answer: Answer
    rationale: str = ""
    quote: str = ""
    marks: tuple[str, ...] = ()


Answer = str


class VoteResult(Record, frozen=True):
    """The result of the votes on one item: a number, or "not applicable", or neither if the votes do not decide it."""

    value: float | None = None
    applicable: bool = True


def agreement(votes: Iterable[tuple[str, Answer]]) -> tuple[int, int, int, int]:
    """Return how many pairs of votes agree, and how many pairs there are.

    A vote is (voter, answer). The first two numbers are about pairs of the same voter, the last two about pairs of
    different voters. The caller leaves out abstentions. For example, the votes ("a", "yes"), ("a", "yes") and
    ("b", "no") give (1, 1, 0, 2).
    """
    own_equal = own = mixed_equal = mixed = 0
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
                mixed, mixed_equal = mixed + pairs, mixed_equal + equal
    return own_equal, own, mixed_equal, mixed
