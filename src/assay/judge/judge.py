"""How a question is put to the vote, with the fewest calls that decide it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from assay.data.noun import Json
from assay.judge.ballot import Asked, Ballot
from assay.judge.poll import Draw, Poll
from assay.judge.question import Question, read
from assay.llm.model import CallError, Named, UnsentError, call_key


def forget(ballot: Ballot) -> None:
    """Keep nothing."""


@dataclass(frozen=True)
class Judge:
    """Puts questions to the vote of one model, or of a panel.

    `votes` is k; vote i goes to model i mod m of the panel. `all_votes` turns stopping off. `keep` is handed every
    ballot, for the store.
    """

    panel: tuple[Named, ...]
    votes: int = 5
    all_votes: bool = False
    keep: Callable[[Ballot], None] = field(default=forget, repr=False, compare=False)

    @property
    def signature(self) -> dict[str, Json]:
        """What the numbers depend on: models and settings, and how many votes are counted."""
        return {"panel": [voter.signature for voter in self.panel], "votes": self.votes}

    async def __call__(self, question: Question) -> Ballot:
        """Ask until every item is settled.

        Failed calls become abstentions with their cause; errors that are not of this one question are raised, after
        the calls that are under way have come back.
        """
        poll = Poll(question, self.panel, self.votes, all_votes=self.all_votes)
        while wave := poll.next_wave():
            outcomes = await asyncio.gather(*(_ask(question, draw) for draw in wave), return_exceptions=True)
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
            poll.close_wave()
        ballot = poll.ballot()
        self.keep(ballot)
        return ballot


async def _ask(question: Question, draw: Draw) -> None:
    """Ask for a vote once, and read the reply into the draw."""
    voter = draw.voter
    prompt = msgspec.structs.replace(question.prompt, draw=str(draw.number), ask=len(draw.calls) + 1)
    key = call_key(voter.signature, prompt)
    try:
        reply = await voter(prompt)
    except CallError as failure:
        sent = not isinstance(failure, UnsentError)
        draw.fail(question.items, Asked(key=key, voter=voter.name, problem=str(failure), sent=sent))
        return
    reading = read(reply.text, question)
    problem = next((why for item, why in reading.problems.items() if item not in draw.opinions), "")
    draw.hear(
        reading,
        Asked(
            key=key,
            voter=voter.name,
            served=reply.model,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            cost=reply.cost,
            seconds=reply.seconds,
            problem=f"{problem} (stopped by: {reply.stop})" if problem and reply.stop else problem,
        ),
    )
