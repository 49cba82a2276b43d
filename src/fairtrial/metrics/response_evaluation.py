"""How coherent is the reply?"""

from __future__ import annotations

from dataclasses import dataclass

from fairtrial.judge.judge import Judge
from fairtrial.metrics.asking import GRADES, compare_each, question, scored
from fairtrial.records.case import EvalCase
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class ResponseEvaluation:
    """`response_evaluation_score`: the median grade of a reply's coherence, 1..5; a case is the mean.

    No reference: not applicable. An invocation that was never reached: 1.
    """

    judge: Judge

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Grade each reply that has a reference, and take the mean."""
        return await compare_each(trace, case, self._grade, worst=1.0)

    async def _grade(self, actual: Invocation, expected: Invocation, number: int) -> Score:
        texts = {"user message": actual.query, "reference": expected.reply, "reply": actual.reply}
        ballot = await self.judge(question("coherence", texts, ["reply"], GRADES))
        return scored(ballot, "reply", GRADES, f"invocation {number}")
