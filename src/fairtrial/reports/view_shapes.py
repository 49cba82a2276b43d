"""The view model: the content of pages about runs. `python -m fairtrial.reports.view_shapes` prints its JSON Schema.

The HTML report embeds these shapes, and a server can send them. A key that is not required is left out if it has its
default. For example, a step without an error has no key `is_error`.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal

import msgspec

from fairtrial.records.attempt import EndedBy
from fairtrial.records.ballot import PairAgreement
from fairtrial.records.gate import GateDecision
from fairtrial.records.mutation import Mutation
from fairtrial.records.run_comparison import ComparedMeasure, PassK, SetupDifference
from fairtrial.records.score import FaultSide, PartKind
from fairtrial.records.trace import Durations, Injection, Part, Usage

VERSION = 1
"""The version of the view model. A change that older pages cannot read gets a new number."""

CaseVerdict = Literal["passed", "failed", "error", "unscored", "informational"]
OutcomeVerdict = Literal["passed", "failed", "unscored", "not_applicable", "informational"]
RunVerdict = Literal["passed", "failed", "unscored", "informational"]
Traces = Literal["all", "failed", "none"]
StepKind = Literal["message", "thought", "tool_call", "tool_result"]
Relation = Literal["equal", "changed", "missing", "surplus", "moved"]
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
    """A criterion over the run. `possible` is the range that the mean could have if all attempts were scored."""

    name: str
    range: RangeView
    mean: EstimateView
    pass_rate: EstimateView
    counts: dict[str, int]
    threshold: float | None = None
    lower_is_better: bool = False
    valid: ValidView | None = None
    possible: RangeView | None = None
    judge: JudgeView | None = None
    self_agreement: float | None = None
    panel_agreement: float | None = None
    pair_agreements: list[PairAgreement] = []
    cost: float | None = None
    unpriced_calls: int = 0


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
    """A run over all its attempts. `command` repeats the run. `tools` are the tools that its attempts called.

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
    """A case in the list. `query` is the beginning of its first user message, `reason` says why an attempt failed."""

    position: int
    name: str
    eval_set: str
    attempts: list[AttemptRow]
    query: str = ""
    reason: str = ""


class QuoteView(ViewShape, frozen=True):
    """A quotation and its source."""

    text: str
    source: str = ""


class KeyView(ViewShape, frozen=True):
    """The identity of a part: `index` counts from 0 and is null for parts that have an `id`."""

    kind: PartKind
    index: int | None = None
    id: str = ""


class CallRowView(ViewShape, frozen=True):
    """A row of the trajectory diff: indexes of an expected and an actual call, and how they relate.

    `pointers` are JSON pointers to the arguments that differ. `allowed` says that the difference is not a fault, for
    example a surplus call in ANY_ORDER. `optional` and `forbidden` are about the tool.
    """

    relation: Relation
    expected: int | None = None
    actual: int | None = None
    pointers: list[str] = []
    allowed: bool = False
    optional: bool = False
    forbidden: bool = False


class PartView(ViewShape, frozen=True):
    """A part of a score."""

    label: str
    key: KeyView | None = None
    value: float | None = None
    applicable: bool = True
    reason: str = ""
    quotes: list[QuoteView] = []
    ballots: list[str] = []
    calls: list[CallRowView] = []
    parts: list[PartView] = []


class OutcomeView(ViewShape, frozen=True):
    """A criterion on an attempt. `possible` is the range of values if some parts could not be scored."""

    criterion: str
    verdict: OutcomeVerdict
    value: float | None = None
    threshold: float | None = None
    lower_is_better: bool = False
    reason: str = ""
    possible: RangeView | None = None
    quotes: list[QuoteView] = []
    ballots: list[str] = []
    calls: list[CallRowView] = []
    parts: list[PartView] = []
    judge_calls: int | None = None
    abstentions: int | None = None
    self_agreement: float | None = None
    panel_agreement: float | None = None
    cost: float | None = None


class AnswerView(ViewShape, frozen=True):
    """The answer of one vote on one item."""

    answer: str
    rationale: str = ""
    quote: str = ""


class VoteView(ViewShape, frozen=True):
    """One vote of a judge. `model` answered, `asked` was asked. `replies` are the raw replies of its calls."""

    draw: int
    asked: str
    model: str
    answers: dict[str, AnswerView]
    problems: dict[str, str] = {}
    replies: list[str] = []
    seconds: float | None = None
    cost: float | None = None


class DecisionView(ViewShape, frozen=True):
    """The result on one item: null if it does not apply, or if the votes do not decide it."""

    value: float | None = None
    applicable: bool = True
    counted: dict[str, int] = {}
    abstained: int = 0


class PromptView(ViewShape, frozen=True):
    """A prompt as it was sent to a judge."""

    system: str
    text: str


class BallotView(ViewShape, frozen=True):
    """One question to judges. `template` is the name and the version of the prompt, `settings` those of the model."""

    id: str
    template: str
    votes: list[VoteView]
    decisions: dict[str, DecisionView]
    prompts: list[PromptView] = []
    settings: dict[str, Any] = {}


class StepView(ViewShape, frozen=True):
    """A step of an invocation. `withheld` is the reason if its content is not recorded, `beginning` its beginning."""

    kind: StepKind
    text: str = ""
    name: str = ""
    author: str = ""
    model: str = ""
    args: dict[str, Any] = {}
    response: Any = None
    is_error: bool = False
    injected: list[Injection] = []
    parts: list[Part] = []
    seconds: float | None = None
    withheld: str = ""
    beginning: str = ""


class InvocationView(ViewShape, frozen=True):
    """A user's message and everything until the reply. `steps` is null if they were not recorded, or not expected.

    `agents` are indexes of the run's agents.
    """

    user: StepView | None = None
    steps: list[StepView] | None = None
    reply: StepView | None = None
    usages: list[Usage] = []
    durations: Durations | None = None
    agents: list[int] = []


class ExpectedView(ViewShape, frozen=True):
    """The expectation of a case."""

    conversation: list[InvocationView] | None = None
    scenario: dict[str, Any] | None = None
    rubrics: list[dict[str, str]] = []
    calls: list[StepView] | None = None
    final_state: dict[str, Any] | None = None
    context: str = ""
    state: dict[str, Any] = {}


class FaultView(ViewShape, frozen=True):
    """A side on which something went wrong, and the evidence against it."""

    side: FaultSide
    evidence: list[str]


class FailureView(ViewShape, frozen=True):
    """The failure that broke an attempt."""

    side: Literal["agent", "simulator", "environment", "infrastructure"]
    cause: str
    traceback: str = ""


class InjectionView(ViewShape, frozen=True):
    """A change that a simulated environment made to the answer of a tool. Invocations count from 1."""

    invocation: int
    tool: str
    effect: str
    detail: str = ""
    invalidates: bool = False


class LabelView(ViewShape, frozen=True):
    """The judgement of a person on an outcome, or on a part of it."""

    criterion: str
    value: float | None = None
    author: str = ""
    note: str = ""
    at: str = ""
    part: str = ""


class AttemptView(ViewShape, frozen=True):
    """One attempt at one case, with everything that is stored about it. `trace` is null if it is not at hand.

    `agents` are the agents that invocations name by their index. It is left out if the run has them.
    """

    place: int
    position: int
    attempt: int
    name: str
    eval_set: str
    digest: str
    verdict: CaseVerdict
    ended_by: EndedBy
    outcomes: list[OutcomeView]
    trace: list[InvocationView] | None = None
    expected: ExpectedView | None = None
    ballots: dict[str, BallotView] = {}
    fault: FaultView | None = None
    invalid: list[FaultView] | None = None
    failure: FailureView | None = None
    warnings: list[str] = []
    injections: list[InjectionView] = []
    usage: dict[str, int] | None = None
    usages: list[UsageView] = []
    labels: list[LabelView] = []
    final_state: dict[str, Any] | None = None
    reward: float | None = None
    mutation: Mutation | None = None
    agents: list[AgentView] = []


class ComparedCase(ViewShape, frozen=True):
    """A case in two runs: its positions in them, how its verdict changed, and its passed attempts of all attempts."""

    name: str
    change: CaseChange
    base_passed: tuple[int, int]
    candidate_passed: tuple[int, int]
    base: int | None = None
    candidate: int | None = None


class ComparisonView(ViewShape, frozen=True):
    """Two runs side by side. `setup` names the differences of their configurations."""

    base: str
    candidate: str
    level: float
    about: Literal["cases-like-these", "these-cases"]
    rows: list[ComparedMeasure]
    setup: list[SetupDifference]
    warnings: list[str]
    cases: list[ComparedCase]
    margin: float | None = None


class PageView(ViewShape, frozen=True):
    """Everything that a page knows before it opens an attempt: its runs, their cases, and their comparison."""

    runs: list[RunView]
    cases: list[list[CaseRow]]
    comparison: ComparisonView | None = None
    language: str = ""


class RunCriterion(ViewShape, frozen=True):
    """The numbers of a criterion in the list of runs."""

    name: str
    mean: EstimateView
    pass_rate: EstimateView
    range: RangeView
    threshold: float | None = None


class RunRow(ViewShape, frozen=True):
    """A run in the list of runs. `target` is its agent, or the files that it scored. `suite` names its eval sets."""

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
    pass_rate: float | None = None
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


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the view model."""
    roots = [PageView, AttemptView, RunListView, OpenedRuns, FoundCases, RunChange]
    references, components = msgspec.json.schema_components(roots, ref_template="#/$defs/{name}")
    for shape in components.values():
        if "description" in shape:
            shape["description"] = inspect.cleandoc(shape["description"])  # from 3.13 on Python does so itself
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": list(references),
        "$defs": dict(sorted(components.items())),
    }


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode())  # noqa: T201
