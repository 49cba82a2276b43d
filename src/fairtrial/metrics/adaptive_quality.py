"""The adaptive criteria, whose rubrics the judge makes for each user message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.metrics.adaptive_rubrics import TEMPLATE
from fairtrial.metrics.asking import judge_each
from fairtrial.metrics.rubrics import FinalResponseRubrics, RubricQuestions, reply_in_context

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.score import Score
    from fairtrial.records.trace import Invocation, Trace


@dataclass(frozen=True)
class AdaptiveQuality(RubricQuestions):
    """A metric that judges each reply by rubrics that the judge makes first, also if the case has rubrics."""

    templates = ("rubric_final_response", TEMPLATE)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002
        """Return the mean over invocations."""

        async def score(_: Invocation, index: int) -> Score:
            return await self.score_adaptively(trace, index, *reply_in_context(trace, index))

        return await judge_each(trace, score)

    @property
    def by_own_rubrics(self) -> FinalResponseRubrics:
        """The metric that asks the same judge in the same way, by the rubrics of each case."""
        return FinalResponseRubrics(
            self.judge,
            instructions=self.instructions,
            examples=self.examples,
            prompt_version=self.prompt_version,
        )


@dataclass(frozen=True)
class GeneralQuality(AdaptiveQuality):
    """`general_quality_v1`: the share of the adaptive rubrics about the whole quality of a reply that hold, 0..1."""

    aspect = "general"


@dataclass(frozen=True)
class TextQuality(AdaptiveQuality):
    """`text_quality_v1`: the share of the adaptive rubrics about the reply as a text that hold, 0..1."""

    aspect = "text"


@dataclass(frozen=True)
class InstructionFollowing(AdaptiveQuality):
    """`instruction_following_v1`: the share of the demands of user and instructions that a reply meets, 0..1."""

    aspect = "instructions"
