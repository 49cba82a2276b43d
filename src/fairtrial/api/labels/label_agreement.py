"""Agreement between the people who labelled a run, and between people and judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.api.calibrations import disagreements
from fairtrial.api.labels.label_lists import LabelerAgreement, agreement_of_labelers
from fairtrial.api.labels.part_agreement import LabelledParts, labelled_parts
from fairtrial.records.summary import Estimate
from fairtrial.reports.views import label_shapes as shapes
from fairtrial.reports.views.view_labels import judge_agreement_view

if TYPE_CHECKING:
    from fairtrial.analysis.judge_calibration import Place
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.score import PartKey
    from fairtrial.store import Store


def agreement_view(run: Run, store: Store) -> shapes.AgreementView:
    """Return the agreement of the people who labelled a run, and of its judges with them."""
    judged = [own for own in run.calibrations if own.labels and own.assumed_from is None]
    parts = labelled_parts(store, run.info.id)
    return shapes.AgreementView(
        len(run.labels),
        list(map(_people, agreement_of_labelers(run))),
        [
            *map(judge_agreement_view, judged),
            *(judge_agreement_view(own.calibration(store, run.info), own.kind) for own in parts),
        ],
        _disagreements(store, run.info.id, parts),
    )


def _disagreements(store: Store, run: str, parts: Sequence[LabelledParts]) -> list[shapes.DisagreementView]:
    """Return the outcomes, and then the parts, on which most people and the judge disagree."""
    places: list[tuple[str, Place, PartKey | None, bool]] = [
        (criterion, place, None, passed) for criterion, place, passed in disagreements(store, run)
    ]
    for group in parts:
        for (position, attempt, part), passed in group.disagreements():
            places.append((group.criterion, (position, attempt), part, passed))
    names = {position: name or key.case for position, key, name in store.case_keys(run)} if places else {}
    return [
        shapes.DisagreementView(criterion, *place, names[place[0]], passed, part)
        for criterion, place, part, passed in places
    ]


def _people(own: LabelerAgreement) -> shapes.PeopleAgreementView:
    return shapes.PeopleAgreementView(
        own.criterion,
        list(own.labelers),
        own.items,
        own.raw,
        own.kappa,
        Estimate(own.alpha, *(own.alpha_interval or (None, None))),
        list(own.values),
        [list(row) for row in own.confusion],
        own.part,
    )
