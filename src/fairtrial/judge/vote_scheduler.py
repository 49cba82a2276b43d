"""Which votes are to be asked for next, and what have those that are in decided?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairtrial.judge.ballot_costs import ballot_id
from fairtrial.judge.question import ParsedReply, Question
from fairtrial.judge.voting import Tally, count, fewest, settled
from fairtrial.llm.model import NamedModel, call_key
from fairtrial.records.ballot import Answer, Ballot, Decision, JudgeAnswer, JudgeCall, Vote


@dataclass(eq=False)
class PendingVote:
    """One vote being taken: what was read so far."""

    number: int
    voter: NamedModel
    wave: int
    opinions: dict[str, JudgeAnswer] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    calls: list[JudgeCall] = field(default_factory=list)
    final: bool = False

    def open(self, item: str) -> bool:
        """Whether asking again could still bring a vote on the item."""
        return not self.final and item not in self.opinions

    def hear(self, reading: ParsedReply, call: JudgeCall) -> None:
        """Take what a reply says on items that have no opinion yet; at the second asking that is the last word."""
        self.calls.append(call)
        self.problems = {item: why for item, why in reading.problems.items() if item not in self.opinions}
        self.opinions = reading.opinions | self.opinions
        self.final = not self.problems or len(self.calls) > 1

    def fail(self, items: Sequence[str], call: JudgeCall) -> None:
        """Take a call that failed for good: the voter abstains on what it has not answered yet."""
        self.calls.append(call)
        self.final = True
        self.problems = {item: call.problem for item in items if item not in self.opinions}


class VoteScheduler:
    """The state of one question while it is put to the vote: `votes` draws, of a panel in turns."""

    def __init__(self, question: Question, panel: Sequence[NamedModel], votes: int, *, all_votes: bool = False) -> None:
        self.question = question
        self.panel = panel
        self.k = votes
        self.all_votes = all_votes
        self.draws: list[PendingVote] = []
        self.wave = 0
        self.first_wave = 0
        self.decided: dict[str, Decision] = {}

    def next_wave(self) -> list[PendingVote]:
        """Return the draws to ask together: the fewest that could settle every item that is open.

        A draw whose whole reply could not be read is asked again before a new one is begun. One of which only some
        items could not be read waits, since a new draw brings votes on all.
        """
        needed = {item: self._needed(item) for item in self.question.items if item not in self.decided}
        most = max(needed.values(), default=0)
        again = [draw for draw in self.draws if any(draw.open(item) for item in needed)]
        unread = [draw for draw in again if all(draw.open(item) for item in needed)]
        begun = self._begin(min(most - len(unread[:most]), self.k - len(self.draws)))
        chosen = [*unread[:most], *begun, *(draw for draw in again if draw not in unread[:most])]
        for draw in reversed(again):
            others = [one for one in chosen if one is not draw]
            if all(sum(one.open(item) for one in others) >= number for item, number in needed.items()):
                chosen = others
        self.first_wave = self.first_wave or len(chosen)
        return chosen

    def _begin(self, number: int) -> list[PendingVote]:
        """Return that many new draws."""
        self.wave += 1
        panel, start = self.panel, len(self.draws)
        fresh = [PendingVote(draw + 1, panel[draw % len(panel)], self.wave) for draw in range(start, start + number)]
        self.draws += fresh
        return fresh

    def _needed(self, item: str) -> int:
        if self.all_votes:
            return self.k - sum(self._tally(item).values())
        return fewest(self._tally(item), self.question.rule, self.question.answers, self.k)

    def close_wave(self) -> None:
        """Note the items that the wave has settled, with the votes that were in by then."""
        for item in self.question.items:
            if item not in self.decided and self._settled(item):
                self.decided[item] = self._decision(item)

    def _settled(self, item: str) -> bool:
        tally = self._tally(item)
        if self.all_votes or sum(tally.values()) == self.k:
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
        keys = [call_key(voter.signature, prompt) for voter in self.panel]
        return Ballot(
            id=ballot_id([*keys, str(self.all_votes)], self.k),
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
