"""The view model of labelling: queues of outcomes, the items that people see, their answers, and their agreement.

An item of a blind queue holds nothing that a judge said: no value, verdict, reason, vote or quotation. It also holds no
name of an agent, a model or a case, no place in the file, and no label of another person.
"""

from __future__ import annotations

from fairtrial.records.label import Label, SampleMethod
from fairtrial.records.score import FaultSide, PartKey, PartKind, Range
from fairtrial.records.summary import Estimate
from fairtrial.reports.views.attempt_shapes import ExpectedView, InvocationView, OutcomeView
from fairtrial.reports.views.shape import ViewShape


class LabelCriterionView(ViewShape, frozen=True):
    """A criterion that people can label. `parts` are the kinds of its parts that can be labelled."""

    name: str
    range: Range
    judged: bool = False
    parts: list[PartKind] = []


class LabelProgressView(ViewShape, frozen=True):
    """How far a queue is. `mine` counts the labels of the person of their `share`.

    `median_seconds` is the time of the person per label.

    `elsewhere` counts the items that other windows hold now.
    """

    done: int
    total: int
    mine: int = 0
    share: int = 0
    elsewhere: int = 0
    median_seconds: float | None = None


class QueueView(ViewShape, frozen=True):
    """A queue: a sample of the outcomes of a criterion, and how it was drawn.

    `answers` are the answers to choose from, by name. Without them, people say yes or no, or give a number of `range`
    if `graded`. `description` says what the criterion measures.
    """

    number: int
    criterion: str
    by: SampleMethod
    sample: int
    seed: int
    blind: bool
    progress: LabelProgressView
    part: PartKind | None = None
    overlap: float = 0.0
    labelers: int = 2
    population: int = 0
    question: str = ""
    description: str = ""
    answers: dict[str, float] = {}
    graded: bool = False
    range: Range | None = None


class LabelsView(ViewShape, frozen=True):
    """The criteria of a run that people can label, and its queues so far, the newest first."""

    run: str
    criteria: list[LabelCriterionView]
    queues: list[QueueView]


class LabelItemView(ViewShape, frozen=True):
    """An outcome, or a part of one, as a person sees it before they label it.

    `text` is the part itself, for example a rubric or a sentence, and `invocation` the index of the invocation that the
    part is about. `outcome` and `labels` belong to queues that are not blind.
    """

    number: int
    copy: int
    trace: list[InvocationView]
    expected: ExpectedView | None = None
    text: str = ""
    invocation: int | None = None
    outcome: OutcomeView | None = None
    labels: list[Label] = []


class ClaimedItems(ViewShape, frozen=True):
    """The items that a window holds, the next one first."""

    queue: QueueView
    items: list[LabelItemView]


class WindowRequest(ViewShape, frozen=True, forbid_unknown_fields=True):
    """Who asks: the name of a person, and the id of a window that the page made."""

    labeler: str
    window: str


class QueueRequest(ViewShape, frozen=True, forbid_unknown_fields=True):
    """The sample that somebody wants to label."""

    criterion: str
    by: SampleMethod = "random"
    sample: int = 100
    seed: int = 1
    part: PartKind | None = None
    overlap: float = 0.0
    labelers: int = 2
    blind: bool = True
    answers: dict[str, float] = {}
    question: str = ""


class LabelRequest(ViewShape, frozen=True, forbid_unknown_fields=True):
    """A label on an item that the window holds. A `value` of null means that the person cannot tell.

    `again` gives another label on an item that the person labelled before. The earlier label stays.
    """

    labeler: str
    window: str
    number: int
    copy: int
    value: float | None
    seconds: float
    note: str = ""
    side: FaultSide | None = None
    reference: str = ""
    again: bool = False


class PeopleAgreementView(ViewShape, frozen=True):
    """The agreement of the people who labelled a criterion. `raw` is the share of pairs of labels that are equal.

    `part` is the kind of the parts that they labelled, or null if they labelled whole outcomes.
    For two people, `confusion` counts the items by the label of the first person (rows) and of the second (columns).
    """

    criterion: str
    labelers: list[str]
    items: int
    raw: Estimate
    kappa: Estimate
    alpha: Estimate
    values: list[float] = []
    confusion: list[list[int]] = []
    part: PartKind | None = None


class JudgeAgreementView(ViewShape, frozen=True):
    """The agreement of a judge with people. `table` has the verdicts of people as rows, those of the judge as columns.

    Sensitivity is the share that the judge passes among the outcomes that people pass, specificity the share that it
    fails among the outcomes that people fail. `part` is the kind of the parts that are compared, or null if whole
    outcomes are.
    """

    criterion: str
    judge: str
    labels: int
    accuracy: Estimate
    sensitivity: Estimate
    specificity: Estimate
    kappa: Estimate
    alpha: Estimate
    table: list[list[int]] | None = None
    part: PartKind | None = None


class DisagreementView(ViewShape, frozen=True):
    """An outcome, or the named part of one, on which the judge and most people disagree."""

    criterion: str
    position: int
    attempt: int
    name: str
    passed: bool
    part: PartKey | None = None


class AgreementView(ViewShape, frozen=True):
    """How far people agree with each other and with the judges of a run, and where they do not."""

    labels: int
    people: list[PeopleAgreementView]
    judges: list[JudgeAgreementView]
    disagreements: list[DisagreementView]
