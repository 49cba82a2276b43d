"""Do a reply, a use of tools, a conversation have the properties that somebody named?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial.errors import ConfigError
from fairtrial.formats.adk.evalset import rubrics as read_rubrics
from fairtrial.formats.reading import Diagnostics
from fairtrial.judge.judge import Judge
from fairtrial.metrics import evidence
from fairtrial.metrics.asking import RUBRIC, judge_each, question, scored, unfit
from fairtrial.metrics.evidence import Texts
from fairtrial.metrics.option_fields import option
from fairtrial.records.case import EvalCase
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import Score, mean_of
from fairtrial.records.trace import Invocation, Trace

FINAL_RESPONSE, TOOL_USE, TRAJECTORY = "FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY"
Placed = tuple[str, Rubric]
"""A rubric and where it is from."""


def _rubrics(raw: Any) -> tuple[Rubric, ...]:
    reading = Diagnostics("rubrics")
    found = read_rubrics({"rubrics": raw}, (), reading)
    if reading.errors:
        raise ValueError("; ".join(str(error) for error in reading.errors))
    return found


def _rubrics_option() -> Any:
    return option(
        "properties that hold for every case: [{rubric_id, rubric_content: {text_property}}]; cases and invocations "
        "may add their own",
        default=(),
        parse=_rubrics,
    )


@dataclass(frozen=True)
class FinalResponseRubrics:
    """`rubric_based_final_response_quality_v1`: the mean over invocations of the share of rubrics that hold, 0..1.

    The judge answers yes, no or not applicable for every rubric; "not applicable" wins where it outnumbers yes and no
    together, and leaves the rubric out.
    """

    judge: Judge
    rubrics: tuple[Rubric, ...] = _rubrics_option()
    include_intermediate_responses_in_final: bool = option(
        "judge what the agent said before its reply together with it", default=False
    )

    def __post_init__(self) -> None:
        _check_types(self.rubrics, FINAL_RESPONSE)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation by the rubrics of criterion, case and invocation together."""

        def shown(invocation: Invocation, number: int) -> tuple[Texts, Texts]:
            known = evidence.agents(trace, number - 1)
            context = evidence.instructions(known) | evidence.tools(known) | evidence.earlier(trace, number - 1)
            interim = self.include_intermediate_responses_in_final
            under = evidence.user_message(invocation, number) | evidence.doings(invocation, number, words=not interim)
            return context, under | {f"reply {number}": evidence.full_reply(invocation, interim=interim)}

        return await _each(self.judge, "rubric_final_response", self.rubrics, FINAL_RESPONSE, trace, case, shown)


@dataclass(frozen=True)
class ToolUseRubrics:
    """`rubric_based_tool_use_quality_v1`: as for replies, of the calls, their arguments and their results."""

    judge: Judge
    rubrics: tuple[Rubric, ...] = _rubrics_option()

    def __post_init__(self) -> None:
        _check_types(self.rubrics, TOOL_USE)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation by the rubrics of criterion, case and invocation together."""

        def shown(invocation: Invocation, number: int) -> tuple[Texts, Texts]:
            context = evidence.tools(evidence.agents(trace, number - 1)) | evidence.earlier(trace, number - 1)
            return context, evidence.user_message(invocation, number) | evidence.doings(invocation, number, words=False)

        return await _each(self.judge, "rubric_tool_use", self.rubrics, TOOL_USE, trace, case, shown)


@dataclass(frozen=True)
class TrajectoryRubrics:
    """`rubric_based_multi_turn_trajectory_quality_v1`: as for replies, over the whole conversation at once."""

    judge: Judge
    rubrics: tuple[Rubric, ...] = _rubrics_option()

    def __post_init__(self) -> None:
        _check_types(self.rubrics, TRAJECTORY)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge the conversation by the rubrics of criterion, case and all invocations together."""
        placed = [*_shared(self.rubrics, case)]
        for number in range(1, max(len(trace.invocations), len(case.conversation or ())) + 1):
            placed += _of_invocation(trace, case, number)
        chosen, notes = _chosen(placed, TRAJECTORY)
        if twice := _twice(chosen):
            return Score(None, twice, side="expectation")
        if not chosen:
            return Score(applicable=False, reason="no rubric for this conversation")
        if broken := unfit(trace):
            return broken
        known = evidence.agents(trace)
        context = evidence.instructions(known) | evidence.tools(known)
        return await _ask(self.judge, "rubric_trajectory", chosen, notes, context, evidence.whole(trace))


def untyped(trace: Trace, case: EvalCase) -> list[str]:
    """Return what is to be said of the rubrics of a case, and of its invocations, that have no type."""
    placed = _shared((), case)
    for number in range(1, len(trace.invocations) + 1):
        placed += _of_invocation(trace, case, number)
    return list(dict.fromkeys(_chosen(placed, FINAL_RESPONSE)[1]))


def _check_types(own: Sequence[Rubric], kind: str) -> None:
    for number, rubric in enumerate(own):
        if rubric.type not in {"", kind}:
            raise ConfigError(f"rubrics/{number}/type: must be {kind} or absent here, got {rubric.type!r}")


async def _each(
    judge: Judge, template: str, own: Sequence[Rubric], kind: str, trace: Trace, case: EvalCase, shown: Any
) -> Score:
    sets = [
        _chosen([*_shared(own, case), *_of_invocation(trace, case, number)], kind)
        for number in range(1, len(trace.invocations) + 1)
    ]
    for chosen, _ in sets:
        if twice := _twice(chosen):
            return Score(None, twice, side="expectation")

    async def one(invocation: Invocation, number: int) -> Score:
        chosen, notes = sets[number - 1]
        if not chosen:
            return Score(applicable=False, reason="no rubric for this invocation")
        context, under = shown(invocation, number)
        return await _ask(judge, template, chosen, notes, context, under)

    return await judge_each(trace, one)


async def _ask(
    judge: Judge, template: str, rubrics: Sequence[Placed], notes: Sequence[str], context: Texts, under: Texts
) -> Score:
    items = {f"r{number}": rubric for number, (_, rubric) in enumerate(rubrics, 1)}
    texts = {f"rubric {item}": rubric.text for item, rubric in items.items()}
    asked = question(
        template, {**context, **under, **texts}, list(items), RUBRIC, {"context": list(context), "under": list(under)}
    )
    ballot = await judge(asked)
    parts = [scored(ballot, item, RUBRIC, rubric.id) for item, rubric in items.items()]
    return mean_of(parts, reason="; ".join(notes))


def _shared(own: Sequence[Rubric], case: EvalCase) -> list[Placed]:
    return [*(("the criterion", rubric) for rubric in own), *(("the case", rubric) for rubric in case.rubrics)]


def _of_invocation(trace: Trace, case: EvalCase, number: int) -> list[Placed]:
    """The expected invocation's rubrics where there is one that has some, else those that were recorded."""
    for invocations in (case.conversation or (), trace.invocations):
        if number <= len(invocations) and invocations[number - 1].rubrics:
            return [(f"invocation {number}", rubric) for rubric in invocations[number - 1].rubrics]
    return []


def _chosen(placed: Sequence[Placed], kind: str) -> tuple[list[Placed], list[str]]:
    """Return the rubrics of a kind, and what is to be said: of a criterion every one of its own that has no other type.

    An untyped one of a case or an invocation is taken as one of the final response.
    """
    chosen: list[Placed] = []
    notes: list[str] = []
    for place, rubric in placed:
        if rubric.type == kind or (not rubric.type and place == "the criterion"):
            chosen.append((place, rubric))
        elif not rubric.type and kind == FINAL_RESPONSE:
            chosen.append((place, rubric))
            notes.append(f"rubric {rubric.id!r} of {place} has no type; it is taken as {FINAL_RESPONSE}")
    return chosen, notes


def _twice(placed: Sequence[Placed]) -> str:
    seen: dict[str, str] = {}
    for place, rubric in placed:
        if rubric.id in seen:
            return f"rubric id {rubric.id!r} is given twice: by {seen[rubric.id]} and by {place}"
        seen[rubric.id] = place
    return ""
