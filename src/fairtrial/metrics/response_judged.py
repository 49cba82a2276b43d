"""The criterion `final_response_match_v2`, which judges whether reply and reference mean the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from fairtrial.judge.question import Question
from fairtrial.metrics.asking import judge_pairs, score_item
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.judge_context import actions, full_reply, history
from fairtrial.metrics.judged_metric import TEMPLATES, VALIDITY, JudgedMetric
from fairtrial.records.case import EvalCase
from fairtrial.records.contents import DIALOGUE, Content, readable
from fairtrial.records.record import Json
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

    prompt_version: Annotated[
        Literal["2", "3"],
        Meta(
            description="the version of the prompt. Version 3 asks for a checklist of what is essential, and shows the "
            "earlier messages and the results of tools. No measurement with a model shows that it is better"
        ),
    ] = "2"

    scale = VALIDITY
    templates = ("final_response_match",)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation that has a reference, and take the mean."""
        interim: tuple[Content, ...] = ("messages",) if self.include_intermediate_responses_in_final else ()

        async def compare(actual: Invocation, expected: Invocation) -> Score:
            return score_item(await self.judge(self.compare(actual, expected, trace)), "reply", VALIDITY)

        return await judge_pairs(trace, case, compare, reads=(*DIALOGUE, *interim))

    @property
    def prompts(self) -> dict[str, Json]:
        """The version of the template."""
        return {name: TEMPLATES.version(name, self._version) for name in self.templates}

    @property
    def _version(self) -> str:
        return "" if self.prompt_version == "2" else f"v{self.prompt_version}"

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
            version=self._version,
        )


def _show_before(trace: Trace, actual: Invocation) -> dict[str, str]:
    """Return the earlier messages of a conversation, and the calls and results of one of its invocations, by name."""
    index = next((place for place, own in enumerate(trace.invocations) if own is actual), 0)
    texts = history(trace, with_actions=False, with_replies=True)
    for number, own in enumerate(trace.invocations[:index], 1):
        texts |= {f"user message {number}": readable(own.user), f"reply {number}": full_reply(own, interim=False)}
    return {name: text for name, text in texts.items() if text} | actions(actual, index, messages=False)
