"""Is every sentence of the reply borne out by what the agent was told?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec.structs import replace

from fairtrial.judge.judge import Judge
from fairtrial.llm.prompts import render
from fairtrial.llm.structured import read_json
from fairtrial.metrics import evidence
from fairtrial.metrics.asking import judge_each, question, scale
from fairtrial.metrics.evidence import Texts
from fairtrial.metrics.option_fields import option
from fairtrial.records.ballot import Ballot, JudgeAnswer
from fairtrial.records.case import EvalCase
from fairtrial.records.score import Quote, Score, mean_of
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.text.quoting import Haystack
from fairtrial.text.sentences import sentences

AT_ONCE = 40
"""How many sentences are labelled in one call."""

GROUNDED = ("supported", "not_applicable")
UNGROUNDED = ("contradictory", "disputed", "unsupported")
LABELS = scale(GROUNDED, UNGROUNDED)
_SHAPE = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "string"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Hallucinations:
    """`hallucinations_v1`: the share of the sentences of a reply that are grounded, 0..1; a case is the mean.

    A sentence is grounded if more votes label it supported or not_applicable than otherwise. A reply without sentences
    is not applicable. What the agent said itself is no evidence.
    """

    judge: Judge
    evaluate_intermediate_nl_responses: bool = option(
        "label what the agent said before its reply too, each against what came before it", default=False
    )
    segmenter: Literal["local", "judge"] = option("who cuts a reply into sentences", default="local")

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Label every sentence of every reply, and take the mean."""

        async def one(invocation: Invocation, number: int) -> Score:
            known = evidence.agents(trace, number - 1)
            before = evidence.instructions(known) | evidence.tools(known)
            before |= evidence.earlier(trace, number - 1, replies=False) | evidence.user_message(invocation, number)
            replies = self._replies(invocation, number)
            parts = await asyncio.gather(
                *(self._label(before | context, text, label) for label, context, text in replies)
            )
            return parts[0] if len(parts) == 1 else mean_of(parts)

        return await judge_each(trace, one)

    def _replies(self, invocation: Invocation, number: int) -> list[tuple[str, Texts, str]]:
        """Return what is to be labelled: what it is called, what the agent knew by then, and its text."""
        found = [("reply", evidence.doings(invocation, number, words=False), invocation.reply)]
        if not self.evaluate_intermediate_nl_responses:
            return found
        interim = [
            (f"interim message {place + 1}", evidence.doings(invocation, number, words=False, upto=place), step.text)
            for place, step in enumerate(invocation.steps or ())
            if isinstance(step, Message)
        ]
        return [*interim, *found]

    async def _label(self, context: Texts, text: str, label: str) -> Score:
        found, ballots, problem = await self._cut(text)
        if found is None:
            return Score(None, f"the judge could not cut the reply: {problem}", label, ballots=ballots, side="judge")
        if not found:
            return Score(applicable=False, reason="a reply without sentences", label=label, ballots=ballots)
        batches = [range(start, min(start + AT_ONCE, len(found))) for start in range(0, len(found), AT_ONCE)]
        labelled = await asyncio.gather(*(self._ask(context, text, found, batch) for batch in batches))
        return replace(mean_of([part for batch in labelled for part in batch], label=label), ballots=ballots)

    async def _cut(self, text: str) -> tuple[tuple[str, ...] | None, tuple[str, ...], str]:
        """Return the sentences, or None where the judge gave none; the ballots of asking it; and what was wrong."""
        if self.segmenter == "local" or not text.strip():
            return sentences(text), (), ""
        prompt = render("segments", {"reply": text}, schema=_SHAPE)
        found, ballot = await self.judge.write(prompt, lambda reply: _segments(reply, text))
        return found, (ballot.id,), ballot.votes[0].problems.get(prompt.id, "")

    async def _ask(self, context: Texts, text: str, found: Sequence[str], batch: range) -> list[Score]:
        items = {f"s{place + 1}": found[place] for place in batch}
        haystack = Haystack(context.values())

        def check(_: str, opinion: JudgeAnswer) -> str:
            if opinion.answer == "supported":
                return "" if haystack.holds(opinion.quote) else "supported, but its quote is not in the context"
            return "" if opinion.rationale.strip() else f"{opinion.answer} without a reason"

        shown = {f"sentence {item}": sentence for item, sentence in items.items()}
        texts = {**context, "reply": text, **shown}
        values = {"context": list(context)}
        asked = question("hallucinations", texts, list(items), LABELS, values, quote=True, check=check)
        ballot = await self.judge(asked)
        return [_sentence(ballot, item, sentence) for item, sentence in items.items()]


def _segments(reply: str, text: str) -> tuple[str, ...]:
    """Read the judge's cut of a text; ValueError where it is not the text again but for white space."""
    try:
        cut = msgspec.convert(read_json(reply), type=dict[str, list[str]])["sentences"]
    except (KeyError, msgspec.ValidationError) as problem:
        raise ValueError(f"the cut cannot be read: {problem}") from None
    if "".join("".join(cut).split()) != "".join(text.split()):
        raise ValueError("its cut does not give the reply again")
    return tuple(one.strip() for one in cut if one.strip())


def label_of(counted: dict[str, int], grounded: bool) -> str:
    """Return the most frequent label on the winning side; ties go to the one that is named first."""
    side = GROUNDED if grounded else UNGROUNDED
    order = {"contradictory": 0, "disputed": 1, "unsupported": 2, "supported": 0, "not_applicable": 1}
    return min(side, key=lambda label: (-counted.get(label, 0), order[label]))


def _sentence(ballot: Ballot, item: str, sentence: str) -> Score:
    decision, value = ballot.decisions[item], ballot.decisions[item].result.value
    own = Quote(sentence, "reply")
    if value is None:
        return Score(None, ballot.why_unscored(item), item, evidence=(own,), ballots=(ballot.id,), side="judge")
    label = label_of(decision.counted, value == 1.0)
    spoken = next((one for one in ballot.opinions(item) if one.answer == label), JudgeAnswer(label))
    quotes = (own, Quote(spoken.quote, "context")) if spoken.quote else (own,)
    reason = f"{label}: {spoken.rationale}" if spoken.rationale else label
    return Score(value, reason, item, evidence=quotes, ballots=(ballot.id,))
