"""The view model of a store: its runs, and the changes of a run that goes on."""

from __future__ import annotations

from fairtrial.reports.views.view_shapes import ComparisonView, EstimateView, RangeView, RunVerdict, RunView, ViewShape


class RunCriterion(ViewShape, frozen=True):
    """The numbers of a criterion in the list of runs. `unit` is the symbol of the unit of its values, for example s."""

    name: str
    mean: EstimateView
    pass_rate: EstimateView
    range: RangeView
    unit: str = ""
    threshold: float | None = None


class RunRow(ViewShape, frozen=True):
    """A run in the list of runs. `target` is its agent, or the files that it scored. `suite` names its eval sets.

    `counts` are the attempts by their verdict, `case_verdicts` the cases.
    """

    id: str
    started: str
    kind: str
    verdict: RunVerdict
    counts: dict[str, int]
    finished: str | None = None
    is_alive: bool = False
    name: str = ""
    tags: list[str] = []
    target: str = ""
    suite: str = ""
    case_verdicts: dict[str, int] = {}
    criteria: list[RunCriterion] = []


class RunListView(ViewShape, frozen=True):
    """A page of the runs of a store, the newest first. `before` asks for the next page, and is empty on the last."""

    runs: list[RunRow]
    before: str = ""


class OpenedRuns(ViewShape, frozen=True):
    """A run, or a base run and a run that is compared with it. `problem` says why two runs cannot be compared.

    `change` is the number of the last change of the last run.
    """

    runs: list[RunView]
    change: int
    comparison: ComparisonView | None = None
    problem: str = ""


class FoundCases(ViewShape, frozen=True):
    """The positions of the cases that a query found, the cases that need attention first."""

    positions: list[int]


class RunChange(ViewShape, frozen=True):
    """The change of a run since an earlier change. `run` has no configuration, signatures, agents and tools.

    `positions` are the cases that changed, or null if there are too many.
    """

    change: int
    run: RunView
    positions: list[int] | None = None
