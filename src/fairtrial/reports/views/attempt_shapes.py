"""The view model of an attempt: its conversation, its outcomes, and the votes of judges."""

from __future__ import annotations

from typing import Any, Literal

from fairtrial.records.attempt import EndedBy, Failure
from fairtrial.records.ballot import Ballot, Vote
from fairtrial.records.label import Label
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.mutation import Mutation
from fairtrial.records.record import Record
from fairtrial.records.reply import Reply
from fairtrial.records.result import Fault, InvocationInjection, JudgeStats
from fairtrial.records.score import AlignedCall, Quote, Score
from fairtrial.records.trace import Approval, Durations, Injection, Part, Usage
from fairtrial.reports.views.mode_shapes import DecisiveView
from fairtrial.reports.views.shape import ViewShape
from fairtrial.reports.views.view_shapes import AgentView, CaseVerdict, RunView

OutcomeVerdict = Literal["passed", "failed", "unscored", "not_applicable", "informational"]
StepKind = Literal["message", "thought", "tool_call", "tool_result"]


class OutcomeView(Record, frozen=True):
    """A criterion on an attempt: its score, and the verdict on it.

    `possible` is the range of values that it could have if some parts could not be scored, otherwise null. An end that
    is null is unbounded. `unit` is the symbol of the unit of its values, for example s. `ballots` are the ids of the
    questions to judges about the whole score. The questions about a part are in the part. `calls` are the rows of the
    trajectory diff. `has_own_words` says that the reasons are those of a user's metric, which are never translated.
    """

    criterion: str
    verdict: OutcomeVerdict
    value: float | None = None
    threshold: float | None = None
    lower_is_better: bool = False
    unit: str = ""
    reason: str = ""
    possible: tuple[float | None, float | None] | None = None
    quotes: tuple[Quote, ...] = ()
    ballots: tuple[str, ...] = ()
    calls: tuple[AlignedCall, ...] = ()
    parts: tuple[Score, ...] = ()
    judge_stats: JudgeStats | None = None
    has_own_words: bool = False


class VoteView(Vote, frozen=True):
    """One vote of a judge. `replies` are the replies to its calls, each of which is null if there is none."""

    replies: tuple[Reply | None, ...] = ()


class BallotView(Ballot, frozen=True, kw_only=True):
    """One question to judges. `prompt` is the name and version of the template, `settings` are those of the model."""

    votes: tuple[VoteView, ...]
    settings: dict[str, Any] = {}


class StepView(ViewShape, frozen=True):
    """A step of an invocation. `withheld` is the reason if its content is not recorded, `beginning` its beginning.

    `started` is in seconds since 1970, and `seconds` is the duration. `inner` is the work of the agent that answered as
    the tool: the steps before its result, with its reply as the last message.
    """

    kind: StepKind
    text: str = ""
    name: str = ""
    author: str = ""
    model: str = ""
    args: dict[str, Any] = {}
    response: Any = None
    is_error: bool = False
    injected: list[Injection] = []
    approval: Approval | None = None
    parts: list[Part] = []
    started: float | None = None
    seconds: float | None = None
    withheld: str = ""
    beginning: str = ""
    inner: list[StepView] = []


class InvocationView(ViewShape, frozen=True):
    """A user's message and everything until the reply. `steps` is null if they were not recorded, or not expected.

    `agents` are indexes of the run's agents. `cost` is the price of its model calls in US dollars by the price list of
    genai-prices, and null if a model, its tokens or its price is unknown.
    """

    user: StepView | None = None
    steps: list[StepView] | None = None
    reply: StepView | None = None
    usages: list[Usage] = []
    durations: Durations | None = None
    agents: list[int] = []
    cost: float | None = None


class ExpectedView(ViewShape, frozen=True):
    """The expectation of a case."""

    conversation: list[InvocationView] | None = None
    scenario: dict[str, Any] | None = None
    rubrics: list[dict[str, str]] = []
    calls: list[StepView] | None = None
    final_state: dict[str, Any] | None = None
    context: str = ""
    state: dict[str, Any] = {}


class AttemptView(Record, frozen=True):
    """One attempt at one case, with everything that is stored about it. `trace` is null if it is not at hand.

    `eval_set`, `case_id` and `digest` (of what was expected) identify the case in any run. `name` is its name for
    people, `position` its place in the run, and `place` the place of the attempt. `fault` is the side at fault. It is
    null if the attempt passed or only informs. `invalidations` are the evidence that the attempt says nothing about the
    agent, even if it passed. They are empty if the attempt is valid, and null if this was not checked. `usage` is the
    agent's own. `agents` are the agents that invocations name by their index. They are empty if the run has them.
    `decisive` is where a failed attempt went wrong, and null for other attempts. `probability` is that with which the
    conversation was sampled, null if it is no sample.
    """

    place: int
    position: int
    eval_set: str
    case_id: str
    name: str
    digest: str
    attempt: int
    verdict: CaseVerdict
    ended_by: EndedBy
    outcomes: list[OutcomeView]
    failure: Failure | None = None
    fault: Fault | None = None
    invalidations: tuple[Fault, ...] | None = None
    warnings: tuple[str, ...] = ()
    injections: tuple[InvocationInjection, ...] = ()
    usage: dict[str, int] | None = None
    judge: ModelUsage | None = None
    simulator: ModelUsage | None = None
    environment: ModelUsage | None = None
    trace: list[InvocationView] | None = None
    expected: ExpectedView | None = None
    ballots: dict[str, BallotView] = {}
    labels: list[Label] = []
    final_state: dict[str, Any] | None = None
    reward: float | None = None
    mutation: Mutation | None = None
    agents: list[AgentView] = []
    decisive: DecisiveView | None = None
    probability: float | None = None


class ReportedAttempt(AttemptView, frozen=True, kw_only=True):
    """An attempt in the JSON report, with the verdict of all attempts at its case, and the rule that made it."""

    case_verdict: CaseVerdict
    case_rule: str


class ReportView(Record, frozen=True):
    """The JSON report of a run. Its attempts come in the order of the cases."""

    attempts: list[ReportedAttempt]
    run: RunView
