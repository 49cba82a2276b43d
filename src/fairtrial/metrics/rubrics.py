"""Do a reply, a use of tools, or a conversation have the properties that rubrics name?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from fairtrial.config.reader import OptionError, OptionReader, ReadWith, check_options
from fairtrial.formats.adk.evalset import rubrics as read_rubrics
from fairtrial.formats.reading import Diagnostics
from fairtrial.judge.judge import Judge
from fairtrial.metrics.asking import RUBRIC, judge_each, question, scored, unfit
from fairtrial.metrics.judge_context import (
    Texts,
    actions,
    agents_at,
    earlier,
    instructions,
    reply,
    tools,
    user_message,
    whole,
)
from fairtrial.records.case import EvalCase
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import PartKey, Score, mean_of
from fairtrial.records.trace import Invocation, Trace

FINAL_RESPONSE, TOOL_USE, TRAJECTORY = "FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY"
_CRITERION = "the criterion"

PlacedRubric = tuple[str, Rubric]
"""A rubric behind its origin, for example `("invocation 2", rubric)`."""

Show = Callable[[Invocation, int], tuple[Texts, Texts]]
"""The texts for an invocation and its index: the context, and the subject of the judgement."""


def _read_rubrics(raw: Any, reader: OptionReader, pointer: str) -> tuple[Rubric, ...]:
    """Return rubrics in ADK's form. A rubric that was made in Python stays as it is."""
    if isinstance(raw, list | tuple) and raw and all(isinstance(rubric, Rubric) for rubric in raw):
        return tuple(raw)
    reading = Diagnostics("rubrics")
    rubrics = read_rubrics({"rubrics": list(raw) if isinstance(raw, tuple) else raw}, (), reading)
    for error in reading.errors:
        place, _, problem = error.partition(": ")
        reader.note(pointer + place.removeprefix("/rubrics"), problem)
    return rubrics


Rubrics = Annotated[
    tuple[Rubric, ...],
    ReadWith(_read_rubrics),
    Meta(
        description="properties that hold for every case: `[{rubric_id, rubric_content: {text_property}}]`. Cases and "
        "invocations may add their own. A rubric with a `type` goes only to the criterion of that type"
    ),
]


@dataclass(frozen=True)
class FinalResponseRubrics:
    """`rubric_based_final_response_quality_v1`: the mean over invocations of the share of rubrics that hold, 0..1.

    The judge answers yes, no or not applicable to every rubric. If "not applicable" gets more votes than yes and no
    together, the rubric does not count.
    """

    judge: Judge
    rubrics: Rubrics = ()
    include_intermediate_responses_in_final: Annotated[
        bool, Meta(description="judge the messages before the reply together with the reply")
    ] = False

    def __post_init__(self) -> None:
        check_options(self)
        _check_types(self.rubrics, FINAL_RESPONSE)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation by the rubrics of criterion, case and invocation together."""

        def show(invocation: Invocation, index: int) -> tuple[Texts, Texts]:
            agents = agents_at(trace, index)
            context = instructions(agents) | tools(agents) | earlier(trace, index)
            interim = self.include_intermediate_responses_in_final
            subject = user_message(invocation, index) | actions(invocation, index, messages=not interim)
            return context, subject | reply(invocation, index, interim=interim)

        return await _judge_each(self.judge, "rubric_final_response", self.rubrics, FINAL_RESPONSE, trace, case, show)

    def notes(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:
        """Return a note for each rubric of the case, or of an invocation, that has no type."""
        placed = _shared((), case)
        for index in range(len(trace.invocations)):
            placed += _of_invocation(trace, case, index)
        return tuple(dict.fromkeys(_of_kind(placed, FINAL_RESPONSE)[1]))


@dataclass(frozen=True)
class ToolUseRubrics:
    """`rubric_based_tool_use_quality_v1`: the same for the calls of an invocation, their arguments and results."""

    judge: Judge
    rubrics: Rubrics = ()

    def __post_init__(self) -> None:
        check_options(self)
        _check_types(self.rubrics, TOOL_USE)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge each invocation by the rubrics of criterion, case and invocation together."""

        def show(invocation: Invocation, index: int) -> tuple[Texts, Texts]:
            context = tools(agents_at(trace, index)) | earlier(trace, index)
            return context, user_message(invocation, index) | actions(invocation, index, messages=False)

        return await _judge_each(self.judge, "rubric_tool_use", self.rubrics, TOOL_USE, trace, case, show)


@dataclass(frozen=True)
class TrajectoryRubrics:
    """`rubric_based_multi_turn_trajectory_quality_v1`: the share of rubrics that hold for the whole conversation."""

    judge: Judge
    rubrics: Rubrics = ()

    def __post_init__(self) -> None:
        check_options(self)
        _check_types(self.rubrics, TRAJECTORY)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge the conversation by the rubrics of criterion, case and all invocations together."""
        placed = _shared(self.rubrics, case)
        for index in range(max(len(trace.invocations), len(case.conversation or ()))):
            placed += _of_invocation(trace, case, index)
        rubrics, notes = _of_kind(placed, TRAJECTORY)
        if duplicate := _duplicate(rubrics):
            return Score(None, duplicate, side="expectation")
        if not rubrics:
            return Score(applicable=False, reason="no rubric for this conversation")
        if unfit_score := unfit(trace):
            return unfit_score
        agents = agents_at(trace)
        context = instructions(agents) | tools(agents)
        return await _judge(self.judge, "rubric_trajectory", rubrics, notes, context, whole(trace))


def _check_types(own: Sequence[Rubric], kind: str) -> None:
    problems = [
        (f"rubrics/{i}/type", f"must be {kind} or absent here, got {rubric.type!r}")
        for i, rubric in enumerate(own)
        if rubric.type not in {"", kind}
    ]
    if problems:
        raise OptionError(problems)


async def _judge_each(
    judge: Judge, template: str, own: Sequence[Rubric], kind: str, trace: Trace, case: EvalCase, show: Show
) -> Score:
    """Return the mean over invocations. Nothing is judged if an id stands twice anywhere in the conversation."""
    selection = [
        _of_kind([*_shared(own, case), *_of_invocation(trace, case, index)], kind)
        for index in range(len(trace.invocations))
    ]
    for rubrics, _ in selection:
        if duplicate := _duplicate(rubrics):
            return Score(None, duplicate, side="expectation")

    async def score(invocation: Invocation, index: int) -> Score:
        rubrics, notes = selection[index]
        if not rubrics:
            return Score(applicable=False, reason="no rubric for this invocation")
        context, subject = show(invocation, index)
        return await _judge(judge, template, rubrics, notes, context, subject)

    return await judge_each(trace, score)


async def _judge(
    judge: Judge, template: str, placed: Sequence[PlacedRubric], notes: Sequence[str], context: Texts, subject: Texts
) -> Score:
    items = {f"r{number}": rubric for number, (_, rubric) in enumerate(placed, 1)}
    texts = {f"rubric {item}": rubric.text for item, rubric in items.items()}
    values = {"context": list(context), "under": list(subject)}
    ballot = await judge(question(template, {**context, **subject, **texts}, list(items), RUBRIC, values))
    parts = [scored(ballot, item, RUBRIC, PartKey("rubric", id=rubric.id)) for item, rubric in items.items()]
    return mean_of(parts, reason="; ".join(notes))


def _shared(own: Sequence[Rubric], case: EvalCase) -> list[PlacedRubric]:
    """Return the rubrics that hold for every invocation."""
    return [*((_CRITERION, rubric) for rubric in own), *(("the case", rubric) for rubric in case.rubrics)]


def _of_invocation(trace: Trace, case: EvalCase, index: int) -> list[PlacedRubric]:
    """Return the rubrics of the expected invocation, or of the recorded invocation if it has none."""
    for invocations in (case.conversation or (), trace.invocations):
        if index < len(invocations) and invocations[index].rubrics:
            return [(f"invocation {index + 1}", rubric) for rubric in invocations[index].rubrics]
    return []


def _of_kind(placed: Sequence[PlacedRubric], kind: str) -> tuple[list[PlacedRubric], list[str]]:
    """Return the rubrics of a kind, and notes about the rubrics whose kind was assumed.

    A rubric without type is taken as the criterion's kind if the criterion names it. In a case or an invocation it is
    taken as a rubric of the final response.
    """
    selection: list[PlacedRubric] = []
    notes: list[str] = []
    for place, rubric in placed:
        if rubric.type == kind or (not rubric.type and place == _CRITERION):
            selection.append((place, rubric))
        elif not rubric.type and kind == FINAL_RESPONSE:
            selection.append((place, rubric))
            notes.append(f"rubric {rubric.id!r} of {place} has no type; it is taken as {FINAL_RESPONSE}")
    return selection, notes


def _duplicate(placed: Sequence[PlacedRubric]) -> str:
    """Return a message about the first rubric id that stands twice, or an empty text."""
    places: dict[str, str] = {}
    for place, rubric in placed:
        if rubric.id in places:
            return f"rubric id {rubric.id!r} is given twice: by {places[rubric.id]} and by {place}"
        places[rubric.id] = place
    return ""
