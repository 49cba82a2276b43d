"""The view model: the content of reports and pages about runs and their cases. `schemas` makes its JSON Schema.

`attempt_shapes` has the content of an attempt. The JSON report writes these shapes, the HTML report embeds them, and a
server sends them. A record in them is written as that record. The JSON report has every key of a record. Pages and
lists of rows leave out the keys that are empty by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from fairtrial.records.attacks.attack_report import AttackReport
from fairtrial.records.gate import GateDecision
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.record import Record, default_values
from fairtrial.records.run_comparison import ComparedMeasure, PassK, SetupDifference
from fairtrial.records.score import FaultSide, Range
from fairtrial.records.summary import CriterionSummary, Estimate, RunUsage, SkillUse
from fairtrial.reports.views.mode_shapes import ModesView
from fairtrial.reports.views.shape import ViewShape

VERSION = 1
"""The version of the view model. A change that older pages cannot read gets a new number."""

CaseVerdict = Literal["passed", "failed", "error", "unscored", "informational"]
RunVerdict = Literal["passed", "failed", "unscored", "informational"]
Traces = Literal["all", "failed", "none"]
FlakeCause = Literal["agent", "judge"]
CaseChange = Literal["broken", "fixed", "flaky", "same", "only_base", "only_candidate", "expectation_changed"]


class CriterionView(CriterionSummary, frozen=True):
    """A criterion over the run: its summary, and its judge beside people if it is judged or labelled.

    `unit` is the symbol of the unit of its values, for example s. `judge_message` says for people how far the judge may
    be believed. `has_data` is false if nobody asked for the criterion and it found nothing to measure. The page then
    names it, without a row.
    """

    unit: str = ""
    judge: Calibration | None = None
    judge_message: str = ""
    has_data: bool = True


class AgentView(Record, frozen=True):
    """An agent of the system under test. It is stored once per run, and invocations name its index."""

    name: str
    instructions: str = ""
    tools: list[dict[str, Any]] = []


class ProgressView(ViewShape, frozen=True):
    """How far a run is that is not finished. `is_alive` says that a process is alive and writes it.

    `total` is the number of attempts that the run will have, and null if nobody knows. `rate` counts attempts per
    second, and `seconds_left` estimates the time until the end. `resume` is the command that continues the run.
    `computing` says that the numbers with intervals are older than the counts.
    """

    attempts: int
    is_alive: bool
    resume: str
    total: int | None = None
    rate: float | None = None
    seconds_left: float | None = None
    computing: bool = False


class RunView(Record, frozen=True):
    """A run over all its attempts. `command` repeats the run, or is empty. `tools` are those that its attempts called.

    `traces` says of which attempts the conversations are at hand. `clustered` says that cases have several attempts.
    `failures` are the failure modes, and null if no attempt failed or if they are asked for by a request of their own.
    `attacks` are the rates of an attack run. `groups` are the names of the groups of cases. Only pages have `limits`, a
    sentence about what the numbers of its criteria show and do not show. It is empty unless they come from few cases.
    """

    view: int
    id: str
    started: str
    version: str
    kind: str
    verdict: RunVerdict
    counts: dict[str, int]
    invalid: dict[str, int]
    criteria: list[CriterionView]
    spending: RunUsage
    config: dict[str, Any]
    signatures: dict[str, Any]
    command: str
    cases: int
    attempts: int
    traces: Traces
    finished: str | None = None
    seconds: float | None = None
    reasons: list[str] = []
    notes: list[str] = []
    pass_k: list[PassK] = []
    decision: GateDecision | None = None
    agents: list[AgentView] = []
    tools: list[str] = []
    clustered: bool = False
    labelled: int = 0
    name: str = ""
    progress: ProgressView | None = None
    failures: ModesView | None = None
    attacks: AttackReport | None = None
    groups: list[str] = []
    skill_uses: list[SkillUse] = []
    limits: str | UnsetType = UNSET


class AttemptRow(ViewShape, frozen=True):
    """An attempt in the list of cases. `place` is its number in the run, counted from 0.

    `failed` and `unscored` are indexes of criteria, `tools` of the run's tools. `mode` is the number of its failure
    mode. `values` are those of the criteria, in their order. `tokens` are the agent's, and `cost` is in US dollars and
    that of judges, simulated users and played tools. `disputed` says that votes of judges on a question differ, or that
    a person decided otherwise than a criterion.
    """

    place: int
    attempt: int
    verdict: CaseVerdict
    fault: FaultSide | None = None
    invalid: bool = False
    failed: list[int] = []
    unscored: list[int] = []
    tools: list[int] = []
    labelled: bool = False
    seconds: float | None = None
    mode: int | None = None
    values: list[float | None] = []
    tokens: int | None = None
    cost: float | None = None
    disputed: bool = False


class CaseRow(ViewShape, frozen=True):
    """A case in the list. `query` is the beginning of its first user message, `reason` says why an attempt failed.

    `verdict` follows from the verdicts of the attempts by the rule of the case.
    If some attempts passed and others failed, `cause` says who makes the difference, if the traces are known.
    `groups` are the groups of the case, as texts.
    """

    position: int
    name: str
    eval_set: str
    verdict: CaseVerdict
    attempts: list[AttemptRow]
    query: str = ""
    reason: str = ""
    cause: FlakeCause | None = None
    groups: dict[str, str] = {}


class ComparedCase(ViewShape, frozen=True):
    """A case in two runs: its positions in them, how its verdict changed, and its passed attempts of all attempts.

    `moved` are the criteria whose mean over the attempts differs, with the means in the base and in the candidate.
    """

    name: str
    change: CaseChange
    base_passed: tuple[int, int]
    candidate_passed: tuple[int, int]
    base: int | None = None
    candidate: int | None = None
    moved: dict[str, tuple[float | None, float | None]] = {}


class ComparisonView(ViewShape, frozen=True):
    """Two runs side by side. `setup` names the differences of their configurations, `units` those of the measures."""

    base: str
    candidate: str
    level: float
    about: Literal["cases-like-these", "these-cases"]
    rows: list[ComparedMeasure]
    setup: list[SetupDifference]
    warnings: list[str]
    cases: list[ComparedCase]
    margin: float | None = None
    units: dict[str, str] = {}


class PageView(ViewShape, frozen=True):
    """Everything that a page knows before it opens an attempt: its runs, their cases, and their comparisons.

    The base of all comparisons is the first run.
    """

    runs: list[RunView]
    cases: list[list[CaseRow]]
    comparisons: list[ComparisonView] = []
    language: str = ""


class RunCriterion(ViewShape, frozen=True):
    """The numbers of a criterion in the list of runs. `unit` is the symbol of the unit of its values, for example s."""

    criterion: str
    mean: Estimate
    pass_rate: Estimate
    range: Range
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
    """A run, or a base run and the runs that are compared with it. `problem` says why they cannot be compared.

    `change` is the number of the last change of the last run.
    """

    runs: list[RunView]
    change: int
    comparisons: list[ComparisonView] = []
    problem: str = ""


class FoundCases(ViewShape, frozen=True):
    """The positions of the cases that a query found, in the order that it asked for.

    `groups` are the values of neighbouring cases in the sorted column, with the number of cases that have them.
    """

    positions: list[int]
    groups: list[tuple[str | float | None, int]] = []


class RunChange(ViewShape, frozen=True):
    """The change of a run since an earlier change. `run` has no configuration, signatures, agents and tools.

    `positions` are the cases that changed, or null if there are too many.
    """

    change: int
    run: RunView
    positions: list[int] | None = None


def shown_fields(view: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a view with their values, without those whose value and default are both empty."""
    for name, default in _empty_defaults(type(view)):
        value = getattr(view, name)
        if value != default:
            yield name, value


@cache
def _empty_defaults(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a shape with their defaults, as far as these are empty."""
    # A number is never empty, so that a page reads 0 and 1 as they stand.
    return tuple(
        (name, default if default in (None, "", [], {}, ()) or default is False else msgspec.NODEFAULT)
        for name, default in default_values(kind)
    )
