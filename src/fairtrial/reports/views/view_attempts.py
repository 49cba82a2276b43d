"""View models of an attempt: conversation, outcomes and ballots."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fairtrial.judge.ballot_costs import collect_ballot_ids, pick
from fairtrial.llm.listed_prices import sum_prices
from fairtrial.records.record import Json, without_defaults
from fairtrial.records.score import bounds
from fairtrial.records.trace import AgentDetails, Invocation, Message, Step, Thought, ToolCall, ToolResult
from fairtrial.reports.numbers import find_unit
from fairtrial.reports.transcript import inner_steps
from fairtrial.reports.views import attempt_shapes as shapes
from fairtrial.reports.views.view_shapes import AgentView

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import Ballot, Vote
    from fairtrial.records.case import EvalCase
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.keys import CaseKey
    from fairtrial.records.label import Label
    from fairtrial.records.reply import Reply
    from fairtrial.records.result import CaseResult, Outcome
    from fairtrial.records.rubric import Rubric
    from fairtrial.reports.report_table import ReportedRun


@dataclass
class AgentIndex:
    """The different agents that were met so far. Their instructions and tools are written once."""

    views: list[AgentView] = field(default_factory=list)
    _places: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def place(self, agent: AgentDetails) -> int:
        """Return the index of an agent, which is added if it is new."""
        key = (agent.name, agent.instructions, repr(agent.tool_declarations))
        if key not in self._places:
            self._places[key] = len(self.views)
            self.views.append(AgentView(agent.name, agent.instructions, list(agent.tool_declarations)))
        return self._places[key]


@dataclass(frozen=True)
class AttemptParts:
    """Everything that is stored about one attempt. `case` and `recording` are None if they are not at hand."""

    place: int
    result: CaseResult
    case: EvalCase | None
    recording: Recording | None
    labels: Sequence[Label] = ()


def attempt_view(
    parts: AttemptParts,
    ballots: Mapping[str, Ballot],
    replies: Mapping[str, Reply],
    signatures: Mapping[str, Json],
    agents: AgentIndex,
) -> shapes.AttemptView:
    """Return the view of an attempt. Its agents are added to `agents`."""
    result, recording = parts.result, parts.recording
    trace = None if recording is None else recording.trace
    return shapes.AttemptView(
        parts.place,
        result.position,
        result.eval_set,
        result.case_id,
        result.title,
        result.digest,
        result.attempt,
        result.verdict.value,  # type: ignore[arg-type]
        result.ended_by,
        list(map(outcome_view, result.outcomes)),
        result.failure,
        result.fault,
        result.invalidations,
        result.warnings,
        result.injections,
        result.usage,
        result.judge,
        result.simulator,
        result.environment,
        trace=None if trace is None else [invocation_view(invocation, agents) for invocation in trace.invocations],
        expected=None if parts.case is None else expected_view(parts.case, agents),
        ballots=dict(_ballots(result, ballots, replies, signatures)),
        labels=list(parts.labels),
        final_state=None if trace is None else trace.final_state,
        reward=None if trace is None else trace.reward,
        mutation=None if recording is None else recording.mutation,
        probability=result.probability,
    )


def outcome_view(outcome: Outcome) -> shapes.OutcomeView:
    """Return the outcome of a criterion."""
    score = outcome.score
    return shapes.OutcomeView(
        outcome.criterion,
        outcome.verdict.value,  # type: ignore[arg-type]
        score.value,
        outcome.threshold,
        outcome.lower_is_better,
        find_unit(outcome.criterion),
        score.reason,
        _possible(outcome),
        score.quotes,
        score.ballots,
        score.calls,
        score.parts,
        outcome.judge_stats,
        outcome.has_own_words,
    )


def _possible(outcome: Outcome) -> tuple[float | None, float | None] | None:
    """Return the range of values that an outcome could have, if it is not a single value."""
    ends = bounds(outcome.score, outcome.range)
    if ends is None or ends[0] == ends[1]:
        return None
    low, high = ends
    return (None if isinf(low) else low, None if isinf(high) else high)


def _ballots(
    result: CaseResult, ballots: Mapping[str, Ballot], replies: Mapping[str, Reply], signatures: Mapping[str, Json]
) -> Iterator[tuple[str, shapes.BallotView]]:
    """Yield the ballots of an attempt by their ids. A ballot that is not stored is left out."""
    for outcome in result.outcomes:
        settings = _settings(signatures.get(outcome.criterion))
        own = pick(ballots, collect_ballot_ids(outcome.score))
        sent = pick(replies, (call.key for ballot in own.values() for vote in ballot.votes for call in vote.calls))
        for ballot_id, ballot in own.items():
            votes = tuple(_vote(vote, sent) for vote in ballot.votes)
            yield ballot_id, shapes.BallotView(**(asdict(ballot) | {"votes": votes}), settings=settings)


def _settings(signature: Json) -> dict[str, Json]:
    """Return the settings of the judge in the signature of a criterion, if there are any."""
    options = signature.get("options") if isinstance(signature, dict) else None
    judge = options.get("judge") if isinstance(options, dict) else None
    return judge if isinstance(judge, dict) else {}


def _vote(vote: Vote, replies: Mapping[str, Reply]) -> shapes.VoteView:
    return shapes.VoteView(**asdict(vote), replies=tuple(replies.get(call.key) for call in vote.calls))


def expected_view(case: EvalCase, agents: AgentIndex) -> shapes.ExpectedView:
    """Return the expectation of a case. Its agents are added to `agents`."""
    conversation = case.conversation
    session = case.session_input
    return shapes.ExpectedView(
        conversation=None if conversation is None else [invocation_view(entry, agents) for entry in conversation],
        scenario=None if case.scenario is None else without_defaults(case.scenario),
        rubrics=list(map(_rubric, (*case.rubrics, *(own for turn in conversation or () for own in turn.rubrics)))),
        calls=None if case.expected_calls is None else list(map(step_view, case.expected_calls)),
        final_state=case.final_session_state,
        context=case.context,
        state={} if session is None else session.state,
    )


def _rubric(rubric: Rubric) -> dict[str, str]:
    return {"id": rubric.id, "text": rubric.text, "description": rubric.description}


def invocation_view(invocation: Invocation, agents: AgentIndex) -> shapes.InvocationView:
    """Return an invocation. Its agents are added to `agents`."""
    about = invocation.about
    return shapes.InvocationView(
        user=step_view(invocation.user),
        steps=None if invocation.steps is None else list(map(step_view, invocation.steps)),
        reply=None if invocation.final_response is None else step_view(invocation.final_response),
        usages=list(invocation.usages or ()),
        durations=invocation.durations,
        agents=[] if about is None else [agents.place(agent) for agent in about.agents],
        cost=sum_prices(invocation.all_usages or ()),
    )


def step_view(step: Step) -> shapes.StepView:
    """Return a step of a conversation."""
    common = {
        "author": step.author,
        "started": step.started,
        "seconds": step.seconds,
        "withheld": step.withheld,
        "beginning": step.beginning,
    }
    match step:
        case ToolCall():
            return shapes.StepView("tool_call", name=step.name, args=step.args, model=step.model, **common)  # type: ignore[arg-type]
        case ToolResult():
            injected = list(step.injected)
            return shapes.StepView(
                "tool_result",
                name=step.name,
                response=step.response,
                is_error=step.is_error,
                injected=injected,
                approval=step.approval,
                inner=list(map(step_view, inner_steps(step))),
                **common,  # type: ignore[arg-type]
            )
        case Thought():
            return shapes.StepView("thought", text=step.text, model=step.model, **common)  # type: ignore[arg-type]
        case Message():
            return shapes.StepView("message", text=step.text, model=step.model, parts=list(step.parts), **common)  # type: ignore[arg-type]


def attempt_parts(run: ReportedRun) -> Iterator[AttemptParts]:
    """Yield everything that is stored about each attempt, in file order.

    Results, cases and recordings are read side by side, so that memory does not grow with the run.
    """
    labels: defaultdict[tuple[CaseKey, int], list[Label]] = defaultdict(list)
    for label in run.labels:
        labels[label.case, label.attempt].append(label)
    expected, recordings = iter(run.expected), iter(run.recordings)
    case: ExpectedCase | None = next(expected, None)
    recorded = next(recordings, None)
    for place, result in enumerate(run.cases):
        while case is not None and case.position < result.position:
            case = next(expected, None)
        here = (result.position, result.attempt)
        while recorded is not None and (recorded[0], recorded[1].attempt) < here:
            recorded = next(recordings, None)
        is_recorded = recorded is not None and (recorded[0], recorded[1].attempt) == here
        yield AttemptParts(
            place,
            result,
            case.case if case is not None and case.position == result.position else None,
            recorded[1] if recorded is not None and is_recorded else None,
            labels.get((result.key, result.attempt), ()),
        )
