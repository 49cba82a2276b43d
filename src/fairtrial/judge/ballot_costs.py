"""What became of a question: every vote, whose, why, what it cost, and what they decided together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from fairtrial.records.ballot import Ballot
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.reply import Reply
from fairtrial.records.result import JudgeStats
from fairtrial.records.score import Score


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


def judge_stats(score: Score, ballots: Mapping[str, Ballot]) -> JudgeStats | None:
    """Return what asking cost for a score; None where no ballot was held.

    Money and tokens are None where any call does not tell, agreement where there is no pair of votes.
    """
    held = [ballots[one] for one in ballots_of(score) if one in ballots]
    if not held:
        return None
    spent = sum((ballot.spent for ballot in held), ModelUsage())
    own_equal, own, other_equal, other = (sum(column) for column in zip(*(b.agreements for b in held), strict=True))
    return JudgeStats(
        calls=spent.calls,
        calls_saved=sum(ballot.k - len(ballot.votes) for ballot in held),
        abstentions=sum(ballot.abstentions for ballot in held),
        cost=spent.cost,
        self_agreement=own_equal / own if own else None,
        panel_agreement=other_equal / other if other else None,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
    )
