"""A judge puts a question to the vote, with the fewest calls that decide it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.judge.ballot_costs import ballot_id
from fairtrial.judge.question import Question, ask_again, parse_reply
from fairtrial.judge.sent_prompts import SentPrompts
from fairtrial.judge.vote_scheduler import PendingVote, VoteScheduler
from fairtrial.llm.model import CallError, NamedModel, UnsentError, call_key
from fairtrial.llm.model_pool import ModelPool, discard
from fairtrial.llm.pacing import Limited
from fairtrial.llm.served_models import is_same_model
from fairtrial.records.ballot import Ballot, JudgeCall, Vote

if TYPE_CHECKING:
    from fairtrial.records.record import Json
    from fairtrial.records.reply import Prompt, Reply

T = TypeVar("T")


@dataclass(frozen=True)
class Judge:
    """Puts questions to the vote of one model, or of a panel.

    `votes` is k. Vote i goes to model i mod m of the panel. `all_votes` asks for every vote, even when the result is
    certain. `parallelism_limit` bounds the calls in flight to all models of the panel together. `keep` receives every
    ballot. With `strict_model`, a vote of another model than the asked one is an abstention. `repetition` names a
    further time at which the same questions are asked, so that no earlier reply is used again.
    """

    panel: tuple[NamedModel, ...]
    votes: Annotated[int, Meta(ge=1, description="how many votes on each question")] = 5
    all_votes: Annotated[bool, Meta(description="asks for every vote")] = False
    parallelism_limit: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="the most calls of the panel at once")
    ] = None
    keep: Callable[[Ballot], None] = field(default=discard, repr=False, compare=False)
    strict_model: bool = False
    repetition: str = ""

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def signature(self) -> dict[str, Json]:
        """The models with their settings, and the number of votes: every score of the judge depends on them."""
        return {"panel": [voter.signature for voter in self.panel], "votes": self.votes}

    def connect_models(self, pool: ModelPool) -> Judge:
        """Return the judge with the models of a run behind its names. The pool keeps its ballots."""
        panel = tuple(map(pool.connected, self.panel))
        if self.parallelism_limit is not None:
            places = asyncio.Semaphore(self.parallelism_limit)
            panel = tuple(voter.through(Limited(voter, places)) for voter in panel)
        return replace(self, panel=panel, keep=pool.keep)

    async def __call__(self, question: Question) -> Ballot:
        """Request votes in waves until every item is settled, and return the ballot.

        For example, with 5 votes, 3 that agree end the question. A failed call becomes an abstention with its cause. An
        error that would stop every question is raised, after the calls in flight have ended.
        """
        scheduler = VoteScheduler(question, self.panel, self.votes, all_votes=self.all_votes)
        while wave := scheduler.next_wave():
            requests = (self._ask(question, draw, scheduler.prompts) for draw in wave)
            outcomes = await asyncio.gather(*requests, return_exceptions=True)
            for outcome in outcomes:
                if outcome is not None:
                    raise outcome
            scheduler.close_wave()
        ballot = scheduler.ballot()
        if self.repetition:
            ballot = msgspec.structs.replace(ballot, id=ballot_id([ballot.id, self.repetition], self.votes))
        self.keep(ballot)
        return ballot

    async def _ask(self, question: Question, draw: PendingVote, prompts: SentPrompts) -> None:
        """Request a vote once, and add the reply to the draw."""
        voter = draw.voter
        prompt = msgspec.structs.replace(question.prompt_for(draw.turn), draw=f"{draw.number}{self.repetition}")
        if draw.calls:
            prompt = ask_again(prompt, draw.problems)
        key, number = call_key(voter.signature, prompt), prompts.number(prompt)
        try:
            reply = await voter(prompt)
        except CallError as failure:
            draw.fail(question.items, _failed_call(key, voter, failure, number))
            return
        if problem := self._name_other_model(voter, reply):
            draw.fail(question.items, _judge_call(key, voter, reply, problem, number))
            return
        parsed = parse_reply(reply.text, question, reply.interruption)
        problem = next((problem for item, problem in parsed.problems.items() if item not in draw.opinions), "")
        draw.add_reply(parsed, _judge_call(key, voter, reply, problem, number))

    def _name_other_model(self, voter: NamedModel, reply: Reply) -> str:
        """Return that another model answered, if only the asked one may answer."""
        if not self.strict_model or is_same_model(voter.name, reply.model):
            return ""
        return f"another model answered: asked {voter.name!r}, got {reply.model!r:.80}"

    async def write(self, prompt: Prompt, parse: Callable[[str], T]) -> tuple[T | None, Ballot]:
        """Let the first model of the panel write a text, and try once more if `parse` raises ValueError.

        Returns None if both attempts fail. The only vote of the ballot holds the calls and the problem.
        """
        voter, calls, parsed, problem = self.panel[0], list[JudgeCall](), None, ""
        prompts = SentPrompts()
        for ask in (1, 2):
            attempt = prompt if ask == 1 else ask_again(prompt, {prompt.id: problem})
            key, number = call_key(voter.signature, attempt), prompts.number(attempt)
            try:
                reply = await voter(attempt)
            except CallError as failure:
                problem = str(failure)
                calls.append(_failed_call(key, voter, failure, number))
                break
            problem = self._name_other_model(voter, reply)
            try:
                parsed = None if problem else parse(reply.text)
            except ValueError as error:
                problem = ": ".join(filter(None, (reply.interruption, str(error))))
            calls.append(_judge_call(key, voter, reply, problem, number))
            if parsed is not None:
                break
        problems = {prompt.id: problem} if problem else {}
        vote = Vote(draw=1, voter=voter.name, wave=1, problems=problems, calls=tuple(calls))
        name = ballot_id([call_key(voter.signature, prompt)], 1)
        ballot = Ballot(name, f"{prompt.id}/{prompt.version}", 1, 1, (vote,), {}, prompts.all())
        self.keep(ballot)
        return parsed, ballot


def _judge_call(key: str, voter: NamedModel, reply: Reply, problem: str, prompt: int) -> JudgeCall:
    return JudgeCall(
        key=key,
        voter=voter.name,
        served=reply.model,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost=reply.cost,
        seconds=reply.seconds,
        problem=problem,
        prompt=prompt,
    )


def _failed_call(key: str, voter: NamedModel, failure: CallError, prompt: int) -> JudgeCall:
    is_unsent = isinstance(failure, UnsentError)
    return JudgeCall(key=key, voter=voter.name, problem=str(failure), sent=not is_unsent, prompt=prompt)
