"""What does a service say that gives numbers of its own, in place of votes?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from fairtrial.judge.ballot_costs import ballot_id
from fairtrial.judge.voting import UNSCORED
from fairtrial.llm.model import CallError, NamedModel, UnsentError, call_key
from fairtrial.llm.model_pool import ModelPool, discard
from fairtrial.llm.structured import read_json
from fairtrial.llm.vertex_service import vertex_prompt
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, JudgeCall, Vote, VoteResult
from fairtrial.records.record import Json, Record
from fairtrial.records.reply import Prompt
from fairtrial.records.score import Range

ASKS = 2
"""How often a service is asked where it gives no number."""


class _Property(Record, frozen=True):
    description: str = ""


class _Content(Record, frozen=True):
    property: _Property = _Property()


class _Rubric(Record, frozen=True):
    content: _Content = _Content()


class _Verdict(Record, frozen=True):
    verdict: bool = False
    reasoning: str = ""
    evaluated_rubric: _Rubric = _Rubric()


class _Said(Record, frozen=True):
    """A result of the service, in the words of its SDK."""

    score: float | None = None
    explanation: str = ""
    error: dict[str, Json] | None = None
    rubric_verdicts: tuple[_Verdict, ...] = ()


@dataclass(frozen=True)
class Service:
    """Has one thing after the other evaluated by a metric of a service; `keep` is handed every ballot, for the store.

    The ballot has one vote, whose answer is the number, and nobody to agree with.
    """

    metric: str
    model: NamedModel
    keep: Callable[[Ballot], None] = field(default=discard, repr=False, compare=False)

    def connect_models(self, pool: ModelPool) -> Service:
        """Return the service with the connection of a run behind it. The pool keeps its ballots."""
        return dataclasses.replace(self, model=pool.vertex(self.model, self.metric), keep=pool.keep)

    async def __call__(self, instance: dict[str, Json], item: str, scale: Range) -> Ballot:
        """Ask, and once more where no number within the scale comes; then it is an abstention."""
        prompt = vertex_prompt(self.metric, instance)
        calls: list[JudgeCall] = []
        opinion: JudgeAnswer | None = None
        problem = ""
        while opinion is None and len(calls) < ASKS:
            asked = replace(prompt, ask=len(calls) + 1)
            key = call_key(self.model.signature, asked)
            try:
                reply = await self.model(asked)
            except CallError as failure:
                problem = str(failure)
                sent = not isinstance(failure, UnsentError)
                calls.append(JudgeCall(key=key, voter=self.model.name, problem=problem, sent=sent))
                break
            try:
                opinion, problem = _opinion(reply.text, scale), ""
            except ValueError as unread:
                problem = str(unread)
            calls.append(
                JudgeCall(key, self.model.name, reply.model, cost=reply.cost, seconds=reply.seconds, problem=problem)
            )
        ballot = self._ballot(prompt, item, opinion, problem, tuple(calls))
        self.keep(ballot)
        return ballot

    def _ballot(
        self, prompt: Prompt, item: str, opinion: JudgeAnswer | None, problem: str, calls: tuple[JudgeCall, ...]
    ) -> Ballot:
        vote = Vote(
            draw=1,
            voter=self.model.name,
            wave=1,
            opinions={} if opinion is None else {item: opinion},
            problems={} if opinion is not None else {item: problem},
            calls=calls,
        )
        result = UNSCORED if opinion is None else VoteResult(float(opinion.answer))
        counted = {} if opinion is None else {opinion.answer: 1}
        return Ballot(
            id=ballot_id([call_key(self.model.signature, prompt)], 1),
            prompt=f"{prompt.id}/{prompt.version}",
            k=1,
            first_wave=1,
            votes=(vote,),
            decisions={item: Decision(result, counted, int(opinion is None), (1,))},
        )


def _opinion(text: str, scale: Range) -> JudgeAnswer:
    """Read a result; ValueError where it holds no number within the scale."""
    try:
        said = msgspec.convert(read_json(text), _Said)
    except (ValueError, msgspec.ValidationError) as problem:
        raise ValueError(f"the service's result cannot be read: {problem}") from None
    if said.error and said.error.get("code"):
        raise ValueError(f"the service could not evaluate it: {said.error.get('message') or said.error}")
    if said.score is None or not math.isfinite(said.score):
        raise ValueError("the service gave no score")
    if said.score not in scale:
        low, high = scale.bounds
        raise ValueError(f"the service's score must be from {low:g} to {high:g}, got {said.score:g}")
    found = [f"{'met' if one.verdict else 'not met'}: {_words(one)}" for one in said.rubric_verdicts]
    return JudgeAnswer(answer=repr(said.score), rationale="; ".join(one for one in (said.explanation, *found) if one))


def _words(verdict: _Verdict) -> str:
    what, why = verdict.evaluated_rubric.content.property.description, verdict.reasoning
    return f"{what} ({why})" if what and why else what or why
