"""Score labelled outcomes again with another judge, from replies that are stored or with new calls."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.api.connection import connected
from fairtrial.judge.ballot_costs import collect_ballot_ids
from fairtrial.llm.call_cache import CallCache
from fairtrial.llm.model import UnsentError
from fairtrial.llm.model_pool import find_panels
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.reply import Prompt, Reply
from fairtrial.scoring import score

if TYPE_CHECKING:
    from fairtrial.llm.model_options import ModelOptions
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import Ballot, Vote
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.result import Criterion, Outcome

Place = tuple[int, int]
"""The position of a case and the number of an attempt."""
_CONCURRENCY = 8
_MOST_DRAWS = 9


class StoredOnly:
    """A model that is never called. It stands behind replies that are stored."""

    async def __call__(self, prompt: Prompt) -> Reply:  # noqa: ARG002
        """Refuse the call."""
        raise UnsentError("no stored run has the reply")


@dataclass(frozen=True)
class _Chain(Mapping[str, Reply]):
    """The replies of several runs. Each is read when it is needed.

    With `any_draw`, another vote of the same model on the same question stands in for a reply that is not stored. This
    is right if the model has one vote: it is not asked twice.
    """

    runs: Sequence[Mapping[str, Reply]]
    any_draw: bool = False

    def __getitem__(self, key: str) -> Reply:
        question, _, ask = key.split(".")
        draws = [f"{question}.{draw}.{ask}" for draw in range(1, _MOST_DRAWS + 1)] if self.any_draw else []
        for name in (key, *draws):
            for replies in self.runs:
                if (reply := replies.get(name)) is not None:
                    return reply
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter({key for replies in self.runs for key in replies})

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True)
class Rescored:
    """The outcomes of a judge by place, with the mean cost and the mean seconds of its calls for an outcome.

    `cost` is in US dollars, and None if the price of a call is not known. `missing` is the number of calls without a
    stored reply that were not made. `rationales` are those of the first vote.
    """

    outcomes: Mapping[Place, Outcome]
    cost: float | None = None
    seconds: float | None = None
    missing: int = 0
    rationales: Mapping[Place, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rescoring:
    """Labelled outcomes with their cases and recordings, and the replies that are stored.

    New replies are added to `replies`, so that no candidate pays for a call twice.
    """

    recordings: Sequence[tuple[ExpectedCase, Recording]]
    stored: Sequence[Mapping[str, Reply]] = ()
    replies: dict[str, Reply] = field(default_factory=dict)

    async def outcomes(self, criterion: Criterion, models: ModelOptions, places: Collection[Place]) -> Rescored:
        """Return the outcomes of a criterion at some places. Calls that `models` does not allow are not made."""
        pairs = [
            (_plan(case, criterion), recording)
            for case, recording in self.recordings
            if (case.position, recording.attempt) in places
        ]
        ballots: dict[str, Ballot] = {}
        cache = CallCache(self.replies, _Chain(self.stored, any_draw=_votes_once(criterion)))
        outcomes: dict[Place, Outcome] = {}
        async with connected([case for case, _ in pairs], models, cache, ballots) as connect:

            async def list_pairs() -> AsyncIterator[Pair]:
                for case, recording in pairs:
                    yield connect(case), recording

            async for result in score(list_pairs(), concurrency=_CONCURRENCY, ballots=ballots):
                outcomes[result.position, result.attempt] = result.outcomes[0]
        return _add_up(outcomes, ballots)


def _votes_once(criterion: Criterion) -> bool:
    """Whether no model has two votes on a question of a criterion."""
    return all(judge.votes <= len(judge.panel) for judge in find_panels(criterion.metric))


def _plan(case: ExpectedCase, criterion: Criterion) -> PlannedCase:
    return PlannedCase(case.position, case.name, case.case, (criterion,), case.eval_set, bytes.fromhex(case.digest))


def _add_up(outcomes: Mapping[Place, Outcome], ballots: Mapping[str, Ballot]) -> Rescored:
    votes = {
        place: [vote for name in collect_ballot_ids(own.score) if name in ballots for vote in ballots[name].votes]
        for place, own in outcomes.items()
    }
    calls = [call for own in votes.values() for vote in own for call in vote.calls]
    sent = [call for call in calls if call.sent]
    costs = [call.cost for call in sent if call.cost is not None]
    number = len(outcomes)
    return Rescored(
        outcomes,
        sum(costs) / number if sent and len(costs) == len(sent) else None,
        sum(call.seconds for call in sent) / number if sent else None,
        len(calls) - len(sent),
        {place: next(_list_rationales(own), "") for place, own in votes.items()},
    )


def _list_rationales(votes: Iterable[Vote]) -> Iterator[str]:
    return (opinion.rationale for vote in votes for opinion in vote.opinions.values() if opinion.rationale)


def with_threshold(rescored: Rescored, threshold: float) -> Rescored:
    """Return outcomes as another threshold decides them."""
    outcomes = {place: replace(own, threshold=threshold) for place, own in rescored.outcomes.items()}
    return dataclasses.replace(rescored, outcomes=outcomes)
