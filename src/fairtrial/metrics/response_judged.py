"""The criterion `final_response_match_v2`, which judges whether reply and reference mean the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from fairtrial.config.reader import OptionError, ReadWith
from fairtrial.metrics.asking import judge_pairs, score_item
from fairtrial.metrics.cascade import FirstCriterion, explain, is_audited, read_first, word_overlap
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.judge_context import actions, full_reply, history
from fairtrial.metrics.judged_metric import VALIDITY, JudgedMetric
from fairtrial.records.contents import DIALOGUE, Content, readable
from fairtrial.records.score import FirstDecision, Score

if TYPE_CHECKING:
    from fairtrial.judge.question import Question
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class FinalResponseMatch(JudgedMetric):
    """`final_response_match_v2`: the share of invocations whose reply is valid against its reference, 0..1.

    More votes for valid than for invalid are 1.0, else 0.0. No reference: not applicable.
    """

    include_intermediate_responses_in_final: Annotated[
        bool, Meta(description="judge the messages before the reply together with the reply")
    ] = False
    first: Annotated[
        Any,
        ReadWith(read_first),
        Meta(
            description="a criterion without a model that decides before the judge: a name such as `checks_v1`, "
            'or `{"response_match_score": 0.2}` with the value below which a reply fails without a call'
        ),
    ] = None
    pass_at: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(
            description="the word overlap (ROUGE-1 F) from which a reply that `first` passes needs no judge. By "
            "default the judge is always asked"
        ),
    ] = None
    audit: Annotated[
        float,
        Meta(ge=0, le=1, description="the share of the decisions of `first` about which the judge is asked anyway"),
    ] = 0.0

    scale = VALIDITY
    templates = ("final_response_match",)

    def __post_init__(self) -> None:
        """Check the options. Raises OptionError."""
        super().__post_init__()
        if self.first is None and (self.pass_at is not None or self.audit):
            raise OptionError([("first", "must name a criterion, because pass_at or audit is given")])
        if self.first is not None and self.include_intermediate_responses_in_final:
            raise OptionError(
                [("first", "compares the reply alone; leave out include_intermediate_responses_in_final")]
            )

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation that has a reference, and take the mean."""
        interim: tuple[Content, ...] = ("messages",) if self.include_intermediate_responses_in_final else ()

        async def compare(actual: Invocation, expected: Invocation, index: int) -> Score:
            if self.first is None:
                return await self._ask(actual, expected, trace)
            return await self._cascade(self.first, trace, case, index)

        return await judge_pairs(trace, case, compare, reads=(*DIALOGUE, *interim))

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def compare(self, actual: Invocation, expected: Invocation, trace: Trace | None = None) -> Question:
        """Return the question whether a reply is right. Version 3 of the prompt also shows what came before it."""
        interim = self.include_intermediate_responses_in_final
        texts = {
            "user message": readable(actual.user),
            "reference": full_reply(expected, interim=interim),
            "reply": full_reply(actual, interim=interim),
        }
        before = {} if self.prompt_version == "2" or trace is None else _show_before(trace, actual)
        return self.question(
            "final_response_match",
            texts | before,
            ["reply"],
            sample=texts["reply"],
            values={"context_names": list(before)},
        )

    async def _ask(self, actual: Invocation, expected: Invocation, trace: Trace) -> Score:
        return score_item(await self.judge(self.compare(actual, expected, trace)), "reply", VALIDITY)

    async def _cascade(self, first: FirstCriterion, trace: Trace, case: EvalCase, index: int) -> Score:
        """Return the decision of the first criterion, or that of the judge if there is none."""
        actual, expected = trace.invocations[index], (case.conversation or ())[index]
        score = first.score_pair(trace, case, index)
        decision = first.decide(score)
        overlap = word_overlap(actual, expected) if decision == "pass" and self.pass_at is not None else None
        if decision == "ask" or (decision == "pass" and (overlap is None or overlap < (self.pass_at or 0))):
            return replace(await self._ask(actual, expected, trace), first=FirstDecision(first.name, decisive=False))
        fails = decision == "fail"
        own = explain(score, failing=fails)
        reason = own.reason if fails else f"it passes, and the word overlap is {overlap:.2f}"
        reason = f"decided by {first.name} without the judge: {reason}"
        if not is_audited(case, index, actual, expected, self.audit):
            return replace(own, reason=reason, first=FirstDecision(first.name, saved=self.judge.votes))
        judged = await self._ask(actual, expected, trace)
        answer = "without an answer" if judged.value is None else "valid" if judged.value else "invalid"
        return replace(
            own,
            reason=f"{reason}; the judge was asked anyway: {answer}",
            ballots=judged.ballots,
            first=FirstDecision(first.name, audited=True, judged=judged.value),
        )


def _show_before(trace: Trace, actual: Invocation) -> dict[str, str]:
    """Return the earlier messages of a conversation, and the calls and results of one of its invocations, by name."""
    index = next((place for place, own in enumerate(trace.invocations) if own is actual), 0)
    texts = history(trace, with_actions=False, with_replies=True)
    for number, own in enumerate(trace.invocations[:index], 1):
        texts |= {f"user message {number}": readable(own.user), f"reply {number}": full_reply(own, interim=False)}
    return {name: text for name, text in texts.items() if text} | actions(actual, index, messages=False)
