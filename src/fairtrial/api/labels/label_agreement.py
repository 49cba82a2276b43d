"""Agreement between the people who labelled a run, and between people and judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.judge_calibration import Place, Row, calibrate_criterion, disagreeing_outcomes
from fairtrial.api.calibrations import disagreements, name_judge, outcomes_at
from fairtrial.api.labels.label_lists import LabelerAgreement, agreement_of_labelers
from fairtrial.api.labels.label_queues import position_of_keys
from fairtrial.records.score import PartKey
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.reports.views import label_shapes as shapes
from fairtrial.reports.views.view_labels import judge_agreement_view, labelable_parts

if TYPE_CHECKING:
    from fairtrial.analysis.judge_calibration import Place
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.label import Label
    from fairtrial.records.result import Outcome
    from fairtrial.records.run import RunInfo
    from fairtrial.records.score import PartKind
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


PartPlace = tuple[int, int, PartKey]
"""The position of a case, the number of an attempt, and a part of its outcome."""


@dataclass
class LabelledParts:
    """The labelled parts of one kind of a criterion, each as an outcome of its own.

    `places` has the place of each part, by the position of its case and a number.
    """

    criterion: str
    kind: PartKind
    places: dict[Place, PartPlace] = field(default_factory=dict)
    labels: dict[Place, list[Label]] = field(default_factory=dict)
    outcomes: dict[Place, Outcome] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """The values and the verdicts of the judge on these parts."""
        return [(*place, own.score.value, own.verdict) for place, own in self.outcomes.items()]

    def calibration(self, store: Store, info: RunInfo) -> Calibration:
        """Return the calibration of the judge on these parts. It says nothing about parts without labels."""
        summary, judge = (
            CriterionSummary(self.criterion),
            name_judge(info.signatures.get(self.criterion), self.criterion),
        )
        return calibrate_criterion(summary, judge, self.labels, self.rows, self.outcomes, store.ballots(info.id))

    def disagreements(self) -> Iterator[tuple[PartPlace, bool]]:
        """Yield the parts to which most people and the judge give different verdicts, with the verdict of people."""
        for place, passed in disagreeing_outcomes(self.labels, self.rows, self.outcomes):
            yield self.places[place], passed


def labelled_parts(store: Store, run: str) -> list[LabelledParts]:
    """Return the labelled parts of a run that the judge scored, by criterion and kind."""
    labels: defaultdict[tuple[str, PartKind], defaultdict[PartPlace, list[Label]]] = defaultdict(
        lambda: defaultdict(list)
    )
    own = [label for label in store.labels(run) if label.part is not None]
    positions = position_of_keys(store.case_keys(run)) if own else {}
    for label in own:
        if label.part is not None and label.case in positions:
            place = (positions[label.case], label.attempt, label.part)
            labels[label.criterion, label.part.kind][place].append(label)
    groups = [_group(store, run, *name, places) for name, places in sorted(labels.items())]
    return [group for group in groups if group.outcomes]


def _group(
    store: Store, run: str, criterion: str, kind: PartKind, labels: dict[PartPlace, list[Label]]
) -> LabelledParts:
    group = LabelledParts(criterion, kind)
    outcomes = outcomes_at(store, run, criterion, {(position, attempt) for position, attempt, _ in labels})
    for number, (place, given) in enumerate(labels.items()):
        outcome = outcomes.get(place[:2])
        part = None if outcome is None else labelable_parts(outcome.score).get(place[2])
        if outcome is not None and part is not None:
            own = (place[0], number)
            group.places[own], group.labels[own] = place, given
            group.outcomes[own] = replace(outcome, score=part)
    return group
