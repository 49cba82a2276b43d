"""The criterion `per_turn_user_simulator_quality_v1`, which judges whether the simulated user keeps to its plan."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.structs import replace

from fairtrial.config.option import NOT_BLANK
from fairtrial.metrics.asking import score_item, unfit
from fairtrial.metrics.judge_context import Texts, earlier
from fairtrial.metrics.judged_metric import VALIDITY, JudgedMetric
from fairtrial.metrics.pairing import broke_here
from fairtrial.records.contents import DIALOGUE, withheld_reason
from fairtrial.records.score import Score, average_parts, invocation_key
from fairtrial.simulate.personas import find_persona
from fairtrial.simulate.user_options import STOP_SIGNAL

if TYPE_CHECKING:
    from fairtrial.judge.question import Question
    from fairtrial.records.case import EvalCase, Scenario
    from fairtrial.records.trace import Trace


@dataclass(frozen=True)
class UserSimulatorQuality(JudgedMetric):
    """`per_turn_user_simulator_quality_v1`: the share of the user's messages that are valid, 0..1.

    The first message must equal the starting prompt, except for white space around it. Each later message is judged
    against plan and persona. The stop is judged too, unless the conversation ended otherwise. A wrong stop makes the
    last message invalid. The last message is unscored if the conversation broke in it. It is also unscored if the cap
    ended the conversation, because it may have been the moment to stop.
    """

    stop_signal: Annotated[
        str, Meta(pattern=NOT_BLANK, description="the text with which the simulated user ends the conversation")
    ] = STOP_SIGNAL

    scale = VALIDITY
    templates = ("simulated_message", "simulated_stop")

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge every message of the user, and the stop."""
        scenario = case.scenario
        if scenario is None:
            return Score(applicable=False, reason="the case has no scenario")
        if not trace.invocations and (empty := unfit(trace)):
            return empty
        if withheld := withheld_reason(trace.invocations, DIALOGUE):
            return Score(None, withheld, side="infrastructure")
        last = len(trace.invocations) - 1
        scores = (self._message(scenario, trace, index) for index in range(last))
        parts = await asyncio.gather(*scores, self._last(scenario, trace))
        return average_parts(
            replace(part, label=f"user message {index + 1}", key=invocation_key(index))
            for index, part in enumerate(parts)
        )

    async def _last(self, scenario: Scenario, trace: Trace) -> Score:
        """Judge the last message, and the stop after it unless the conversation ended otherwise."""
        index = len(trace.invocations) - 1
        if interruption := broke_here(trace, index):
            return interruption
        if trace.ended_by == "cap":
            return Score(None, "the conversation was ended by its cap")
        message = self._message(scenario, trace, index)
        if trace.broken:
            return await message
        return _with_stop(*await asyncio.gather(message, self._stop(scenario, trace)))

    async def _message(self, scenario: Scenario, trace: Trace, index: int) -> Score:
        if index == 0:
            return _first(scenario, trace)
        ballot = await self.judge(self.ask_about_message(scenario, trace, index))
        return score_item(ballot, "message", VALIDITY)

    async def _stop(self, scenario: Scenario, trace: Trace) -> Score:
        return score_item(await self.judge(self.ask_about_stop(scenario, trace)), "message", VALIDITY)

    def ask_about_message(self, scenario: Scenario, trace: Trace, index: int) -> Question:
        """Return the question whether the user's message in the invocation at `index` is valid."""
        message = trace.invocations[index].query
        standards = self._list_standards(scenario, violations=True)
        return self._ask("simulated_message", scenario, standards, earlier(trace, index, with_actions=False), message)

    def ask_about_stop(self, scenario: Scenario, trace: Trace) -> Question:
        """Return the question whether it was right to end the conversation after its last invocation."""
        before = earlier(trace, len(trace.invocations), with_actions=False)
        standards = self._list_standards(scenario, violations=False)
        return self._ask("simulated_stop", scenario, standards, before, self.stop_signal)

    def _ask(self, template: str, scenario: Scenario, standards: Texts, before: Texts, message: str) -> Question:
        texts = {"plan": scenario.conversation_plan, **standards, **before, "message": message}
        values = {"standard_names": list(standards), "context_names": list(before)}
        return self.question(template, texts, ["message"], sample=scenario.starting_prompt, values=values)

    def _list_standards(self, scenario: Scenario, *, violations: bool) -> Texts:
        """Return the texts about the persona: its description, and on request the rubrics of forbidden behaviour."""
        persona = find_persona(scenario, stop_signal=self.stop_signal)
        if persona is None:
            return {}
        habits = [f"- {habit.name}: {habit.description}" for habit in persona.behaviors]
        rubrics = [text for habit in persona.behaviors for text in habit.violation_rubrics] if violations else []
        violation_texts = {f"violation {number}": rubric for number, rubric in enumerate(rubrics, 1)}
        return {"persona": "\n".join([persona.description, *habits]), **violation_texts}


def _first(scenario: Scenario, trace: Trace) -> Score:
    is_equal = trace.invocations[0].query.strip() == scenario.starting_prompt.strip()
    return Score(float(is_equal), "" if is_equal else "it is not the starting prompt")


def _with_stop(last: Score, stop: Score) -> Score:
    """Return the score of the last message together with the stop: the worse of the two decides."""
    ballots = (*last.ballots, *stop.ballots)
    if stop.value == 1.0 or last.value == 0.0:
        return replace(last, ballots=ballots)
    why = "the stop was wrong" if stop.value == 0.0 else "whether to stop here was right is not known"
    side = (last.side or stop.side) if stop.value is None else None
    return replace(last, value=stop.value, reason=f"{why}: {stop.reason}", ballots=ballots, side=side)
