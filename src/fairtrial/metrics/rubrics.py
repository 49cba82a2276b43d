"""The rubric criteria, which judge properties of replies, of tool use and of conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from fairtrial.config.reader import OptionError, OptionReader, ReadWith
from fairtrial.formats.adk.case_parts import rubrics as read_rubrics
from fairtrial.formats.reading import Diagnostics
from fairtrial.metrics.adaptive_rubrics import TEMPLATE, Aspect, make_rubrics
from fairtrial.metrics.asking import judge_each, score_item, unfit
from fairtrial.metrics.judge_context import (
    Texts,
    actions,
    agents_at,
    all_replies,
    earlier,
    find_pictures,
    instructions,
    produced_files,
    reply,
    tools,
    user_message,
    whole,
)
from fairtrial.metrics.judged_metric import RUBRIC, TEMPLATES, JudgedMetric
from fairtrial.records.contents import DIALOGUE, Content
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import PartKey, Score, average_parts

if TYPE_CHECKING:
    from fairtrial.judge.question import Question
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Invocation, Part, Trace

FINAL_RESPONSE, TOOL_USE, TRAJECTORY = "FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY"
_KINDS = {FINAL_RESPONSE, TOOL_USE, TRAJECTORY}
_CRITERION, _CASE = "the criterion", "the case"
EVERY_GROUP = "*"
"""The value of `rubric_group` that stands for all rubrics of the case."""

PlacedRubric = tuple[str, Rubric]
"""A rubric behind its origin, for example `("invocation 2", rubric)`."""


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
        "invocations may add their own. A rubric whose `type` names a criterion goes only to that criterion"
    ),
]


@dataclass(frozen=True)
class RubricQuestions(JudgedMetric):
    """A metric that asks the judge yes, no or not applicable about rubrics."""

    scale = RUBRIC
    aspect: ClassVar[Aspect]

    def ask_about(self, rubrics: Sequence[Rubric], context: Texts, subject: Texts, *, sample: str) -> Question:
        """Return the question whether a subject has the properties that rubrics name. Their ids are r1, r2, ..."""
        items = [f"r{number}" for number in range(1, len(rubrics) + 1)]
        texts = {f"rubric {item}": rubric.text for item, rubric in zip(items, rubrics, strict=True)}
        values = {"context_names": list(context), "judged_names": list(subject)}
        return self.question(self.templates[0], {**context, **subject, **texts}, items, sample=sample, values=values)

    async def score_rubrics(self, rubrics: Sequence[Rubric], notes: Sequence[str], question: Question) -> Score:
        """Return the mean of the rubrics that a question is about."""
        ballot = await self.judge(question)
        parts = [
            score_item(ballot, item, RUBRIC, PartKey("rubric", id=rubric.id))
            for item, rubric in zip(question.items, rubrics, strict=True)
        ]
        return average_parts(parts, reason="; ".join(notes))

    async def score_adaptively(self, trace: Trace, index: int, context: Texts, subject: Texts) -> Score:
        """Return the score by rubrics that the judge makes for the invocation. Their texts are the labels of parts."""
        rubrics, ballots, problem = await make_rubrics(
            self.judge, self.aspect, trace, index, self.choose_version(TEMPLATE)
        )
        if not rubrics:
            return Score(None, f"the judge made no rubrics: {problem}", ballots=ballots, side="judge")
        invocation = trace.invocations[index]
        question = self.ask_about(rubrics, context, subject, sample=invocation.reply or invocation.query)
        score = await self.score_rubrics(rubrics, (), question)
        parts = [replace(part, label=rubric.text) for part, rubric in zip(score.parts, rubrics, strict=True)]
        return replace(score, parts=tuple(parts), ballots=ballots)


@dataclass(frozen=True)
class RubricMetric(RubricQuestions):
    """A metric that asks about every rubric of a type."""

    rubrics: Rubrics = ()
    rubric_group: Annotated[
        str | None,
        Meta(
            description="the group of the case's rubrics that is judged, `*` for all groups. By default all groups "
            "except a group with the name of another criterion's type"
        ),
    ] = None

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_types(self.rubrics, self.kind)

    def _apply_selection(self, placed: Sequence[PlacedRubric]) -> tuple[list[PlacedRubric], list[str]]:
        """Return the rubrics that this criterion judges, and notes about the rubrics whose kind was assumed."""
        if self.rubric_group is None:
            return _select_kind(placed, self.kind)
        by_type = [(place, rubric) for place, rubric in placed if place != _CASE]
        in_group = [
            (place, rubric)
            for place, rubric in placed
            if place == _CASE and self.rubric_group in (EVERY_GROUP, rubric.type)
        ]
        selection, notes = _select_kind(by_type, self.kind)
        return [*selection, *in_group], notes

    def _problem(self, case: EvalCase, placed: Sequence[PlacedRubric]) -> str:
        """Return the reason why the rubrics of a case cannot be judged, or an empty text."""
        groups = dict.fromkeys(rubric.type for rubric in case.rubrics)
        if self.rubric_group not in (None, EVERY_GROUP, *groups):
            names = ", ".join(filter(None, groups)) or "none"
            return f"the case has no rubric group {self.rubric_group!r}; its groups: {names}"
        return _duplicate(placed)


@dataclass(frozen=True)
class _InvocationRubrics(RubricMetric):
    """A metric that judges each invocation by the rubrics of criterion, case and invocation together."""

    adaptive_rubrics: Annotated[
        bool, Meta(description="let the judge make rubrics if criterion, case and invocations have none")
    ] = False

    @property
    def reads(self) -> tuple[Content, ...]:
        """The contents of an invocation that must be recorded."""
        return DIALOGUE

    @property
    def prompts(self) -> dict[str, Json]:
        """The versions of the templates, also of the template for adaptive rubrics if it is used."""
        version = TEMPLATES.version(TEMPLATE, self.choose_version(TEMPLATE))
        return super().prompts | ({TEMPLATE: version} if self.adaptive_rubrics else {})

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Return the mean over invocations. Nothing is judged if an id stands twice anywhere in the conversation."""
        selection = [
            self._apply_selection([*_shared(self.rubrics, case), *_invocation_rubrics(trace, case, index)])
            for index in range(len(trace.invocations))
        ]
        for rubrics, _ in selection:
            if problem := self._problem(case, rubrics):
                return Score(None, problem, side="expectation")

        is_adaptive = self.adaptive_rubrics and not any(rubrics for rubrics, _ in selection)

        async def score(invocation: Invocation, index: int) -> Score:
            placed, notes = selection[index]
            context, subject = self.show(trace, index)
            if is_adaptive:
                return await self.score_adaptively(trace, index, context, subject)
            if not placed:
                return Score(applicable=False, reason="no rubric for this invocation")
            rubrics = [rubric for _, rubric in placed]
            question = self.ask_about(rubrics, context, subject, sample=invocation.reply or invocation.query)
            return await self.score_rubrics(rubrics, notes, question.with_pictures(self.pictures(invocation)))

        return await judge_each(trace, score, reads=self.reads)

    def show(self, trace: Trace, index: int) -> tuple[Texts, Texts]:
        """Return the texts for the invocation at `index`: the context, and the subject of the judgement."""
        raise NotImplementedError

    def pictures(self, invocation: Invocation) -> tuple[Part, ...]:  # noqa: ARG002
        """Return the pictures and sounds that the judge gets beside the texts."""
        return ()


@dataclass(frozen=True)
class FinalResponseRubrics(_InvocationRubrics):
    """`rubric_based_final_response_quality_v1`: the mean over invocations of the share of rubrics that hold, 0..1.

    The judge answers yes, no or not applicable to every rubric. If "not applicable" gets more votes than yes and no
    together, the rubric does not count.
    """

    include_intermediate_responses_in_final: Annotated[
        bool, Meta(description="judge the messages before the reply together with the reply")
    ] = False

    templates = ("rubric_final_response",)
    kind = FINAL_RESPONSE
    aspect = "reply"

    @property
    def reads(self) -> tuple[Content, ...]:
        """The contents of an invocation that must be recorded."""
        return (*DIALOGUE, "messages") if self.include_intermediate_responses_in_final else DIALOGUE

    def show(self, trace: Trace, index: int) -> tuple[Texts, Texts]:
        """Return everything that the agent was given and did as the context, and its reply as the subject."""
        interim, pictures = self.include_intermediate_responses_in_final, self.pictures(trace.invocations[index])
        return reply_in_context(trace, index, interim=interim, pictures=() if self.adaptive_rubrics else pictures)

    def pictures(self, invocation: Invocation) -> tuple[Part, ...]:
        """Return the pictures and sounds in the reply and in the results of tools."""
        return find_pictures(invocation)

    def notes(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:
        """Return a note for each rubric of the case, or of an invocation, that has no type."""
        placed = _shared((), case)
        for index in range(len(trace.invocations)):
            placed += _invocation_rubrics(trace, case, index)
        return tuple(dict.fromkeys(self._apply_selection(placed)[1]))


@dataclass(frozen=True)
class ToolUseRubrics(_InvocationRubrics):
    """`rubric_based_tool_use_quality_v1`: the same for the calls of an invocation, their arguments and results."""

    templates = ("rubric_tool_use",)
    kind = TOOL_USE
    aspect = "tool use"

    @property
    def reads(self) -> tuple[Content, ...]:
        """The contents of an invocation that must be recorded."""
        return ("user", "args", "results")

    def show(self, trace: Trace, index: int) -> tuple[Texts, Texts]:
        """Return the tools and the conversation as the context, and the calls with their results as the subject."""
        invocation = trace.invocations[index]
        context = tools(agents_at(trace, index)) | earlier(trace, index) | user_message(invocation, index)
        pictures = () if self.adaptive_rubrics else self.pictures(invocation)
        return context, actions(invocation, index, messages=False, pictures=pictures)

    def pictures(self, invocation: Invocation) -> tuple[Part, ...]:
        """Return the pictures and sounds in the results of tools."""
        return find_pictures(invocation, with_reply=False)


@dataclass(frozen=True)
class TrajectoryRubrics(RubricMetric):
    """`rubric_based_multi_turn_trajectory_quality_v1`: the share of rubrics that hold for the whole conversation."""

    templates = ("rubric_trajectory",)
    kind = TRAJECTORY

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Judge the conversation by the rubrics of criterion, case and all invocations together."""
        placed = _shared(self.rubrics, case)
        for index in range(max(len(trace.invocations), len(case.conversation or ()))):
            placed += _invocation_rubrics(trace, case, index)
        rubrics, notes = self._apply_selection(placed)
        if problem := self._problem(case, rubrics):
            return Score(None, problem, side="expectation")
        if not rubrics:
            return Score(applicable=False, reason="no rubric for this conversation")
        if unfit_score := unfit(trace):
            return unfit_score
        context, subject = self.show(trace)
        sample = all_replies(trace)
        selection = [rubric for _, rubric in rubrics]
        return await self.score_rubrics(selection, notes, self.ask_about(selection, context, subject, sample=sample))

    def show(self, trace: Trace) -> tuple[Texts, Texts]:
        """Return the instructions and tools as the context, and the conversation as the subject."""
        agents = agents_at(trace)
        return instructions(agents) | tools(agents), whole(trace) | produced_files(trace, len(trace.invocations) - 1)


def reply_in_context(
    trace: Trace, index: int, *, interim: bool = False, pictures: Sequence[Part] = ()
) -> tuple[Texts, Texts]:
    """Return everything that the agent was given and did as the context, and its reply as the subject."""
    invocation, agents = trace.invocations[index], agents_at(trace, index)
    context = instructions(agents) | tools(agents) | earlier(trace, index) | user_message(invocation, index)
    context |= actions(invocation, index, messages=not interim, pictures=pictures)
    return context, reply(invocation, index, interim=interim, pictures=pictures) | produced_files(trace, index)


def _check_types(own: Sequence[Rubric], kind: str) -> None:
    problems = [
        (f"rubrics/{i}/type", f"must be {kind} or absent here, got {rubric.type!r}")
        for i, rubric in enumerate(own)
        if rubric.type not in {"", kind}
    ]
    if problems:
        raise OptionError(problems)


def _shared(own: Sequence[Rubric], case: EvalCase) -> list[PlacedRubric]:
    """Return the rubrics that hold for every invocation."""
    return [*((_CRITERION, rubric) for rubric in own), *((_CASE, rubric) for rubric in case.rubrics)]


def _invocation_rubrics(trace: Trace, case: EvalCase, index: int) -> list[PlacedRubric]:
    """Return the rubrics of the expected invocation, or of the recorded invocation if it has none."""
    for invocations in (case.conversation or (), trace.invocations):
        if index < len(invocations) and invocations[index].rubrics:
            return [(f"invocation {index + 1}", rubric) for rubric in invocations[index].rubrics]
    return []


def _select_kind(placed: Sequence[PlacedRubric], kind: str) -> tuple[list[PlacedRubric], list[str]]:
    """Return the rubrics of a kind, and notes about the rubrics whose kind was assumed.

    A rubric without type is taken as the criterion's kind if the criterion names it. In a case or an invocation it is
    taken as a rubric of the final response. A type that names no kind, such as "booking", is the name of a group, and
    belongs to every kind: otherwise nobody would judge its rubrics.
    """
    selection: list[PlacedRubric] = []
    notes: list[str] = []
    for place, rubric in placed:
        other_kind = rubric.type in _KINDS - {kind}
        if (rubric.type and not other_kind) or (not rubric.type and place == _CRITERION):
            selection.append((place, rubric))
        elif not rubric.type and kind == FINAL_RESPONSE:
            selection.append((place, rubric))
            notes.append(f"rubric {rubric.id!r} of {place} has no type; it is taken as {FINAL_RESPONSE}")
    return selection, notes


def _duplicate(placed: Sequence[PlacedRubric]) -> str:
    """Return a message about the first rubric id that stands twice, or an empty text."""
    places: dict[str, str] = {}
    for place, rubric in placed:
        if place == _CASE and rubric.type and rubric.type not in _KINDS:
            place = f"the rubric group {rubric.type!r} of the case"  # noqa: PLW2901  (the same place, more exactly)
        if rubric.id in places:
            return f"rubric id {rubric.id!r} is given twice: by {places[rubric.id]} and by {place}"
        places[rubric.id] = place
    return ""
