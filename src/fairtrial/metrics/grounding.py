"""The criteria `hallucinations_v1` and `grounding_v1`: every sentence is supported by the agent's information."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from fairtrial.llm.fences import numbered
from fairtrial.llm.structured import read_json
from fairtrial.metrics.asking import judge_each
from fairtrial.metrics.judge_context import Texts, actions, agents_at, earlier, instructions, tools, user_message
from fairtrial.metrics.judged_metric import TEMPLATES, JudgedMetric, scale
from fairtrial.records.ballot import Ballot, JudgeAnswer
from fairtrial.records.contents import Content  # noqa: TC001  # read at run time
from fairtrial.records.decoding import convert
from fairtrial.records.score import PartKey, Quote, Score, average_parts
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.text.language import detect_language
from fairtrial.text.quoting import SHORTEST, Haystack
from fairtrial.text.sentences import sentences

if TYPE_CHECKING:
    from fairtrial.judge.question import Question
    from fairtrial.records.case import EvalCase

AT_ONCE = 40
"""The largest number of sentences that one question asks about."""

CASE_CONTEXT = "the case's context"
"""The name of the text that the case gives as evidence."""

GROUNDED = ("supported", "not_applicable")
UNGROUNDED = ("contradictory", "disputed", "unsupported")
LABELS = scale(GROUNDED, UNGROUNDED)
_SHAPE = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "string"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}


_NOT_FOUND = (
    f"supported, but its quote is not in the context; copy at least {SHORTEST} characters of the context as they are, "
    "and join several places with '...'"
)


class _Reply(NamedTuple):
    """A text of the agent to check: its key and label, the context that the agent had by then, and the text."""

    key: PartKey
    label: str
    context: Texts
    text: str


@dataclass(frozen=True)
class Hallucinations(JudgedMetric):
    """`hallucinations_v1`: the share of the sentences of a reply that are grounded, 0..1. A case is the mean.

    A sentence is grounded if more votes label it supported or not_applicable than otherwise. A reply without sentences
    is not applicable. The agent's own words are not evidence.
    """

    evaluate_intermediate_nl_responses: Annotated[
        bool, Meta(description="also label the messages before the reply, each against the context before it")
    ] = False
    segmenter: Annotated[
        Literal["local", "judge"],
        Meta(description="who cuts a reply into sentences. The pieces of `judge` must give the text back"),
    ] = "local"

    scale = LABELS
    templates = ("hallucinations", "segments")
    evidence_contents: ClassVar[tuple[Content, ...]] = ("user", "results")

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Label every sentence of every reply, and take the mean."""

        async def score(invocation: Invocation, index: int) -> Score:
            before = self.context_before(trace, case, index)
            replies = self._replies(invocation, index)
            parts = await asyncio.gather(*(self._score(before, reply) for reply in replies))
            # Without interim messages the sentences stand directly below their invocation.
            return parts[0] if len(parts) == 1 else average_parts(parts)

        interim: tuple[Content, ...] = ("messages",) if self.evaluate_intermediate_nl_responses else ()
        evidence = self.evidence_contents
        return await judge_each(trace, score, reads=("reply", *interim, *evidence), reads_before=evidence)

    def context_before(self, trace: Trace, case: EvalCase, index: int) -> Texts:
        """Return the evidence that the agent had when the invocation at `index` began."""
        agents, invocation = agents_at(trace, index), trace.invocations[index]
        context = instructions(agents) | tools(agents)
        context |= {CASE_CONTEXT: case.context} if case.context else {}
        return context | earlier(trace, index, with_replies=False) | user_message(invocation, index)

    def evidence_in(self, invocation: Invocation, index: int, *, before_step: int | None = None) -> Texts:
        """Return the evidence that the agent got in the invocation at `index`, or before one of its steps."""
        return actions(invocation, index, messages=False, before_step=before_step)

    def _replies(self, invocation: Invocation, index: int) -> list[_Reply]:
        """Return the texts to check in their order: the interim messages if they are asked for, then the reply."""
        context = self.evidence_in(invocation, index)
        reply = _Reply(PartKey("message", id="reply"), "", context, invocation.reply)
        if not self.evaluate_intermediate_nl_responses:
            return [reply]
        interim = [
            _Reply(
                PartKey("message", place),
                f"interim message {place + 1}",
                self.evidence_in(invocation, index, before_step=place),
                step.text,
            )
            for place, step in enumerate(invocation.steps or ())
            if isinstance(step, Message)
        ]
        return [*interim, reply]

    async def _score(self, before: Texts, reply: _Reply) -> Score:
        """Return the share of grounded sentences of one text."""
        score = Score(key=reply.key, label=reply.label)
        sentence_texts, ballots, problem = await self.cut_reply(reply.text)
        score = replace(score, ballots=ballots)
        if sentence_texts is None:
            return replace(score, reason=f"the judge could not cut the reply: {problem}", side="judge")
        if not sentence_texts:
            return replace(score, applicable=False, reason="a reply without sentences")
        context = before | reply.context
        batches = [
            range(start, min(start + AT_ONCE, len(sentence_texts))) for start in range(0, len(sentence_texts), AT_ONCE)
        ]
        labelled = await asyncio.gather(*(self._ask(context, reply.text, sentence_texts, batch) for batch in batches))
        mean = average_parts([part for batch in labelled for part in batch], label=reply.label, key=reply.key)
        return replace(mean, ballots=ballots)

    async def cut_reply(self, text: str) -> tuple[tuple[str, ...] | None, tuple[str, ...], str]:
        """Return the sentences or None, the ids of the ballots about them, and the problem if there are none."""
        if self.segmenter == "local" or not text.strip():
            return sentences(text), (), ""
        prompt = TEMPLATES.render(
            "segments",
            {"reply": text},
            language=detect_language(text),
            schema=_SHAPE,
            version=self.choose_version("segments"),
        )
        sentence_texts, ballot = await self.judge.write(prompt, lambda reply: _segments(reply, text))
        return sentence_texts, (ballot.id,), ballot.votes[0].problems.get(prompt.id, "")

    async def _ask(self, context: Texts, text: str, sentence_texts: Sequence[str], batch: range) -> list[Score]:
        """Return the scores of a batch of sentences, all labelled in one question."""
        ballot = await self.judge(self.ask_about(context, text, sentence_texts, batch))
        return [_sentence(ballot, f"s{place + 1}", place, sentence_texts[place]) for place in batch]

    def ask_about(self, context: Texts, text: str, sentence_texts: Sequence[str], batch: Sequence[int]) -> Question:
        """Return the question about the sentences at the places in `batch`. Their ids count from s1 over the reply."""
        passages = {f"s{place}": sentence for place, sentence in enumerate(sentence_texts, 1)}
        numbered_reply, code = numbered(text, passages)
        haystack = Haystack(context.values())

        def check(_: str, answer: JudgeAnswer) -> str:
            if answer.answer == "supported":
                return "" if haystack.holds(answer.quote) else _NOT_FOUND
            return "" if answer.rationale.strip() else f"{answer.answer} without a reason"

        return self.question(
            "hallucinations",
            {**context, "reply": numbered_reply},
            [f"s{place + 1}" for place in batch],
            sample=text,
            values={"context_names": list(context), "code": code},
            check=check,
        )


@dataclass(frozen=True)
class Grounding(Hallucinations):
    """`grounding_v1`: the share of the sentences of a reply that the context of the case alone supports, 0..1.

    Instructions, tools, results of calls and messages of the user are not evidence. Without a context the criterion is
    not applicable.
    """

    evidence_contents = ()

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Label every sentence of every reply against the context of the case, and take the mean."""
        if not case.context.strip():
            return Score(applicable=False, reason="the case has no context")
        return await super().__call__(trace, case)

    def context_before(self, trace: Trace, case: EvalCase, index: int) -> Texts:  # noqa: ARG002  (every time the same)
        """Return the context of the case."""
        return {CASE_CONTEXT: case.context}

    def evidence_in(self, invocation: Invocation, index: int, *, before_step: int | None = None) -> Texts:  # noqa: ARG002
        """Return no texts: the agent's calls and their results are not evidence."""
        return {}


def _segments(reply: str, text: str) -> tuple[str, ...]:
    """Return the sentences into which the judge cut a text.

    Raises ValueError if together they are not the text again, except for white space.
    """
    try:
        pieces = convert(read_json(reply), dict[str, list[str]])["sentences"]
    except (KeyError, msgspec.ValidationError) as problem:
        raise ValueError(f"the cut cannot be read: {problem}") from None
    if "".join("".join(pieces).split()) != "".join(text.split()):
        raise ValueError("its cut does not give the reply again")
    return tuple(_verbatim(pieces, text))


def _verbatim(pieces: Sequence[str], text: str) -> Iterator[str]:
    """Yield the parts of the text that pieces stand for, which may have other white space than the text."""
    places = [place for place, char in enumerate(text) if not char.isspace()]
    start = 0
    for piece in pieces:
        end = start + len("".join(piece.split()))
        if end > start:
            yield text[places[start] : places[end - 1] + 1]
        start = end


def make_label(counted: dict[str, int], grounded: bool) -> str:
    """Return the most frequent label on the winning side. Ties go to the label that is first in the order below."""
    side = GROUNDED if grounded else UNGROUNDED
    order = {"contradictory": 0, "disputed": 1, "unsupported": 2, "supported": 0, "not_applicable": 1}
    return min(side, key=lambda label: (-counted.get(label, 0), order[label]))


def _sentence(ballot: Ballot, item: str, place: int, sentence: str) -> Score:
    key = PartKey("sentence", place)
    decision, value = ballot.decisions[item], ballot.decisions[item].result.value
    own = Quote(sentence, "reply")
    if value is None:
        reason = ballot.why_unscored(item)
        return Score(None, reason, quotes=(own,), ballots=(ballot.id,), side="judge", key=key)
    label = make_label(decision.counted, value == 1.0)
    representative = next((answer for answer in ballot.opinions(item) if answer.answer == label), JudgeAnswer(label))
    quotes = (own, Quote(representative.quote, "context")) if representative.quote else (own,)
    reason = f"{label}: {representative.rationale}" if representative.rationale else label
    return Score(value, reason, quotes=quotes, ballots=(ballot.id,), key=key)
