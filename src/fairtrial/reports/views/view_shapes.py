"""The view model: the content of pages about runs and their cases. `view_schema` makes its JSON Schema.

`attempt_shapes` has the content of an attempt, and `viewer_shapes` the content of pages about a store.
The HTML report embeds these shapes, and a server can send them. A key that is not required is left out if it has its
default. For example, a step without an error has no key `is_error`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from fairtrial.records.ballot import PairAgreement
from fairtrial.records.gate import GateDecision
from fairtrial.records.run_comparison import ComparedMeasure, PassK, SetupDifference
from fairtrial.records.score import FaultSide

VERSION = 1
"""The version of the view model. A change that older pages cannot read gets a new number."""

CaseVerdict = Literal["passed", "failed", "error", "unscored", "informational"]
RunVerdict = Literal["passed", "failed", "unscored", "informational"]
Traces = Literal["all", "failed", "none"]
FlakeCause = Literal["agent", "judge"]
CaseChange = Literal["broken", "fixed", "flaky", "same", "only_base", "only_candidate", "expectation_changed"]


class ViewShape(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base of all shapes."""


class EstimateView(ViewShape, frozen=True):
    """A number with its 95 % interval: a rate in 0..1, or a mean in the range of its criterion."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None


class RangeView(ViewShape, frozen=True):
    """The ends of a range. An end that is null is unbounded."""

    low: float | None
    high: float | None


class ValidView(ViewShape, frozen=True):
    """The numbers of a criterion over the `n` valid attempts to which it applied."""

    n: int
    mean: EstimateView
    pass_rate: EstimateView


class JudgeView(ViewShape, frozen=True):
    """How far the judge of a criterion may be believed, and the number that people would give.

    `agreement` is the share of labelled outcomes on which the judge agrees with people.
    """

    state: Literal["unchecked", "too few", "useless", "biased", "good"]
    judge: str
    labels: int
    corrected: EstimateView
    flattery: EstimateView
    agreement: EstimateView
    graded: bool = False


class CriterionView(ViewShape, frozen=True):
    """A criterion over the run. `possible` is the range that the mean could have if all attempts were scored.

    `unit` is the symbol of the unit of its values, for example s. `has_data` is false if nobody asked for the
    criterion and it found nothing to measure. The page then names it, without a row.
    """

    name: str
    range: RangeView
    mean: EstimateView
    pass_rate: EstimateView
    counts: dict[str, int]
    unit: str = ""
    threshold: float | None = None
    lower_is_better: bool = False
    valid: ValidView | None = None
    possible: RangeView | None = None
    judge: JudgeView | None = None
    self_agreement: EstimateView | None = None
    panel_agreement: EstimateView | None = None
    pair_agreements: list[PairAgreement] = []
    cost: float | None = None
    unpriced_calls: int = 0
    has_data: bool = True


class UsageView(ViewShape, frozen=True):
    """The usage of language models by a side. `cost` is in US dollars, and leaves out the `unpriced_calls`."""

    side: Literal["agent", "judge", "simulator", "environment"]
    calls: int
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    unreported_calls: int = 0
    unpriced_calls: int = 0


class AgentView(ViewShape, frozen=True):
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


class RunView(ViewShape, frozen=True):
    """A run over all its attempts. `command` repeats the run, or is empty. `tools` are those that its attempts called.

    `traces` says of which attempts the conversations are at hand. `clustered` says that cases have several attempts.
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
    usage: list[UsageView]
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


class AttemptRow(ViewShape, frozen=True):
    """An attempt in the list of cases. `place` is its number in the run, counted from 0.

    `failed` and `unscored` are indexes of criteria, `tools` of the run's tools.
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


class CaseRow(ViewShape, frozen=True):
    """A case in the list. `query` is the beginning of its first user message, `reason` says why an attempt failed.

    `verdict` follows from the verdicts of the attempts by the rule of the case.
    If some attempts passed and others failed, `cause` says who makes the difference, if the traces are known.
    """

    position: int
    name: str
    eval_set: str
    verdict: CaseVerdict
    attempts: list[AttemptRow]
    query: str = ""
    reason: str = ""
    cause: FlakeCause | None = None


class ComparedCase(ViewShape, frozen=True):
    """A case in two runs: its positions in them, how its verdict changed, and its passed attempts of all attempts."""

    name: str
    change: CaseChange
    base_passed: tuple[int, int]
    candidate_passed: tuple[int, int]
    base: int | None = None
    candidate: int | None = None


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
    """Everything that a page knows before it opens an attempt: its runs, their cases, and their comparison."""

    runs: list[RunView]
    cases: list[list[CaseRow]]
    comparison: ComparisonView | None = None
    language: str = ""
