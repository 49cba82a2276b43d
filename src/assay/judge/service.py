"""What does a service say that gives numbers of its own, in place of votes?"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from assay.data.noun import Json, Noun
from assay.data.outcome import Range
from assay.judge.ballot import Asked, Ballot, Decision, Vote, ballot_id
from assay.judge.judge import forget
from assay.judge.question import Opinion
from assay.judge.voting import UNSCORED, Result
from assay.llm.model import CallError, Named, Prompt, UnsentError, call_key
from assay.llm.structured import read_json
from assay.llm.vertex import vertex_prompt

ASKS = 2
"""How often a service is asked where it gives no number."""


class _Property(Noun, frozen=True):
    description: str = ""


class _Content(Noun, frozen=True):
    property: _Property = _Property()


class _Rubric(Noun, frozen=True):
    content: _Content = _Content()


class _Verdict(Noun, frozen=True):
    verdict: bool = False
    reasoning: str = ""
    evaluated_rubric: _Rubric = _Rubric()


class _Said(Noun, frozen=True):
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
    model: Named
    keep: Callable[[Ballot], None] = field(default=forget, repr=False, compare=False)

    async def __call__(self, instance: dict[str, Json], item: str, scale: Range) -> Ballot:
        """Ask, and once more where no number within the scale comes; then it is an abstention."""
        prompt = vertex_prompt(self.metric, instance)
        calls: list[Asked] = []
        opinion: Opinion | None = None
        problem = ""
        while opinion is None and len(calls) < ASKS:
            asked = replace(prompt, ask=len(calls) + 1)
            key = call_key(self.model.signature, asked)
            try:
                reply = await self.model(asked)
            except CallError as failure:
                problem = str(failure)
                sent = not isinstance(failure, UnsentError)
                calls.append(Asked(key=key, voter=self.model.name, problem=problem, sent=sent))
                break
            try:
                opinion, problem = _opinion(reply.text, scale), ""
            except ValueError as unread:
                problem = str(unread)
            calls.append(
                Asked(key, self.model.name, reply.model, cost=reply.cost, seconds=reply.seconds, problem=problem)
            )
        ballot = self._ballot(prompt, item, opinion, problem, tuple(calls))
        self.keep(ballot)
        return ballot

    def _ballot(
        self, prompt: Prompt, item: str, opinion: Opinion | None, problem: str, calls: tuple[Asked, ...]
    ) -> Ballot:
        vote = Vote(
            draw=1,
            voter=self.model.name,
            wave=1,
            opinions={} if opinion is None else {item: opinion},
            problems={} if opinion is not None else {item: problem},
            calls=calls,
        )
        result = UNSCORED if opinion is None else Result(float(opinion.answer))
        counted = {} if opinion is None else {opinion.answer: 1}
        return Ballot(
            id=ballot_id([call_key(self.model.signature, prompt)], 1),
            prompt=f"{prompt.id}/{prompt.version}",
            k=1,
            first_wave=1,
            votes=(vote,),
            decisions={item: Decision(result, counted, int(opinion is None), (1,))},
        )


def _opinion(text: str, scale: Range) -> Opinion:
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
    return Opinion(answer=repr(said.score), rationale="; ".join(one for one in (said.explanation, *found) if one))


def _words(verdict: _Verdict) -> str:
    what, why = verdict.evaluated_rubric.content.property.description, verdict.reasoning
    return f"{what} ({why})" if what and why else what or why
