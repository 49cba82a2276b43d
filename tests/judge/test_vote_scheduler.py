"""The poll: for every way in which votes can fall, the result of counting them all, and no call too many.

Tables of votes are tried up to two symmetries. What a poll goes on from is, for each draw, its answers and whether it
may be asked again: it never looks at the order of draws that were asked together, at their numbers or at the names of
the items. So a state that is another one but for the order of its draws or of its items needs no second visit. The
tables drawn by chance in test_judge.py are not reduced like that.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import pytest

from fairtrial.judge.question import ParsedReply, Question
from fairtrial.judge.vote_scheduler import PendingVote, VoteScheduler
from fairtrial.judge.voting import Rule, count, majority
from fairtrial.llm.model import NamedModel
from fairtrial.records.ballot import JudgeAnswer, JudgeCall, VoteResult
from fairtrial.records.reply import Prompt
from fairtrial.testing import ScriptedModel

VALID = majority(yes=["valid"], no=["invalid"])
RUBRIC = majority(yes=["yes"], no=["no"], not_applicable=["not_applicable"])
ANSWERS = {VALID: ("valid", "invalid"), RUBRIC: ("yes", "no", "not_applicable")}
PANEL = (NamedModel("m", ScriptedModel([])),)
CALL = JudgeCall(key="", voter="m")
Row = int
"""What a draw says, as the place in `Walk.rows`, which has for each item the place among the answers.

Behind the last answer: nothing, also when asked again.
"""


@cache
def possible(votes: frozenset[tuple[str | None, int]], rule: Rule, k: int) -> frozenset[VoteResult]:
    """The results of all ways in which the rest of k votes can fall, abstentions included."""
    tally = Counter(dict(votes))
    rest = combinations_with_replacement((*ANSWERS[rule], None), k - tally.total())
    return frozenset(count(tally + Counter(votes), rule, k) for votes in rest)


@cache
def could_decide(votes: frozenset[tuple[str | None, int]], rule: Rule, k: int, more: int) -> bool:
    """Whether that many further votes can make the result certain."""
    tally = Counter(dict(votes))
    ways = combinations_with_replacement((*ANSWERS[rule], None), more)
    return any(len(possible(frozenset((tally + Counter(way)).items()), rule, k)) == 1 for way in ways)


class Walk:
    """Every state that a poll on so many items can come to."""

    def __init__(self, rule: Rule, items: int, k: int) -> None:
        self.rule, self.k = rule, k
        self.items = tuple(f"i{number}" for number in range(items))
        prompt = Prompt(id="test", version="1", text="?")
        self.question = Question(prompt, self.items, ANSWERS[rule], rule)
        self.rows = tuple(product(range(len(ANSWERS[rule]) + 1), repeat=items))
        place = {row: number for number, row in enumerate(self.rows)}
        self.orders = tuple(
            [place[tuple(row[i] for i in order)] for row in self.rows] for order in permutations(range(items))
        )
        self.readings = tuple(map(self._reading, self.rows))
        self.seen: set[tuple[Row, ...]] = set()
        self.ended = 0

    def go(self) -> int:
        """Visit them all, and return in how many of them a poll ends."""
        todo: list[tuple[Row, ...]] = [()]
        while todo:
            rows = todo.pop()
            for more in combinations_with_replacement(range(len(self.rows)), self._asked(rows)):
                state = self._canonical((*rows, *more))
                if more and state not in self.seen:
                    self.seen.add(state)
                    todo.append(state)
        return self.ended

    def _reading(self, row: tuple[int, ...]) -> ParsedReply:
        answers, said = ANSWERS[self.rule], dict(zip(self.items, row, strict=True))
        opinions = {item: JudgeAnswer(answers[place]) for item, place in said.items() if place < len(answers)}
        return ParsedReply(opinions=opinions, problems=dict.fromkeys(said.keys() - opinions.keys(), "left out"))

    def _canonical(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(min([sorted([order[row] for row in rows]) for order in self.orders]))

    def _asked(self, rows: tuple[Row, ...]) -> int:
        """Play these rows, as far as the poll asks for them, and return how many further draws it asks for."""
        poll = VoteScheduler(self.question, PANEL, self.k)
        while wave := poll.next_wave():
            self._none_too_many(poll, wave)
            if len(poll.draws) > len(rows):
                return len(poll.draws) - len(rows)
            for draw in wave:
                draw.add_reply(self.readings[rows[draw.number - 1]], CALL)
            poll.close_wave()
        for item in self.items:
            assert possible(self._votes(poll, item), self.rule, self.k) == {poll.decisions[item].result}, rows
        self.ended += 1
        return 0

    def _none_too_many(self, poll: VoteScheduler, wave: list[PendingVote]) -> None:
        """Without any one of the calls, some item that is still open could not be decided by the others."""
        undecided = [item for item in self.items if item not in poll.decisions]
        votes = {item: self._votes(poll, item) for item in undecided}
        needed = {item: sum(draw.open(item) for draw in wave) for item in undecided}
        assert all(len(possible(votes[item], self.rule, self.k)) > 1 for item in undecided)
        tight = {item for item in undecided if not could_decide(votes[item], self.rule, self.k, needed[item] - 1)}
        assert all(any(draw.open(item) for item in tight) for draw in wave)

    def _votes(self, poll: VoteScheduler, item: str) -> frozenset[tuple[str | None, int]]:
        final = (draw for draw in poll.draws if not draw.open(item))
        said = (draw.opinions[item].answer if item in draw.opinions else None for draw in final)
        return frozenset(Counter(said).items())


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "items", "most"),
    [(VALID, 1, 9), (VALID, 2, 5), (VALID, 3, 4), (RUBRIC, 1, 9), (RUBRIC, 2, 4), (RUBRIC, 3, 2)],
)
def test_every_way_to_vote_is_decided_rightly_with_no_call_too_many(rule: Rule, items: int, most: int) -> None:
    """Abstentions included, for every number of votes up to `most`."""
    for k in range(1, most + 1):
        assert Walk(rule, items, k).go() > 0
