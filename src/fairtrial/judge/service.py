"""A judge behind an evaluation service, which returns a number instead of votes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.judge.ballot_costs import ballot_id
from fairtrial.judge.voting import UNSCORED
from fairtrial.llm.model import CallError, NamedModel, UnsentError, call_key
from fairtrial.llm.model_pool import ModelPool, discard
from fairtrial.llm.structured import read_json
from fairtrial.llm.vertex_service import vertex_prompt
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, JudgeCall, SentPrompt, Vote, VoteResult
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record

if TYPE_CHECKING:
    from fairtrial.records.reply import Prompt
    from fairtrial.records.score import Range

ATTEMPTS = 2
"""The number of attempts if the service returns no number."""


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


class _ServiceResult(Record, frozen=True):
    """A result of the service, with the names of its SDK."""

    score: float | None = None
    explanation: str = ""
    error: dict[str, Json] | None = None
    rubric_verdicts: tuple[_Verdict, ...] = ()


@dataclass(frozen=True)
class Service:
    """Evaluates instances by a metric of a service. `keep` receives every ballot.

    A ballot has a single vote, whose answer is the number, so agreement is undefined.
    """

    metric: str
    model: NamedModel
    keep: Callable[[Ballot], None] = field(default=discard, repr=False, compare=False)

    def connect_models(self, pool: ModelPool) -> Service:
        """Return the service with the connection of a run behind it. The pool keeps its ballots."""
        return dataclasses.replace(self, model=pool.vertex(self.model, self.metric), keep=pool.keep)

    async def __call__(self, instance: dict[str, Json], item: str, scale: Range) -> Ballot:
        """Call the service, and try once more if the number is missing or outside the scale. Then the vote abstains."""
        prompt = vertex_prompt(self.metric, instance)
        calls: list[JudgeCall] = []
        opinion: JudgeAnswer | None = None
        problem = ""
        while opinion is None and len(calls) < ATTEMPTS:
            attempt = replace(prompt, ask=len(calls) + 1)
            key = call_key(self.model.signature, attempt)
            try:
                reply = await self.model(attempt)
            except CallError as failure:
                problem = str(failure)
                sent = not isinstance(failure, UnsentError)
                calls.append(JudgeCall(key=key, voter=self.model.name, problem=problem, sent=sent))
                break
            try:
                opinion, problem = _opinion(reply.text, scale), ""
            except ValueError as error:
                problem = str(error)
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
            prompts=(SentPrompt(prompt.system, prompt.text),),
        )


def _opinion(text: str, scale: Range) -> JudgeAnswer:
    """Parse a result. Raises ValueError if its number is missing or outside the scale."""
    try:
        result = convert(read_json(text), _ServiceResult)
    except (ValueError, msgspec.ValidationError) as problem:
        raise ValueError(f"the service's result cannot be read: {problem}") from None
    if result.error and result.error.get("code"):
        raise ValueError(f"the service could not evaluate it: {result.error.get('message') or result.error}")
    if result.score is None or not math.isfinite(result.score):
        raise ValueError("the service gave no score")
    if result.score not in scale:
        low, high = scale.bounds
        raise ValueError(f"the service's score must be from {low:g} to {high:g}, got {result.score:g}")
    verdicts = [f"{'met' if rubric.verdict else 'not met'}: {_describe(rubric)}" for rubric in result.rubric_verdicts]
    rationale = "; ".join(text for text in (result.explanation, *verdicts) if text)
    return JudgeAnswer(answer=repr(result.score), rationale=rationale)


def _describe(verdict: _Verdict) -> str:
    description, reason = verdict.evaluated_rubric.content.property.description, verdict.reasoning
    return f"{description} ({reason})" if description and reason else description or reason
