"""Schedule the votes of a ballot: the next requests, and the items that are decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairtrial.judge.ballot_costs import ballot_id
from fairtrial.judge.sent_prompts import SentPrompts
from fairtrial.judge.voting import Tally, count, fewest, find_settled
from fairtrial.llm.model import NamedModel, call_key
from fairtrial.records.ballot import Answer, Ballot, Decision, JudgeAnswer, JudgeCall, Vote

if TYPE_CHECKING:
    from fairtrial.judge.question import ParsedReply, Question


@dataclass(eq=False)
class PendingVote:
    """One vote in progress, with the opinions so far. `turn` counts the earlier votes of the same model."""

    number: int
    voter: NamedModel
    wave: int
    turn: int = 0
    opinions: dict[str, JudgeAnswer] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    calls: list[JudgeCall] = field(default_factory=list)
    final: bool = False

    def open(self, item: str) -> bool:
        """Return whether a second attempt could still bring a vote on the item."""
        return not self.final and item not in self.opinions

    def add_reply(self, parsed: ParsedReply, call: JudgeCall) -> None:
        """Add the opinions of a reply on items without an opinion. A vote has at most two attempts."""
        self.calls.append(call)
        self.problems = {item: problem for item, problem in parsed.problems.items() if item not in self.opinions}
        self.opinions = parsed.opinions | self.opinions
        self.final = not self.problems or len(self.calls) > 1

    def fail(self, items: Sequence[str], call: JudgeCall) -> None:
        """Add a call that failed for good. The vote abstains on every item without an opinion."""
        self.calls.append(call)
        self.final = True
        self.problems = {item: call.problem for item in items if item not in self.opinions}


class VoteScheduler:
    """The votes on one question. The `votes` draws go to the models of the panel in turn."""

    def __init__(self, question: Question, panel: Sequence[NamedModel], votes: int, *, all_votes: bool = False) -> None:
        self.question = question
        self.panel = panel
        self.k = votes
        self.all_votes = all_votes
        self.draws: list[PendingVote] = []
        self.wave = 0
        self.first_wave = 0
        self.decisions: dict[str, Decision] = {}
        self.prompts = SentPrompts()

    def next_wave(self) -> list[PendingVote]:
        """Return the draws of the next wave: the smallest number that could settle every open item.

        If a whole reply is unreadable, its draw is repeated before a new draw starts. If only some items are
        unreadable, the draw waits, because a new draw brings votes on all items.
        """
        missing = {item: self._votes_to_decide(item) for item in self.question.items if item not in self.decisions}
        most = max(missing.values(), default=0)
        again = [draw for draw in self.draws if any(draw.open(item) for item in missing)]
        unread = [draw for draw in again if all(draw.open(item) for item in missing)]
        fresh = self._begin(min(most - len(unread[:most]), self.k - len(self.draws)))
        wave = [*unread[:most], *fresh, *(draw for draw in again if draw not in unread[:most])]
        for draw in reversed(again):
            rest = [other for other in wave if other is not draw]
            if all(sum(other.open(item) for other in rest) >= number for item, number in missing.items()):
                wave = rest
        self.first_wave = self.first_wave or len(wave)
        return wave

    def _begin(self, number: int) -> list[PendingVote]:
        """Return a number of new draws."""
        self.wave += 1
        panel, start = self.panel, len(self.draws)
        fresh = [
            PendingVote(draw + 1, panel[draw % len(panel)], self.wave, draw // len(panel))
            for draw in range(start, start + number)
        ]
        self.draws += fresh
        return fresh

    def _votes_to_decide(self, item: str) -> int:
        if self.all_votes or not self.question.answers:
            return self.k - sum(self._tally(item).values())
        return fewest(self._tally(item), self.question.rule, self.question.answers, self.k)

    def close_wave(self) -> None:
        """Decide the items that the wave has settled."""
        for item in self.question.items:
            if item not in self.decisions and self._try_settle(item):
                self.decisions[item] = self._decision(item)

    def _try_settle(self, item: str) -> bool:
        tally = self._tally(item)
        if self.all_votes or not self.question.answers or sum(tally.values()) == self.k:
            return sum(tally.values()) == self.k
        return find_settled(tally, self.question.rule, self.question.answers, self.k) is not None

    def _decision(self, item: str) -> Decision:
        tally = self._tally(item)
        result = find_settled(tally, self.question.rule, self.question.answers, self.k)
        return Decision(
            result=result if result is not None else count(tally, self.question.rule, self.k),
            counted={answer: number for answer, number in tally.items() if answer is not None},
            abstained=tally.get(None, 0),
            draws=tuple(draw.number for draw in self.draws if not draw.open(item)),
        )

    def _tally(self, item: str) -> Tally:
        """Return the final votes on an item. None counts the abstentions."""
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
            decisions=self.decisions,
            prompts=self.prompts.all(),
        )
