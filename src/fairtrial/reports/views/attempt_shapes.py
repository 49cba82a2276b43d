"""The view model of an attempt: its conversation, its outcomes, and the votes of judges."""

from __future__ import annotations

from typing import Any, Literal

from fairtrial.records.attempt import EndedBy
from fairtrial.records.mutation import Mutation
from fairtrial.records.score import FaultSide, PartKind
from fairtrial.records.trace import Durations, Injection, Part, Usage
from fairtrial.reports.views.view_shapes import AgentView, CaseVerdict, RangeView, UsageView, ViewShape

OutcomeVerdict = Literal["passed", "failed", "unscored", "not_applicable", "informational"]
StepKind = Literal["message", "thought", "tool_call", "tool_result"]
Relation = Literal["equal", "changed", "missing", "surplus", "moved"]


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
    """A criterion on an attempt. `possible` is the range of values if some parts could not be scored.

    `unit` is the symbol of the unit of its values, for example s.
    """

    criterion: str
    verdict: OutcomeVerdict
    value: float | None = None
    unit: str = ""
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
