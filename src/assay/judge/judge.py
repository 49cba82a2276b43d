"""How a question is put to the vote, with the fewest calls that decide it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from assay.data.noun import Json
from assay.judge.ballot import Asked, Ballot, Decision, Vote, ballot_id
from assay.judge.question import Opinion, Question, read
from assay.judge.voting import Answer, Tally, count, fewest, settled
from assay.llm.model import CallError, Named, call_key


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
        poll = _Poll(self, question)
        while wave := poll.next_wave():
            outcomes = await asyncio.gather(*(poll.ask(draw) for draw in wave), return_exceptions=True)
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
            poll.close_wave()
        ballot = poll.ballot()
        self.keep(ballot)
        return ballot


@dataclass(eq=False)
class _Draw:
    """One vote being taken: what was read so far."""

    number: int
    voter: Named
    wave: int
    opinions: dict[str, Opinion] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    calls: list[Asked] = field(default_factory=list)
    final: bool = False

    def open(self, item: str) -> bool:
        """Whether asking again could still bring a vote on the item."""
        return not self.final and item not in self.opinions


class _Poll:
    """The state of one question while it is put to the vote."""

    def __init__(self, judge: Judge, question: Question) -> None:
        self.judge = judge
        self.question = question
        self.k = judge.votes
        self.draws: list[_Draw] = []
        self.wave = 0
        self.first_wave = 0
        self.decided: dict[str, Decision] = {}

    def next_wave(self) -> list[_Draw]:
        """Return the draws to ask together: the fewest that could settle every item that is open.

        A draw whose whole reply could not be read is asked again before a new one is begun. One of which only some
        items could not be read waits, since a new draw brings votes on all.
        """
        needed = {item: self._needed(item) for item in self.question.items if item not in self.decided}
        most = max(needed.values(), default=0)
        unread = [draw for draw in self.draws if all(draw.open(item) for item in needed)] if needed else []
        chosen = unread[:most]
        chosen += self._begin(min(most - len(chosen), self.k - len(self.draws)))
        for draw in self.draws:
            if draw not in chosen and any(
                draw.open(item) and sum(one.open(item) for one in chosen) < number for item, number in needed.items()
            ):
                chosen.append(draw)
        self.first_wave = self.first_wave or len(chosen)
        return chosen

    def _begin(self, number: int) -> list[_Draw]:
        """Return that many new draws."""
        self.wave += 1
        panel, start = self.judge.panel, len(self.draws)
        fresh = [_Draw(draw + 1, panel[draw % len(panel)], self.wave) for draw in range(start, start + number)]
        self.draws += fresh
        return fresh

    def _needed(self, item: str) -> int:
        if self.judge.all_votes:
            return self.k - sum(self._tally(item).values())
        return fewest(self._tally(item), self.question.rule, self.question.answers, self.k)

    async def ask(self, draw: _Draw) -> None:
        """Ask once, and read into the draw what the reply says on items that have no opinion yet."""
        prompt = msgspec.structs.replace(self.question.prompt, draw=str(draw.number), ask=len(draw.calls) + 1)
        key = call_key(draw.voter.signature, prompt)
        try:
            reply = await draw.voter(prompt)
        except CallError as failure:
            draw.calls.append(Asked(key=key, voter=draw.voter.name, problem=str(failure)))
            draw.final = True
            draw.problems = {item: str(failure) for item in self.question.items if item not in draw.opinions}
            return
        reading = read(reply.text, self.question)
        problems = {item: why for item, why in reading.problems.items() if item not in draw.opinions}
        draw.opinions = reading.opinions | draw.opinions
        draw.problems = problems
        draw.final = not problems or prompt.ask > 1
        first = next(iter(problems.values()), "")
        draw.calls.append(
            Asked(
                key=key,
                voter=draw.voter.name,
                served=reply.model,
                input_tokens=reply.input_tokens,
                output_tokens=reply.output_tokens,
                cost=reply.cost,
                seconds=reply.seconds,
                problem=f"{first} (stopped by: {reply.stop})" if first and reply.stop else first,
            )
        )

    def close_wave(self) -> None:
        """Note the items that the wave has settled, with the votes that were in by then."""
        for item in self.question.items:
            if item not in self.decided and self._settled(item):
                self.decided[item] = self._decision(item)

    def _settled(self, item: str) -> bool:
        tally = self._tally(item)
        if self.judge.all_votes or sum(tally.values()) == self.k:
            return sum(tally.values()) == self.k
        return settled(tally, self.question.rule, self.question.answers, self.k) is not None

    def _decision(self, item: str) -> Decision:
        tally = self._tally(item)
        result = settled(tally, self.question.rule, self.question.answers, self.k)
        return Decision(
            result=result if result is not None else count(tally, self.question.rule, self.k),
            counted={answer: number for answer, number in tally.items() if answer is not None},
            abstained=tally.get(None, 0),
            draws=tuple(draw.number for draw in self.draws if not draw.open(item)),
        )

    def _tally(self, item: str) -> Tally:
        """The votes on an item that are final: opinions, and None for abstentions."""
        votes: Counter[Answer | None] = Counter()
        for draw in self.draws:
            if not draw.open(item):
                votes[draw.opinions[item].answer if item in draw.opinions else None] += 1
        return votes

    def ballot(self) -> Ballot:
        """Return the finished ballot."""
        prompt = self.question.prompt
        keys = [call_key(voter.signature, prompt) for voter in self.judge.panel]
        return Ballot(
            id=ballot_id([*keys, str(self.judge.all_votes)], self.k),
            prompt=f"{prompt.id}/{prompt.version}",
            k=self.k,
            first_wave=self.first_wave,
            votes=tuple(
                Vote(
                    draw=draw.number,
                    voter=draw.voter.name,
                    wave=draw.wave,
                    opinions=draw.opinions,
                    problems=draw.problems,
                    calls=tuple(draw.calls),
                )
                for draw in self.draws
            ),
            decisions=self.decided,
        )
