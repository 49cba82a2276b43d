"""Did the simulated user keep to its plan?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from fairtrial.judge.judge import Judge
from fairtrial.metrics import evidence
from fairtrial.metrics.asking import VALIDITY, question, scored, unfit
from fairtrial.metrics.evidence import Texts
from fairtrial.metrics.option_fields import option
from fairtrial.metrics.pairing import broke
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.score import Score, mean_of
from fairtrial.records.trace import Trace
from fairtrial.simulate.personas import persona_of
from fairtrial.simulate.user_options import STOP_SIGNAL


@dataclass(frozen=True)
class UserSimulatorQuality:
    """`per_turn_user_simulator_quality_v1`: the share of the user's messages that are valid, 0..1.

    The first must equal the starting prompt, but for the space around it; each later one is judged against plan and
    persona. So is the stop, unless the conversation ended otherwise: a wrong stop makes the last message invalid. Where
    a conversation was cut off by its cap, whether the last message should have been the stop is not known: unscored, as
    is the message at which it broke.
    """

    judge: Judge
    stop_signal: str = option("what the simulated user says to end the conversation", default=STOP_SIGNAL)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge every message of the user, and the stop."""
        scenario = case.scenario
        if scenario is None:
            return Score(applicable=False, reason="the case has no scenario")
        if not trace.invocations and (empty := unfit(trace)):
            return empty
        earlier = (self._message(scenario, trace, number) for number in range(1, len(trace.invocations)))
        return mean_of(await asyncio.gather(*earlier, self._last(scenario, trace)))

    async def _last(self, scenario: Scenario, trace: Trace) -> Score:
        """Judge the last message, and the stop after it where there was one or nobody says otherwise."""
        number = len(trace.invocations)
        if broke(trace, number - 1):
            return Score(None, f"broke here: {trace.broken}", f"user message {number}")
        if trace.ended_by == "cap":
            return Score(None, "the conversation was ended by its cap", f"user message {number}")
        message = self._message(scenario, trace, number)
        if trace.broken:
            return await message
        return _with_stop(*await asyncio.gather(message, self._stop(scenario, trace)))

    async def _message(self, scenario: Scenario, trace: Trace, number: int) -> Score:
        if number == 1:
            return _first(scenario, trace)
        texts, persona, violations = self._plan(scenario, violations=True)
        before = evidence.earlier(trace, number - 1, doing=False)
        texts |= before | {"message": trace.invocations[number - 1].query}
        shown = {"under": list(before), "persona": list(persona), "violations": list(violations)}
        ballot = await self.judge(question("simulated_message", texts, ["message"], VALIDITY, shown))
        return scored(ballot, "message", VALIDITY, f"user message {number}")

    async def _stop(self, scenario: Scenario, trace: Trace) -> Score:
        texts, persona, _ = self._plan(scenario, violations=False)
        before = evidence.earlier(trace, len(trace.invocations), doing=False)
        texts |= before | {"message": self.stop_signal}
        shown = {"under": list(before), "persona": list(persona)}
        ballot = await self.judge(question("simulated_stop", texts, ["message"], VALIDITY, shown))
        return scored(ballot, "message", VALIDITY, "stop")

    def _plan(self, scenario: Scenario, *, violations: bool) -> tuple[Texts, Texts, Texts]:
        """Return all texts about the user, those of the persona, and those of what breaks its habits."""
        who = persona_of(scenario, stop_signal=self.stop_signal)
        persona: Texts = {}
        broken: Texts = {}
        if who is not None:
            habits = [f"- {habit.name}: {habit.description}" for habit in who.behaviors]
            persona = {"persona": "\n".join([who.description, *habits])}
            rubrics = [rubric for habit in who.behaviors for rubric in habit.violation_rubrics] if violations else []
            broken = {f"violation {number}": rubric for number, rubric in enumerate(rubrics, 1)}
        return {"plan": scenario.conversation_plan, **persona, **broken}, persona, broken


def _first(scenario: Scenario, trace: Trace) -> Score:
    same = trace.invocations[0].query.strip() == scenario.starting_prompt.strip()
    return Score(float(same), "" if same else "it is not the starting prompt", "user message 1")


def _with_stop(last: Score, stop: Score) -> Score:
    """Return the last message's score, given the stop's: a stop that is wrong, or unscored, takes it along."""
    ballots = (*last.ballots, *stop.ballots)
    if stop.value == 1.0 or last.value == 0.0:
        return replace(last, ballots=ballots)
    why = "the stop was wrong" if stop.value == 0.0 else "whether to stop here was right is not known"
    side = (last.side or stop.side) if stop.value is None else None
    return replace(last, value=stop.value, reason=f"{why}: {stop.reason}", ballots=ballots, side=side)
