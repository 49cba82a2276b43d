"""View models for labels: the blind item that a person labels, and the agreement of people and judges.

A blind view is built from the fields that a person needs. A field that is added to a recording or to a score later
stays hidden until somebody lists it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fairtrial.reports.views import label_shapes as shapes
from fairtrial.reports.views.attempt_shapes import ExpectedView, InvocationView, StepView
from fairtrial.reports.views.view_attempts import AgentIndex, expected_view, invocation_view, outcome_view

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.judging.calibration import AgreementTable, Calibration
    from fairtrial.records.label import Label, LabelQueue
    from fairtrial.records.record import Json
    from fairtrial.records.result import Outcome
    from fairtrial.records.score import PartKey, PartKind, Range, Score
    from fairtrial.records.trace import Trace

_OWN_TEXT = ("rubric", "question")
"""The parts whose label is their own text. The label of another part may say what the metric thinks of it."""


def queue_view(
    number: int, queue: LabelQueue, scale: Range, progress: shapes.LabelProgressView, description: str
) -> shapes.QueueView:
    """Return a queue with its progress."""
    return shapes.QueueView(
        number=number,
        progress=progress,
        description=description,
        graded=is_graded(queue, scale),
        range=scale,
        **asdict(queue),
    )


def is_graded(queue: LabelQueue, scale: Range) -> bool:
    """Return whether people give a number: the queue names no answers, and the range is not that of a verdict."""
    return not queue.answers and scale.bounds != (0.0, 1.0)


def labelable_parts(score: Score) -> dict[PartKey, Score]:
    """Return the scored parts of a score by their keys, at any depth.

    A key that occurs twice is left out, because a label could not say which part it means. For example, two replies may
    each have a sentence 1.
    """
    parts: dict[PartKey, list[Score]] = {}
    for part in _parts(score):
        if part.key is not None:
            parts.setdefault(part.key, []).append(part)
    return {
        key: own[0] for key, own in parts.items() if len(own) == 1 and own[0].applicable and own[0].value is not None
    }


def _parts(score: Score) -> Iterator[Score]:
    for part in score.parts:
        yield part
        yield from _parts(part)


def part_kinds(outcome: Outcome) -> list[PartKind]:
    """Return the kinds of the parts of an outcome that can be labelled."""
    return sorted({key.kind for key in labelable_parts(outcome.score)})


def blind_item(
    place: tuple[int, int], trace: Trace, case: EvalCase | None, outcome: Outcome, part: PartKey | None, signature: Json
) -> shapes.LabelItemView:
    """Return an item as a person may see it who does not know the judge. `place` is its number and its copy."""
    number, copy = place
    return shapes.LabelItemView(
        number,
        copy,
        [_blind_invocation(invocation_view(invocation, AgentIndex())) for invocation in trace.invocations],
        None if case is None else _blind_expectation(expected_view(case, AgentIndex())),
        text="" if part is None else _part_text(part, outcome.score, case, signature),
        invocation=None if part is None else _find_invocation(part, outcome.score),
    )


def show_outcome(outcome: Outcome, labels: Iterable[Label]) -> dict[str, object]:
    """Return the fields of an item that a queue which is not blind also shows."""
    return {"outcome": outcome_view(outcome), "labels": list(labels)}


def _blind_invocation(invocation: InvocationView) -> InvocationView:
    """Return an invocation without names of agents and models, without times, and without notes on injected faults."""
    steps = None if invocation.steps is None else [_blind_step(step) for step in invocation.steps]
    return InvocationView(_blind_message(invocation.user), steps, _blind_message(invocation.reply))


def _blind_message(step: StepView | None) -> StepView | None:
    return None if step is None else _blind_step(step)


def _blind_step(step: StepView) -> StepView:
    return StepView(
        step.kind,
        text=step.text,
        name=step.name,
        args=step.args,
        response=step.response,
        is_error=step.is_error,
        parts=step.parts,
        withheld=step.withheld,
        beginning=step.beginning,
        inner=list(map(_blind_step, step.inner)),
    )


def _blind_expectation(expected: ExpectedView) -> ExpectedView:
    conversation = expected.conversation
    return ExpectedView(
        conversation=None if conversation is None else list(map(_blind_invocation, conversation)),
        scenario=expected.scenario,
        calls=None if expected.calls is None else list(map(_blind_step, expected.calls)),
        final_state=expected.final_state,
        context=expected.context,
    )


def _part_text(part: PartKey, score: Score, case: EvalCase | None, signature: Json) -> str:
    """Return the text of a part: of the sentence, or of the rubric or question by its id."""
    own = labelable_parts(score).get(part)
    if part.kind == "sentence" and own is not None and own.quotes and own.quotes[0].source == "reply":
        return own.quotes[0].text
    if own is not None and own.label and part.kind in _OWN_TEXT:
        return own.label
    rubrics = {} if case is None else {rubric.id: rubric.text for rubric in case.rubrics}
    return rubrics.get(part.id) or _rubric_in(signature, part.id) or part.id


def _rubric_in(signature: Json, rubric_id: str) -> str:
    """Return the text of a rubric in the signature of a criterion, or "" if it is not there."""
    options = signature.get("options") if isinstance(signature, dict) else None
    rubrics = options.get("rubrics") if isinstance(options, dict) else None
    for rubric in rubrics if isinstance(rubrics, list) else ():
        fields = rubric.get("options", rubric) if isinstance(rubric, dict) else {}
        if isinstance(fields, dict) and fields.get("id") == rubric_id:
            return str(fields.get("text", ""))
    return ""


def _find_invocation(part: PartKey, score: Score) -> int | None:
    """Return the index of the invocation that a part is about, or None if it is about all of them."""
    if part.kind == "invocation":
        return part.index
    for own in score.parts:
        if own.key is not None and own.key.kind == "invocation" and part in {inner.key for inner in _parts(own)}:
            return own.key.index
    return None


def judge_agreement_view(calibration: Calibration, part: PartKind | None = None) -> shapes.JudgeAgreementView:
    """Return the agreement of a judge with people, on whole outcomes or on the parts of one kind."""
    own = calibration.agreement
    return shapes.JudgeAgreementView(
        calibration.criterion,
        calibration.judge,
        calibration.labels,
        own.accuracy,
        own.sensitivity,
        own.specificity,
        own.quadratic_kappa if calibration.graded and own.table is None else own.kappa,
        own.judge_alpha,
        None if own.table is None else _table(own.table),
        part,
    )


def _table(table: AgreementTable) -> list[list[int]]:
    return [
        [table.people_pass_judge_pass, table.people_pass_judge_fail],
        [table.people_fail_judge_pass, table.people_fail_judge_fail],
    ]


def criteria_views(terms: Mapping[str, Range], outcomes: Mapping[str, Outcome]) -> list[shapes.LabelCriterionView]:
    """Return the criteria that people can label: criteria that ask a judge first, each with the parts of an outcome."""
    views = [
        shapes.LabelCriterionView(
            name,
            scale,
            judged=name in outcomes and outcomes[name].judge_stats is not None,
            parts=part_kinds(outcomes[name]) if name in outcomes else [],
        )
        for name, scale in terms.items()
    ]
    return sorted(views, key=lambda view: not view.judged)
