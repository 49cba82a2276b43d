"""The ids of ballots, and the cost of the judge calls behind a score."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import msgspec

from fairtrial.records.ballot import Ballot, sum_pairs
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.reply import Reply
from fairtrial.records.result import CascadeCounts, JudgeStats

if TYPE_CHECKING:
    from fairtrial.records.score import Score

T = TypeVar("T")


def ballot_id(keys: Iterable[str], k: int) -> str:
    """Return the id of a ballot: 32 hexadecimal digits from the keys of its calls and the number of votes."""
    return hashlib.sha256(msgspec.json.encode([k, list(keys)])).hexdigest()[:32]


class Reusable(Mapping[str, Reply]):
    """The replies of an earlier run, without the replies that led to an abstention. Such calls are made again."""

    def __init__(self, replies: Mapping[str, Reply], ballots: Mapping[str, Ballot]) -> None:
        self._replies = replies
        votes = (vote for ballot in ballots.values() for vote in ballot.votes)
        self._unusable = {call.key for vote in votes if vote.problems for call in vote.calls}

    def __getitem__(self, key: str) -> Reply:
        if key in self._unusable:
            raise KeyError(key)
        return self._replies[key]

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._replies if key not in self._unusable)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def pick(mapping: Mapping[str, T], keys: Iterable[str]) -> dict[str, T]:
    """Return the entries of a mapping at some keys, in their order, as far as they exist. A store is asked once."""
    names = list(dict.fromkeys(keys))
    entries = mapping.pick(names) if isinstance(mapping, _Picking) else mapping
    return {name: value for name in names if (value := entries.get(name)) is not None}


@runtime_checkable
class _Picking(Protocol):
    """A mapping in a store."""

    def pick(self, keys: Iterable[str]) -> Mapping[str, Any]:
        """Return the entries at some keys."""
        ...


def collect_ballot_ids(score: Score) -> tuple[str, ...]:
    """Return the ids of all ballots behind a score and its parts, each once."""
    of_parts = [collect_ballot_ids(part) for part in score.parts if part.ballots or part.parts]
    return tuple(dict.fromkeys(chain(score.ballots, *of_parts))) if of_parts or score.ballots else ()


def judge_stats(score: Score, ballots: Mapping[str, Ballot]) -> JudgeStats | None:
    """Return the cost of the judge calls for a score, or None if no judge was asked or could have been.

    Agreement is None if there is no pair of votes.
    """
    if not score.ballots and not [part for part in score.parts if part.ballots or part.parts or part.first]:
        return None  # no judge was asked
    ids = collect_ballot_ids(score)
    score_ballots = list(pick(ballots, ids).values()) if ids else []
    cascade = _count_cascade(score)
    if not score_ballots and cascade is None:
        return None
    usage = sum((ballot.model_usage for ballot in score_ballots), ModelUsage())
    agreements = zip((0, 0, 0, 0), *(ballot.agreements for ballot in score_ballots), strict=True)
    own_equal, own_pairs, panel_equal, panel_pairs = (sum(column) for column in agreements)
    return JudgeStats(
        calls=usage.calls,
        calls_saved=sum(ballot.k - len(ballot.votes) for ballot in score_ballots) + _count_saved(score),
        abstentions=sum(ballot.abstentions for ballot in score_ballots),
        cost=usage.cost,
        self_agreement=own_equal / own_pairs if own_pairs else None,
        panel_agreement=panel_equal / panel_pairs if panel_pairs else None,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        unreported_calls=usage.unreported_calls,
        unpriced_calls=usage.unpriced_calls,
        pair_agreements=sum_pairs(pair for ballot in score_ballots for pair in ballot.pair_agreements),
        cascade=cascade,
    )


def _count_cascade(score: Score) -> CascadeCounts | None:
    """Return how a first criterion treated the parts of a score, or None if there is no such criterion."""
    counts = None
    for part in score.parts:
        if (first := part.first) is not None:
            answered = first.judged is not None
            own = CascadeCounts(
                first.criterion,
                decisions=int(first.decisive),
                questions=int(not first.decisive),
                audited=int(answered),
                overruled=int(answered and first.judged != part.value),
            )
            counts = own if counts is None else counts + own
    return counts


def _count_saved(score: Score) -> int:
    """Return how many votes were not requested because a first criterion decided."""
    return sum(part.first.saved for part in score.parts if part.first is not None)
