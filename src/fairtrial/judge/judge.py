"""How a question is put to the vote, with the fewest calls that decide it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import msgspec

from fairtrial.judge.ballot_costs import ballot_id
from fairtrial.judge.question import Question, read
from fairtrial.judge.vote_scheduler import PendingVote, VoteScheduler
from fairtrial.llm.model import CallError, NamedModel, UnsentError, call_key
from fairtrial.llm.model_pool import ModelPool, discard
from fairtrial.llm.pacing import Limited
from fairtrial.records.ballot import Ballot, JudgeCall, Vote
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply

T = TypeVar("T")


@dataclass(frozen=True)
class Judge:
    """Puts questions to the vote of one model, or of a panel.

    `votes` is k; vote i goes to model i mod m of the panel. `all_votes` asks for every vote, even when the result is
    certain. `parallelism_limit` bounds the calls in flight to all models of the panel together. `keep` receives every
    ballot.
    """

    panel: tuple[NamedModel, ...]
    votes: int = 5
    all_votes: bool = False
    parallelism_limit: int | None = None
    keep: Callable[[Ballot], None] = field(default=discard, repr=False, compare=False)

    @property
    def signature(self) -> dict[str, Json]:
        """What the numbers depend on: models and settings, and how many votes are counted."""
        return {"panel": [voter.signature for voter in self.panel], "votes": self.votes}

    def connect_models(self, pool: ModelPool) -> Judge:
        """Return the judge with the models of a run behind its names. The pool keeps its ballots."""
        panel = tuple(map(pool.connected, self.panel))
        if self.parallelism_limit is not None:
            places = asyncio.Semaphore(self.parallelism_limit)
            panel = tuple(voter.through(Limited(voter, places)) for voter in panel)
        return replace(self, panel=panel, keep=pool.keep)

    async def __call__(self, question: Question) -> Ballot:
        """Ask until every item is settled.

        Failed calls become abstentions with their cause; errors that are not of this one question are raised, after
        the calls that are under way have come back.
        """
        poll = VoteScheduler(question, self.panel, self.votes, all_votes=self.all_votes)
        while wave := poll.next_wave():
            outcomes = await asyncio.gather(*(_ask(question, draw) for draw in wave), return_exceptions=True)
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
            poll.close_wave()
        ballot = poll.ballot()
        self.keep(ballot)
        return ballot

    async def write(self, prompt: Prompt, parse: Callable[[str], T]) -> tuple[T | None, Ballot]:
        """Have the first of the panel write something, and once more where `parse` raises ValueError of it.

        None where neither could be had; the ballot, whose only vote holds the calls, says why.
        """
        voter, calls, written, problem = self.panel[0], list[JudgeCall](), None, ""
        for ask in (1, 2):
            asked = msgspec.structs.replace(prompt, ask=ask)
            key = call_key(voter.signature, asked)
            try:
                reply = await voter(asked)
            except CallError as failure:
                problem = str(failure)
                calls.append(_unanswered(key, voter, failure))
                break
            try:
                written, problem = parse(reply.text), ""
            except ValueError as unread:
                problem = str(unread)
            calls.append(_answered(key, voter, reply, problem))
            if written is not None:
                break
        problems = {prompt.id: problem} if problem else {}
        vote = Vote(draw=1, voter=voter.name, wave=1, problems=problems, calls=tuple(calls))
        name = ballot_id([call_key(voter.signature, prompt)], 1)
        ballot = Ballot(name, f"{prompt.id}/{prompt.version}", 1, 1, (vote,), {})
        self.keep(ballot)
        return written, ballot


async def _ask(question: Question, draw: PendingVote) -> None:
    """Ask for a vote once, and read the reply into the draw."""
    voter = draw.voter
    prompt = msgspec.structs.replace(question.prompt, draw=str(draw.number), ask=len(draw.calls) + 1)
    key = call_key(voter.signature, prompt)
    try:
        reply = await voter(prompt)
    except CallError as failure:
        draw.fail(question.items, _unanswered(key, voter, failure))
        return
    reading = read(reply.text, question)
    problem = next((why for item, why in reading.problems.items() if item not in draw.opinions), "")
    draw.hear(reading, _answered(key, voter, reply, problem))


def _answered(key: str, voter: NamedModel, reply: Reply, problem: str) -> JudgeCall:
    return JudgeCall(
        key=key,
        voter=voter.name,
        served=reply.model,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost=reply.cost,
        seconds=reply.seconds,
        problem=f"{problem} (stopped by: {reply.stop})" if problem and reply.stop else problem,
    )


def _unanswered(key: str, voter: NamedModel, failure: CallError) -> JudgeCall:
    return JudgeCall(key=key, voter=voter.name, problem=str(failure), sent=not isinstance(failure, UnsentError))
