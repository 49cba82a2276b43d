"""The criterion `response_evaluation_score`, which rates the coherence of replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.metrics.asking import judge_pairs, score_item
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.judged_metric import GRADES, JudgedMetric
from fairtrial.records.contents import readable

if TYPE_CHECKING:
    from fairtrial.judge.question import Question
    from fairtrial.records.case import EvalCase
    from fairtrial.records.score import Score
    from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class ResponseEvaluation(JudgedMetric):
    """`response_evaluation_score`: the median grade of a reply's coherence, 1..5. A case is the mean.

    No reference: not applicable. An invocation that was never reached: 1.
    """

    scale = GRADES
    templates = ("coherence",)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Grade each reply that has a reference, and take the mean."""
        return await judge_pairs(trace, case, lambda ours, theirs, _: self._grade(ours, theirs), worst=1.0)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def grade(self, actual: Invocation, expected: Invocation) -> Question:
        """Return the question how coherent a reply is."""
        texts = {
            "user message": readable(actual.user),
            "reference": readable(expected.final_response),
            "reply": readable(actual.final_response),
        }
        return self.question("coherence", texts, ["reply"], sample=actual.reply)

    async def _grade(self, actual: Invocation, expected: Invocation) -> Score:
        return score_item(await self.judge(self.grade(actual, expected)), "reply", GRADES)
