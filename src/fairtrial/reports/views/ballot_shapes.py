"""A ballot as JSON: the prompts, every vote, and every call with the raw reply."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fairtrial.records.ballot import Ballot, Decision, JudgeCall, Vote
from fairtrial.records.reply import Reply


class AnswerShape(msgspec.Struct, frozen=True):
    """The answer of one vote on one item, with the reasons of the judge."""

    answer: str
    rationale: str
    quote: str
    marks: list[str]


class DecisionShape(msgspec.Struct, frozen=True):
    """The result on one item: `value` is null if it does not apply, or if the votes do not decide it.

    `counted` is the number of votes for each answer, `abstained` the number of votes without one. `draws` are the votes
    that were counted.
    """

    value: float | None
    applicable: bool
    counted: dict[str, int]
    abstained: int
    draws: list[int]


class PromptShape(msgspec.Struct, frozen=True):
    """A prompt as it was sent to a judge."""

    system: str
    text: str


class BallotCallShape(msgspec.Struct, frozen=True):
    """One judge call. `prompt` is the index of its prompt. `reply` is the raw reply, or null if there is none."""

    voter: str
    served: str
    prompt: int
    reply: str | None
    stop: str
    problem: str
    sent: bool
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    seconds: float


class VoteShape(msgspec.Struct, frozen=True):
    """One vote: an answer for each item, or the problem of the item. `draw` and `wave` count from 1."""

    draw: int
    voter: str
    wave: int
    answers: dict[str, AnswerShape]
    problems: dict[str, str]
    calls: list[BallotCallShape]


class BallotShape(msgspec.Struct, frozen=True):
    """One question to judges. The `ballots` of an outcome name its id. `template` is the prompt's name and version."""

    id: str
    template: str
    k: int
    first_wave: int
    prompts: list[PromptShape]
    votes: list[VoteShape]
    decisions: dict[str, DecisionShape]


def ballot_shape(ballot: Ballot, replies: Mapping[str, Reply]) -> BallotShape:
    """Return a ballot as reports write it."""
    votes = [_vote(vote, replies) for vote in ballot.votes]
    prompts = [PromptShape(prompt.system, prompt.text) for prompt in ballot.prompts]
    decisions = {item: _decision(decision) for item, decision in ballot.decisions.items()}
    return BallotShape(ballot.id, ballot.prompt, ballot.k, ballot.first_wave, prompts, votes, decisions)


def _decision(decision: Decision) -> DecisionShape:
    result = decision.result
    draws = list(decision.draws)
    return DecisionShape(result.value, result.applicable, decision.counted, decision.abstained, draws)


def _vote(vote: Vote, replies: Mapping[str, Reply]) -> VoteShape:
    calls = [_call(call, replies.get(call.key)) for call in vote.calls]
    answers = {
        item: AnswerShape(answer.answer, answer.rationale, answer.quote, list(answer.marks))
        for item, answer in vote.opinions.items()
    }
    return VoteShape(vote.draw, vote.voter, vote.wave, answers, vote.problems, calls)


def _call(call: JudgeCall, reply: Reply | None) -> BallotCallShape:
    return BallotCallShape(
        call.voter,
        call.served,
        call.prompt,
        None if reply is None else reply.text,
        "" if reply is None else reply.stop,
        call.problem,
        call.sent,
        call.input_tokens,
        call.output_tokens,
        call.cost,
        call.seconds,
    )
