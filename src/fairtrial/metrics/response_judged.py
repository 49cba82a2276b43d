"""The criterion `final_response_match_v2`, which judges whether reply and reference mean the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from fairtrial.judge.question import Question
from fairtrial.metrics.asking import judge_pairs, score_item
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.judge_context import full_reply
from fairtrial.metrics.judged_metric import VALIDITY, JudgedMetric
from fairtrial.records.case import EvalCase
from fairtrial.records.contents import DIALOGUE, Content, readable
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class FinalResponseMatch(JudgedMetric):
    """`final_response_match_v2`: the share of invocations whose reply is valid against its reference, 0..1.

    More votes for valid than for invalid are 1.0, else 0.0. No reference: not applicable.
    """

    include_intermediate_responses_in_final: Annotated[
        bool, Meta(description="judge the messages before the reply together with the reply")
    ] = False

    scale = VALIDITY
    templates = ("final_response_match",)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation that has a reference, and take the mean."""
        interim: tuple[Content, ...] = ("messages",) if self.include_intermediate_responses_in_final else ()
        return await judge_pairs(trace, case, self._compare, reads=(*DIALOGUE, *interim))

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def compare(self, actual: Invocation, expected: Invocation) -> Question:
        """Return the question whether a reply is right."""
        interim = self.include_intermediate_responses_in_final
        texts = {
            "user message": readable(actual.user),
            "reference": full_reply(expected, interim=interim),
            "reply": full_reply(actual, interim=interim),
        }
        return self.question("final_response_match", texts, ["reply"], sample=texts["reply"])

    async def _compare(self, actual: Invocation, expected: Invocation) -> Score:
        return score_item(await self.judge(self.compare(actual, expected)), "reply", VALIDITY)
